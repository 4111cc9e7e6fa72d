"""Dead letters over HTTP: found, grouped, edited, replayed, discarded, restored (R4.4)."""

from typing import Any, Literal

from msgspec import UNSET

from rota import views
from rota.access import Role
from rota.clock import parse_id
from rota.dead_letters import check_discard_reason
from rota.errors import DeadLetterSettled, TaskNotFound
from rota.insights import PAGE
from rota.model import Task, TaskFilter
from rota.orders import GroupOrder, Order
from rota.server import filters
from rota.server.paging import CURSOR_CODES, Limit
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.shapes import dead_letters as shapes
from rota.server.shapes import tasks as task_shapes
from rota.server.shapes.page import Page
from rota.server.task_pages import Paged, page_of, shown
from rota.times import show_instant

TAG = "dead letters"
SETTLED = ((409, "already_settled"),)


class DeadLetterQuery(filters.TaskQuery, frozen=True):
    """Which dead letters; with `discarded` those that were set aside."""

    discarded: bool = False


class DeadLetterList(DeadLetterQuery, frozen=True):
    """Which dead letters to list, how much of each, and where the page begins."""

    view: Literal["summary", "full"] = "summary"
    order: Literal["-created", "-finished_at"] = "-created"
    limit: Limit = PAGE
    cursor: str | None = None


class GroupList(filters.TaskQuery, frozen=True):
    """Of which dead letters, how many groups, and which come first."""

    order: GroupOrder = GroupOrder.COUNT
    limit: Limit = PAGE


class PayloadChange(In, frozen=True):
    """The payload for its replay or retry."""

    payload: dict[str, Any]


class DiscardBody(In, frozen=True):
    """Why it is set aside."""

    reason: str


async def list_dead_letters(call: Call) -> Answer:
    query: DeadLetterList = call.query
    where = _where(query, discarded=query.discarded)
    paged = Paged(Order(query.order), query.limit, query.cursor, query.view == "full")
    about = ["dead-letters", filters.asked(query)]
    return await page_of(call, where, paged, about=about)


async def list_groups(call: Call) -> Answer:
    where = _where(call.query)
    found = await call.faces.insights.groups(where, call.query.limit, call.query.order)
    as_of = show_instant(call.place.clock.now())
    return Answer({"items": [views.group(one) for one in found], "as_of": as_of})


async def get_dead_letter(call: Call) -> Answer:
    return Answer(shown(call, await _get(call), full=True))


async def update_dead_letter(call: Call) -> Answer:
    await call.faces.dead_letters.aedit(call.path["id"], call.body.payload)
    return Answer(shown(call, await _get(call), full=True))


async def replay_dead_letter(call: Call) -> Answer:
    task = await _get(call)
    (copy,) = await call.backend.replay([task.id])
    if copy is None:
        raise DeadLetterSettled(task.id, "was discarded; restore it first")
    return Answer({"id": task.id, "replayed_as": copy.id, "created": copy.created})


async def discard_dead_letter(call: Call) -> Answer:
    reason = check_discard_reason(call.body.reason)
    task = await _get(call)
    (done,) = await call.backend.discard([task.id], reason)
    after = await _get(call)
    if not done and after.discarded_at is None:
        raise DeadLetterSettled(task.id, f"was replayed as {after.replayed_as}")
    return Answer(shown(call, after, full=True))


async def restore_dead_letter(call: Call) -> Answer:
    task = await _get(call)
    await call.backend.restore([task.id])
    return Answer(shown(call, await _get(call), full=True))


async def _get(call: Call) -> Task:
    known = parse_id(call.path["id"])
    if known is None:
        raise TaskNotFound(call.path["id"])
    return await call.faces.dead_letters.aget(known)


def _where(query: filters.TaskQuery, *, discarded: bool = False) -> TaskFilter:
    if query.state is not UNSET:
        raise filters.wrong("state", "is failed already: that is what dead letters are")
    return filters.failed(filters.of_query(query), discarded=discarded)


_READ = roles(Role.READ)
_OPERATE = roles(Role.OPERATE)

ROUTES = (
    Route(
        method="GET",
        path="/v1/dead-letters",
        name="dead_letters_list",
        summary="List dead letters, newest first or by their last error",
        run=list_dead_letters,
        roles=_READ,
        tag=TAG,
        query=DeadLetterList,
        answers=Page[task_shapes.Task] | Page[task_shapes.TaskSummary],
        codes=CURSOR_CODES,
    ),
    Route(
        method="GET",
        path="/v1/dead-letters/groups",
        name="dead_letters_groups",
        summary="Group dead letters that failed alike, the largest or the latest group first",
        run=list_groups,
        roles=_READ,
        tag=TAG,
        query=GroupList,
        answers=shapes.DeadLetterGroups,
    ),
    Route(
        method="GET",
        path="/v1/dead-letters/{id}",
        name="dead_letters_get",
        summary="Read a dead letter",
        run=get_dead_letter,
        roles=_READ,
        tag=TAG,
        answers=task_shapes.Task,
    ),
    Route(
        method="PATCH",
        path="/v1/dead-letters/{id}",
        name="dead_letters_update",
        summary="Change the payload of a dead letter, for its replay or retry",
        run=update_dead_letter,
        roles=_OPERATE,
        tag=TAG,
        takes=PayloadChange,
        answers=task_shapes.Task,
        codes=SETTLED,
        audit="dead_letter.update",
        example={"payload": {"student_id": 1}},
    ),
    Route(
        method="POST",
        path="/v1/dead-letters/{id}/replay",
        name="dead_letters_replay",
        summary="Make a new task of a dead letter, once",
        run=replay_dead_letter,
        roles=_OPERATE,
        tag=TAG,
        answers=shapes.Replayed,
        codes=SETTLED,
        audit="dead_letter.replay",
    ),
    Route(
        method="POST",
        path="/v1/dead-letters/{id}/discard",
        name="dead_letters_discard",
        summary="Set a dead letter aside for good",
        run=discard_dead_letter,
        roles=_OPERATE,
        tag=TAG,
        takes=DiscardBody,
        answers=task_shapes.Task,
        codes=SETTLED,
        audit="dead_letter.discard",
        example={"reason": "the student has left"},
    ),
    Route(
        method="POST",
        path="/v1/dead-letters/{id}/restore",
        name="dead_letters_restore",
        summary="Undo a discard",
        run=restore_dead_letter,
        roles=_OPERATE,
        tag=TAG,
        answers=task_shapes.Task,
        audit="dead_letter.restore",
    ),
)
