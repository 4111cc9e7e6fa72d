"""Actions over HTTP: changes of all that a filter matches, begun, followed and stopped (R5.3)."""

from msgspec import structs

from rota import action_views
from rota.access import Role
from rota.actions import Action, ActionState
from rota.clock import parse_id
from rota.errors import ActionNotFound, InvalidTask
from rota.server import bulk
from rota.server.once import KEY_CODES, KEY_HEADER, REPLAYED, reserved
from rota.server.paging import CURSOR_CODES, PageQuery, page_answer
from rota.server.route import Answer, Call, Route, json, roles
from rota.server.shapes import actions as shapes
from rota.server.shapes.page import Page

TAG = "actions"
ORDER = "-created"


async def start_action(call: Call) -> Answer:
    given: bulk.ActionBody = call.body
    read = bulk.read(call, given)
    # What is done to ids, or for a look, may be repeated as it is.
    once = None if given.dry_run or not read.asked else await reserved(call, "action", given)
    if once is not None:
        earlier = await call.backend.action(once)
        if earlier is not None:
            return _begun(earlier, REPLAYED)
        read = structs.replace(read, id=once)
    action, ids = await bulk.prepared(call, read, given)
    call.audit["target"] = _target(action)
    call.audit["reason"] = action.reason
    if given.dry_run:
        call.audit["count"] = 0
        return _shown(action, dry_run=True)
    if not ids or (len(ids) <= bulk.INLINE and action.rate is None and once is None):
        done = await bulk.done_at_once(call, action, ids)
        call.audit["count"] = done.changed
        return _shown(done)
    if not action.asked:
        raise InvalidTask("rate", "goes with a filter; ids are changed at once")
    call.audit["count"] = action.matched
    await call.backend.begin_action(action)
    return _begun(action)


def _begun(action: Action, more: tuple[tuple[str, str], ...] = ()) -> Answer:
    where = ("Location", f"/v1/actions/{action.id}")
    return Answer(action_views.action(action), status=202, headers=(where, *more))


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
    return page_answer(call, [action_views.action(one) for one in found], next_)


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
        codes=((202, ""), (409, "more_than_expected"), *KEY_CODES),
        headers=KEY_HEADER,
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
        query=PageQuery,
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
