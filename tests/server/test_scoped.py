"""A key reaches no further than it says: the one place where tenants are kept apart (S2, B181)."""

import inspect
from typing import Any, cast

import pytest
from msgspec import structs

from rota.access import Scope
from rota.actions import Action, AmendOutcome, Changes, DeleteOutcome, Do, On
from rota.backend import Backend
from rota.config import HOUR
from rota.engine import Engine
from rota.errors import InvalidTask
from rota.model import (
    CancelOutcome,
    RetryOutcome,
    State,
    TaskFilter,
)
from rota.requests import ANYBODY, Submission
from rota.server.problems import Problem
from rota.server.scoped import DUTIES, PRIVATE, REFUSED, SHARED, WORKERS, Scoped, scoped
from tests.server.reaches import ALL, BLIND, BOARD, SMS, failed, two_tasks
from tests.support.factories import NOW, Make

NOBODY = cast(Backend, object())
"""What is refused is refused before anything is asked."""


def verbs() -> set[str]:
    """Everything that can be asked of a backend."""
    return {name for name in dir(Backend) if not name.startswith("_")} | {"clock"}


# -- nothing is forgotten -------------------------------------------------------------------------


def test_every_verb_is_scoped_or_refused() -> None:
    """S2: a verb that is new is closed; here it is told that somebody has to think about it."""
    scoped_ = {name for name in dir(Scoped) if not name.startswith("_")}
    named = scoped_ | SHARED | DUTIES | PRIVATE | WORKERS

    assert verbs() - named == set(), "scope these in rota.server.scoped*, or name them there"
    assert named - verbs() == set(), "these are no verbs of a backend (any more)"
    assert not scoped_ & (SHARED | DUTIES | REFUSED)


@pytest.mark.parametrize("verb", sorted(verbs() - SHARED - DUTIES - REFUSED - {"clock", "distant"}))
def test_a_scoped_verb_is_called_like_the_one_it_stands_for(verb: str) -> None:
    """Nobody notices which of the two they have."""
    wanted = inspect.signature(getattr(Backend, verb)).parameters
    found = inspect.signature(getattr(Scoped, verb)).parameters

    assert [(one.name, one.kind, one.default) for one in found.values()] == [
        (one.name, one.kind, one.default) for one in wanted.values()
    ]


@pytest.mark.parametrize("verb", sorted(SHARED | DUTIES | REFUSED))
@pytest.mark.parametrize("scope", [BOARD, SMS], ids=["a tenant", "two queues"])
def test_what_is_shared_by_all_is_refused(scope: Scope, verb: str) -> None:
    """http-and-cli §6: settings, keys, the audit record, alerts, duties."""
    with pytest.raises(Problem) as raised:
        getattr(scoped(NOBODY, scope), verb)
    assert raised.value.meaning.status == 403


@pytest.mark.parametrize("verb", sorted(REFUSED))
def test_what_servers_do_for_themselves_is_refused_to_all(verb: str) -> None:
    """S12: no caller asks for a hash or a secret."""
    with pytest.raises(Problem):
        getattr(scoped(NOBODY, BLIND), verb)


def test_what_nobody_has_thought_of_is_refused() -> None:
    """S2."""
    with pytest.raises(Problem) as raised:
        scoped(NOBODY, BLIND).brand_new  # type: ignore[attr-defined]  # noqa: B018
    assert raised.value.meaning.status == 403


# -- submitting -----------------------------------------------------------------------------------

BEYOND: dict[str, tuple[Scope, dict[str, Any]]] = {
    "another tenant": (BOARD, {"tenant": "school"}),
    "no tenant": (BOARD, {"tenant": ""}),
    "another queue": (SMS, {"queue": "push"}),
    "the run of a schedule": (BOARD, {"tenant": "board", "schedule": Make(9).id()}),
    "a schedule's gate": (BOARD, {"tenant": "board", "concurrency_key": "schedule:x"}),
}


