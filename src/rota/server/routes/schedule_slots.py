"""The slots of schedules over HTTP: ahead, past, at once, and made up for (R6.8)."""

from collections.abc import Sequence

import msgspec

from rota import views
from rota.access import Role
from rota.errors import InvalidSchedule
from rota.policy.calendar import Occurrence
from rota.policy.jitter import offset
from rota.schedule_options import RULE_NAMES, check_rule
from rota.server.named_pages import begins_after, page
from rota.server.once import KEY_CODES, KEY_HEADER, REPLAYED, reserved
from rota.server.paging import Limit, PageQuery
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.routes.schedules import TAG
from rota.server.schedule_bodies import Backfill, PreviewOf, RunNow, options
from rota.server.shapes import schedules as shapes
from rota.slot_task import calendar_of
from rota.times import moment, show_instant


class AheadQuery(In, frozen=True):
    """From when on to look ahead, and how far."""

    after: str | None = None
    count: Limit = 5


class SlotsQuery(PageQuery, frozen=True):
    """Before when to look back, and where the page begins."""

    before: str | None = None


async def preview_rule(call: Call) -> Answer:
    said = options(call.body, leave=("after", "count"))
    rule = check_rule({name: value for name, value in said.items() if name in RULE_NAMES})
    coming = await call.faces.schedules.apreview(
        None, after=call.body.after, count=call.body.count, **said
    )
    return _ahead(call, coming, calendar_of(rule).words)


async def preview_schedule(call: Call) -> Answer:
    query, schedules = call.query, call.faces.schedules
    schedule = await schedules.aget(call.path["name"])
    if schedule.problem is not None:
        raise InvalidSchedule("name", f"{schedule.name} cannot be looked ahead: {schedule.problem}")
    coming = await schedules.apreview(schedule.name, after=query.after, count=query.count)
    return _ahead(call, coming, calendar_of(schedule.rule).words)


def _ahead(call: Call, coming: Sequence[Occurrence], words: str) -> Answer:
    items = [views.occurrence(slot) | {"slot": show_instant(slot.at)} for slot in coming]
    as_of = show_instant(call.place.clock.now())
    return Answer({"words": words, "items": items, "next": None, "as_of": as_of})


async def list_slots(call: Call) -> Answer:
    query = call.query
    given = await begins_after(call) or query.before
    before = None if given is None else moment(given, "before")
    schedule = await call.faces.schedules.aget(call.path["name"])
    (found,) = await call.backend.slot_runs([schedule.id], before, query.limit)
    later = offset(schedule.id, schedule.policy.jitter)
    return await page(
        call,
        found,
        lambda one: show_instant(one.slot.slot),
        lambda one: views.slot_run(one, later),
        more=len(found) >= query.limit,
    )


async def run_now(call: Call) -> Answer:
    name, force = call.path["name"], call.body.force
    task_id = await reserved(call, "run_now", name, force)
    made = await call.faces.schedules.arun_now(name, force=force, task_id=task_id)
    shown = {"id": made.id, "created": made.created}
    return Answer(shown, headers=() if made.created else REPLAYED)


async def backfill(call: Call) -> Answer:
    body: Backfill = call.body
    report = await call.faces.schedules.abackfill(
        call.path["name"], body.since, body.until, dry_run=body.dry_run
    )
    return Answer(msgspec.to_builtins(report))


ROUTES = (
    Route(
        method="POST", path="/v1/schedules/preview", name="schedules_preview",
        summary="Look ahead of a rule that is stored nowhere, and say it in words.",
        run=preview_rule, roles=roles(Role.READ), tag=TAG, takes=PreviewOf,
        answers=shapes.Preview,
        example={"expression": "30 2 * * *", "tz": "Europe/Berlin", "count": 3},
    ),
    Route(
        method="GET", path="/v1/schedules/{name}/preview", name="schedules_preview_stored",
        summary="Look ahead of a schedule.", run=preview_schedule, roles=roles(Role.READ),
        tag=TAG, query=AheadQuery, answers=shapes.Preview,
    ),
    Route(
        method="GET", path="/v1/schedules/{name}/slots", name="schedules_slots",
        summary="Show what became of a schedule's slots, the newest first.", run=list_slots,
        roles=roles(Role.READ), tag=TAG, query=SlotsQuery, answers=shapes.SlotPage,
    ),
    Route(
        method="POST", path="/v1/schedules/{name}/run-now", name="schedules_run_now",
        summary="Make a task of a schedule now, besides its slots.", run=run_now,
        roles=roles(Role.OPERATE), tag=TAG, takes=RunNow, answers=shapes.Made,
        audit="schedule.run_now", codes=((409, "schedule_busy"), *KEY_CODES), headers=KEY_HEADER,
        example={"force": True},
    ),
    Route(
        method="POST", path="/v1/schedules/{name}/backfill", name="schedules_backfill",
        summary="Make a task of each past slot that has none.", run=backfill,
        roles=roles(Role.OPERATE), tag=TAG, takes=Backfill, answers=shapes.BackfillReport,
        audit="schedule.backfill",
        example={"from": "2026-11-01T00:00:00Z", "to": "2026-11-08T00:00:00Z", "dry_run": True},
    ),
)  # fmt: skip
