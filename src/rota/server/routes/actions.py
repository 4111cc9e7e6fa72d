"""Actions over HTTP: changes of all that a filter matches, begun, followed and stopped (R5.3)."""

from typing import Annotated

from msgspec import Meta

from rota import action_views
from rota.access import Role
from rota.actions import Action, ActionState
from rota.clock import parse_id
from rota.errors import ActionNotFound, InvalidTask
from rota.insights import PAGE, PAGE_MOST
from rota.server import bulk
from rota.server.route import Answer, Call, In, Route, json, roles
from rota.server.shapes import actions as shapes
from rota.server.shapes.page import Page
from rota.server.task_pages import CURSOR_CODES
from rota.times import show_instant

TAG = "actions"
ORDER = "-created"


class ActionList(In, frozen=True):
    """Where the page begins and how long it is."""

    limit: Annotated[int, Meta(ge=1, le=PAGE_MOST)] = PAGE
    cursor: str | None = None


async def start_action(call: Call) -> Answer:
    given: bulk.ActionBody = call.body
    action, ids = await bulk.prepared(call, bulk.read(call, given), given)
    call.audit["target"] = _target(action)
    call.audit["reason"] = action.reason
    if given.dry_run:
        call.audit["count"] = 0
        return _shown(action, dry_run=True)
    if len(ids) <= bulk.INLINE and (action.rate is None or not ids):
        done = await bulk.done_at_once(call, action, ids)
        call.audit["count"] = done.changed
        return _shown(done)
    if not action.asked:
        raise InvalidTask("rate", "goes with a filter; ids are changed at once")
    call.audit["count"] = action.matched
    await call.backend.begin_action(action)
    where = (("Location", f"/v1/actions/{action.id}"),)
    return Answer(action_views.action(action), status=202, headers=where)


async def list_actions(call: Call) -> Answer:
    scope, query, cursors = call.caller.scope, call.query, call.place.cursors
    before_id = None
    if query.cursor is not None:
        (before_id,) = await cursors.open(query.cursor, ORDER, TAG)
    found = await call.backend.actions(
        tenant=scope.tenant, queues=scope.queues, before_id=before_id, limit=query.limit
    )
    more = len(found) == query.limit
    next_ = await cursors.seal(ORDER, [found[-1].id], TAG) if more else None
    as_of = show_instant(call.place.clock.now())
    items = [action_views.action(one) for one in found]
    return Answer({"items": items, "next": next_, "as_of": as_of})


async def get_action(call: Call) -> Answer:
    return Answer(action_views.action(await _found(call)))


async def stop_action(call: Call) -> Answer:
    action = await _found(call)
    await call.backend.stop_action(action.id)
    return Answer(action_views.action(await _found(call)))


async def _found(call: Call) -> Action:
    known = parse_id(call.path["id"])
    action = await call.backend.action(known) if known else None
    if action is None:
        raise ActionNotFound(call.path["id"])
    return action


def _target(action: Action) -> str:
    return json({"do": action.do, "on": action.on, "filter": action.asked}).decode()


def _shown(action: Action, *, dry_run: bool = False) -> Answer:
    shown = action_views.action(action)
    state = ActionState.COMPLETED.value
    return Answer(shown | {"id": None, "state": state, "dry_run": dry_run})


ROUTES = (
    Route(
        method="POST",
        path="/v1/actions",
        name="actions_start",
        summary="Change all tasks that match a filter",
        run=start_action,
        roles=roles(Role.OPERATE),
        tag=TAG,
        takes=bulk.ActionBody,
        answers=shapes.Action,
        codes=((202, ""), (409, "more_than_expected")),
        audit="action.start",
        example={"do": "cancel", "filter": {"queue": "sms"}, "dry_run": True},
    ),
    Route(
        method="GET",
        path="/v1/actions",
        name="actions_list",
        summary="List actions, newest first",
        run=list_actions,
        roles=roles(Role.READ),
        tag=TAG,
        query=ActionList,
        answers=Page[shapes.Action],
        codes=CURSOR_CODES,
    ),
    Route(
        method="GET",
        path="/v1/actions/{id}",
        name="actions_get",
        summary="Read an action and how far it is",
        run=get_action,
        roles=roles(Role.READ),
        tag=TAG,
        answers=shapes.Action,
    ),
    Route(
        method="POST",
        path="/v1/actions/{id}/stop",
        name="actions_stop",
        summary="Stop an action after the run that is under way",
        run=stop_action,
        roles=roles(Role.OPERATE),
        tag=TAG,
        answers=shapes.Action,
        audit="action.stop",
    ),
)