@pytest.mark.parametrize(("scope", "fields"), BEYOND.values(), ids=BEYOND)
async def test_a_batch_with_one_item_beyond_is_refused_whole(
    engine: Engine, scope: Scope, fields: dict[str, Any]
) -> None:
    """B181: nothing of it is stored."""
    make = Make()
    own = [make.task(tenant="board", queue="sms") for _ in range(3)]
    given: dict[str, Any] = {"queue": "sms", "max_concurrency": 1} | fields
    foreign = make.task(**given)

    with pytest.raises(Problem) as raised:
        await scoped(engine, scope).submit([*own, foreign])

    assert raised.value.meaning.code == "tenant_mismatch"
    assert "item 3" in str(raised.value)
    assert await engine.find_ids(ALL, before_id=None, limit=50) == []


async def test_requests_are_remembered_by_whom_they_came_from(engine: Engine) -> None:
    """http-and-cli §2: an idempotency key is never shared between tenants."""
    make = Make()
    board, school = scoped(engine, BOARD), scoped(engine, Scope(tenant="school"))
    task = make.task(tenant="board")
    request = Submission(
        id=make.id(), scope="board", operation="submit", key="k", task_ids=(task.id,),
        created_at=NOW, key_until=NOW + HOUR, keep_until=NOW + HOUR,
    )  # fmt: skip
    await board.submit_once([task], request)

    assert await board.find_submission("board", "submit", "k") is not None
    assert await school.find_submission("board", "submit", "k") is None
    assert await board.get_submission(request.id) is not None
    assert await school.get_submission(request.id) is None
    assert await school.states([task.id]) == {}
    assert await board.states([task.id]) == {task.id: State.READY}
    for scope in ("school", ANYBODY):
        with pytest.raises(Problem):
            await board.submit_once(
                [make.task(tenant="board")], structs.replace(request, scope=scope)
            )


# -- by id ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", [BOARD, SMS], ids=["a tenant", "two queues"])
async def test_what_belongs_to_others_is_as_if_it_were_not(engine: Engine, scope: Scope) -> None:
    """S2: read, cancel, retry, amend, delete; the answers are those for ids that nobody has."""
    own, foreign = await two_tasks(engine)
    reach = scoped(engine, scope)
    ids = [foreign.id, own.id, Make(5).id()]

    got = await reach.get(ids)
    assert [task and task.id for task in got] == [None, own.id, None]
    assert await reach.ahead(foreign.id, 10) == 0
    NONE, DONE = AmendOutcome.NOT_FOUND, AmendOutcome.DONE  # noqa: N806
    assert await reach.amend(ids, Changes(priority=1)) == [NONE, DONE, NONE]
    assert await reach.retry([foreign.id]) == [RetryOutcome.NOT_FOUND]
    assert await reach.delete(ids) == [
        DeleteOutcome.NOT_FOUND,
        DeleteOutcome.NOT_FINISHED,
        DeleteOutcome.NOT_FOUND,
    ]
    assert await reach.cancel(ids) == [
        CancelOutcome.NOT_FOUND,
        CancelOutcome.COMPLETED,
        CancelOutcome.NOT_FOUND,
    ]

    (left,) = await engine.get([foreign.id])
    assert left is not None
    assert (left.state, left.priority) == (State.READY, foreign.priority)


async def test_dead_letters_of_others_are_left_alone(engine: Engine) -> None:
    """S2, B174."""
    own, foreign = await failed(engine)
    reach = scoped(engine, BOARD)

    assert [group.id for group in await reach.groups(ALL, 10)] == ["g-board"]
    assert not await reach.edit_payload(foreign, "{}")
    assert await reach.discard([foreign, own], "no") == [False, True]
    assert await reach.restore([foreign, own]) == [False, True]
    assert await reach.edit_payload(own, '{"fixed":1}')
    replayed = await reach.replay([foreign, own])
    assert [answer and answer.created for answer in replayed] == [None, True]


