"""Schedules over HTTP: made, changed and paused, as `app.schedules` does it (R6.8)."""

from typing import Any, Literal

from rota import views
from rota.access import Role
from rota.errors import InvalidTask, ScheduleExists, ScheduleNotFound
from rota.policy.jitter import offset
from rota.schedule import Schedule, SlotRun
from rota.server import etags
from rota.server.named_pages import begins_after, page
from rota.server.paging import PageQuery
from rota.server.problems import Problem
from rota.server.reasons import Reason
from rota.server.route import Answer, Call, Route, roles
from rota.server.schedule_bodies import ScheduleChange, ScheduleNew, options
from rota.server.shapes import schedules as shapes
from rota.slot_task import calendar_of

TAG = "schedules"
RUNS = 30
"""So many of its newest slots a schedule in a list shows."""
EXAMPLE = {
    "kind": "send_result",
    "name": "morning-results",
    "expression": "0 9 * * MON-FRI",
    "tz": "Europe/Berlin",
    "payload": {"student_id": 1},
}

Problem.register("schedule_exists", 409, "The name is taken")


class SchedulesQuery(PageQuery, frozen=True):
    """Which schedules to list, and where the page begins."""

    source: str | None = None
    kind: str | None = None
    tenant: str | None = None
    paused: bool | None = None
    view: Literal["full", "runs"] = "full"


async def list_schedules(call: Call) -> Answer:
    query = call.query
    found = await call.faces.schedules.alist(
        source=query.source,
        kind=query.kind,
        tenant=query.tenant,
        paused=query.paused,
        after=await begins_after(call) or "",
        limit=query.limit,
    )
    runs: dict[str, list[SlotRun]] = {}
    if query.view == "runs":
        ids = [one.id for one in found]
        runs = dict(zip(ids, await call.backend.slot_runs(ids, None, RUNS), strict=True))
    # A full page may be the last one: the next one is empty then.
    more = len(found) == query.limit
    return await page(
        call,
        list(found),
        lambda one: one.name,
        lambda one: _listed(one, runs.get(one.id)),
        more=more,
    )


async def create_schedule(call: Call) -> Answer:
    body: ScheduleNew = call.body
    said = options(body, leave=("kind", "name"))
    expression = said.pop("expression", None)
    own = await _is_own(call, body.kind)
    try:
        made = await call.faces.schedules.acreate(
            body.kind, expression, any_kind=not own, name=body.name, **said
        )
    except ScheduleExists as error:
        raise Problem("schedule_exists", str(error), id=await _id_of(call, error.name)) from None
    headers = (("Location", f"/v1/schedules/{made.id}"),)
    return etags.tagged(shown(made), made.version, status=201, headers=headers)


async def get_schedule(call: Call) -> Answer:
    return _answer(await call.faces.schedules.aget(call.path["name"]))


async def update_schedule(call: Call) -> Answer:
    name, schedules = call.path["name"], call.faces.schedules
    changes = options(call.body)
    if not changes:
        raise InvalidTask("", "says nothing to change")

    async def version() -> int:
        return (await schedules.aget(name)).version

    changed = await etags.guarded(
        call, lambda at: schedules.aupdate(name, version=at, **changes), version
    )
    return _answer(changed)


async def delete_schedule(call: Call) -> Answer:
    schedules = call.faces.schedules
    old = await schedules.aget(call.path["name"])
    etags.check(call, old.version)
    await schedules.adelete(old.id)
    return Answer(status=204)


async def pause_schedule(call: Call) -> Answer:
    return _answer(await call.faces.schedules.apause(call.path["name"], call.body.reason))


async def resume_schedule(call: Call) -> Answer:
    return _answer(await call.faces.schedules.aresume(call.path["name"]))


def shown(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as it is answered alone: also in words, so that what was meant is seen."""
    words = None if schedule.problem is not None else calendar_of(schedule.rule).words
    return views.schedule(schedule) | {"words": words}


def _listed(schedule: Schedule, runs: list[SlotRun] | None) -> dict[str, Any]:
    if runs is None:
        return views.schedule(schedule) | {"words": None, "runs": None}
    later = offset(schedule.id, schedule.policy.jitter)
    return shown(schedule) | {"runs": [views.slot_run(one, later) for one in runs[:RUNS]]}


def _answer(schedule: Schedule) -> Answer:
    return etags.tagged(shown(schedule), schedule.version)


async def _is_own(call: Call, kind: str) -> bool:
    """Say whether a kind is the app's own; `UnknownKind` if no worker has it either."""
    known = call.place.intake.kinds
    await known.look([kind])
    return known.find(kind)[1]


async def _id_of(call: Call, name: str) -> str | None:
    try:
        return (await call.faces.schedules.aget(name)).id
    except ScheduleNotFound:
        return None  # it is another tenant's: nothing of it is told but that the name is taken


ROUTES = (
    Route(
        method="GET", path="/v1/schedules", name="schedules_list", summary="List schedules.",
        run=list_schedules, roles=roles(Role.READ), tag=TAG, query=SchedulesQuery,
        answers=shapes.SchedulePage,
    ),
    Route(
        method="POST", path="/v1/schedules", name="schedules_create", summary="Make a schedule.",
        run=create_schedule, roles=roles(Role.OPERATE), tag=TAG, takes=ScheduleNew,
        answers=shapes.Schedule, status=201, audit="schedule.create",
        codes=((409, "schedule_exists"), (422, "unknown_kind")), headers=("Location",),
        example=EXAMPLE,
    ),
    Route(
        method="GET", path="/v1/schedules/{name}", name="schedules_get",
        summary="Show a schedule by its name or id.", run=get_schedule,
        roles=roles(Role.READ), tag=TAG, answers=shapes.Schedule,
    ),
    Route(
        method="PATCH", path="/v1/schedules/{name}", name="schedules_update",
        summary="Change a schedule.", run=update_schedule, roles=roles(Role.OPERATE), tag=TAG,
        takes=ScheduleChange, answers=shapes.Schedule, audit="schedule.update",
        codes=((409, "schedule_changed"), *etags.CODES), headers=etags.IF_MATCH,
        example={"overlap": "queue(5)"},
    ),
    Route(
        method="DELETE", path="/v1/schedules/{name}", name="schedules_delete",
        summary="Remove a schedule; its tasks are left alone.", run=delete_schedule,
        roles=roles(Role.OPERATE), tag=TAG, status=204, audit="schedule.delete",
        codes=etags.CODES, headers=etags.IF_MATCH,
    ),
    Route(
        method="POST", path="/v1/schedules/{name}/pause", name="schedules_pause",
        summary="Let no slot run until it is resumed.", run=pause_schedule,
        roles=roles(Role.OPERATE), tag=TAG, takes=Reason, answers=shapes.Schedule,
        audit="schedule.pause", example={"reason": "holidays"},
    ),
    Route(
        method="POST", path="/v1/schedules/{name}/resume", name="schedules_resume",
        summary="Let the slots after now run again.", run=resume_schedule,
        roles=roles(Role.OPERATE), tag=TAG, answers=shapes.Schedule, audit="schedule.resume",
    ),
)  # fmt: skip