# -- by filter ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", [BOARD, SMS], ids=["a tenant", "two queues"])
async def test_lists_and_counts_are_of_what_is_within_reach(engine: Engine, scope: Scope) -> None:
    """S2: whatever the filter says besides."""
    own, _ = await two_tasks(engine)
    reach = scoped(engine, scope)

    for where in (ALL, TaskFilter(queues=("sms", "push"))):
        assert [t.id for t in await reach.find(where, before_id=None, limit=9)] == [own.id]
        assert await reach.find_ids(where, before_id=None, limit=9) == [own.id]
        assert await reach.count(where, 9) == {State.READY: 1}
        assert (await reach.search(where, before_id=None, limit=9, most=99)).ids == [own.id]
        assert (await reach.count_among(where, 9, 99)).counts == {State.READY: 1}
    assert await reach.find(TaskFilter(queue="push"), before_id=None, limit=9) == []


@pytest.mark.parametrize(
    "where",
    [TaskFilter(tenant="school"), TaskFilter(tenants=("board", "school"))],
    ids=["it alone", "among others"],
)
async def test_a_filter_that_names_another_tenant_is_refused(
    engine: Engine, where: TaskFilter
) -> None:
    """B181: also in an action."""
    reach = scoped(engine, BOARD)
    calls = [
        reach.find(where, before_id=None, limit=9),
        reach.find_ids(where, before_id=None, limit=9),
        reach.count(where, 9),
        reach.groups(where, 9),
        reach.begin_action(an_action(where=where)),
    ]
    for call in calls:
        with pytest.raises(Problem) as raised:
            await call
        assert raised.value.meaning.code == "tenant_mismatch"


def an_action(**fields: Any) -> Action:
    return structs.replace(
        Action(id=Make(7).id(), do=Do.CANCEL, on=On.TASKS, where=ALL, created_at=NOW), **fields
    )


async def test_an_action_reaches_as_far_as_who_began_it(engine: Engine) -> None:
    """B181: not as far as it says itself; others do not see it."""
    board, school = scoped(engine, BOARD), scoped(engine, Scope(tenant="school"))
    action = an_action()
    await board.begin_action(action)

    stored = await engine.action(action.id)
    assert stored is not None
    assert stored.tenant == "board"
    listed = {"tenant": None, "queues": None, "before_id": None, "limit": 9}
    assert await school.action(action.id) is None
    assert not await school.stop_action(action.id)
    assert await school.actions(**listed) == []  # type: ignore[arg-type]
    assert await school.actions(**listed | {"tenant": "board"}) == []  # type: ignore[arg-type]
    assert [one.id for one in await board.actions(**listed)] == [action.id]  # type: ignore[arg-type]
    assert await board.stop_action(action.id)


async def test_nothing_is_moved_out_of_reach(engine: Engine) -> None:
    """S2: a key for two queues moves tasks between those."""
    own, _ = await two_tasks(engine)
    reach = scoped(engine, SMS)

    with pytest.raises(InvalidTask):
        await reach.amend([own.id], Changes(queue="push"))
    assert await reach.amend([own.id], Changes(queue="mail")) == [AmendOutcome.DONE]


async def test_an_action_in_more_queues_than_a_key_has_is_out_of_its_reach(engine: Engine) -> None:
    """B181: also where some of its queues are the key's."""
    make, reach = Make(8), scoped(engine, SMS)
    own = an_action(id=make.id(), queues=("sms",))
    both = an_action(id=make.id(), queues=("sms", "push"))
    whole = an_action(id=make.id())
    for action in (own, both, whole, an_action(id=make.id(), queues=("push",))):
        await engine.begin_action(action)

    assert [await reach.action(one.id) is not None for one in (own, both, whole)] == [
        True,
        False,
        False,
    ]
    assert not await reach.stop_action(both.id)
    listed: dict[str, Any] = {"tenant": None, "before_id": None, "limit": 9}
    assert [one.id for one in await reach.actions(queues=None, **listed)] == [own.id]
    assert await reach.actions(queues=["push"], **listed) == []


async def test_how_many_are_before_a_foreign_task_is_not_told(engine: Engine) -> None:
    """S2: it would say that it is there, and how much the others have."""
    make = Make(9)
    first, second = make.tasks(2, tenant="school", queue="push")
    await engine.submit([first, second])

    assert await engine.ahead(second.id, 9) == 1
    assert await scoped(engine, BOARD).ahead(second.id, 9) == 0
    assert await scoped(engine, SMS).ahead(second.id, 9) == 0
