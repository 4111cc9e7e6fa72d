"""The slots of schedules over HTTP: ahead, past, at once, and made up for (R6.8)."""

from typing import Any

import pytest

from rota.clock import ManualClock
from rota.config import HOUR
from rota.engine import Engine
from rota.server.shapes.schedules import BackfillReport, Made, Preview, SchedulePage, SlotPage
from rota.times import show_instant
from tests.support.asking import Asker
from tests.support.factories import NOW
from tests.support.shapes import fits

HOURLY = {"kind": "send_result", "name": "hourly", "every": "1h", "payload": {"student_id": 1}}
PREVIEW = "/v1/schedules/preview"


@pytest.fixture
def hourly(asker: Asker) -> Any:
    """Makes a schedule that runs every hour."""
    return lambda **said: asker.ask("POST", "/v1/schedules", {**HOURLY, **said})


async def test_a_rule_is_looked_ahead_of_without_being_stored(asker: Asker) -> None:
    """R6.3, R6.8: local times that do not exist are told, and the rule is said in words."""
    told = await asker.using("read").ask(
        "POST",
        PREVIEW,
        {
            "expression": "30 2 * * *",
            "tz": "Europe/Berlin",
            "after": "2027-03-28T00:00:00Z",
            "count": 1,
        },
    )
    shown = fits(told.json, Preview)
    assert (shown.words, shown.items[0].local) == (
        "At 02:30 every day, Europe/Berlin",
        "2027-03-28T03:00:00+02:00",
    )
    assert "does not exist" in shown.items[0].notes[0]
    assert (await asker.ask("GET", "/v1/schedules")).json["items"] == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"expression": "hourly"}, "/expression"),
        ({"expression": "0 0 30 2 *"}, "/expression"),
        ({}, "/expression"),
        ({"expression": "* * * * *", "tz": "x"}, "/tz"),
        ({"expression": "* * * * *", "count": 501}, "/count"),
        ({"expression": "* * * * *", "after": "now"}, "/after"),
    ],
    ids=["words", "never", "nothing", "zone", "count", "after"],
)
async def test_what_cannot_be_looked_ahead_of_is_named(
    asker: Asker, body: object, pointer: str
) -> None:
    """B179."""
    told = await asker.ask("POST", PREVIEW, body)
    assert (told.status, told.json["errors"][0]["pointer"]) == (422, pointer)


async def test_a_schedule_is_looked_ahead_of(asker: Asker, hourly: Any) -> None:
    await hourly()
    told = await asker.ask("GET", "/v1/schedules/hourly/preview?count=3")
    assert len(fits(told.json, Preview).items) == 3


async def test_slots_are_shown_newest_first_page_by_page(
    asker: Asker, engine: Engine, clock: ManualClock, hourly: Any
) -> None:
    await hourly(overlap="allow")
    for _ in range(3):
        clock.advance(3600)
        await engine.fire()
    first = await asker.ask("GET", "/v1/schedules/hourly/slots?limit=2")
    second = await asker.ask("GET", f"/v1/schedules/hourly/slots?cursor={first.json['next']}")
    slots = [one for told in (first, second) for one in fits(told.json, SlotPage).items]
    assert [one.state for one in slots] == ["fired"] * 3
    assert sorted((one.slot for one in slots), reverse=True) == [one.slot for one in slots]
    assert second.json["next"] is None


async def test_a_run_now_makes_a_task_unless_one_is_not_over(
    asker: Asker, engine: Engine, hourly: Any
) -> None:
    """Pitfall 10: it obeys the overlap policy."""
    await hourly()
    told = await asker.ask("POST", "/v1/schedules/hourly/run-now")
    (task,) = await engine.get([fits(told.json, Made).id])
    assert task is not None
    assert task.schedule is not None
    busy = await asker.ask("POST", "/v1/schedules/hourly/run-now", {})
    assert (busy.status, busy.code) == (409, "schedule_busy")
    assert (await asker.ask("POST", "/v1/schedules/hourly/run-now", {"force": True})).status == 200


async def test_a_run_now_that_is_repeated_under_its_key_is_one_run(
    asker: Asker, engine: Engine, hourly: Any
) -> None:
    """R1.4: the outcome was not known; the repeat finds the task, though it is not over."""
    await hourly()
    address, once = "/v1/schedules/hourly/run-now", {"Idempotency-Key": "now-1"}
    first = await asker.ask("POST", address, headers=once)
    again = await asker.ask("POST", address, {}, headers=once)
    assert (first.json["created"], "idempotency-replayed" in first.headers) == (True, False)
    assert again.json == {"id": first.json["id"], "created": False}
    assert again.headers["idempotency-replayed"] == "true"

    other = await asker.ask("POST", address, {"force": True}, headers=once)
    assert (other.status, other.code) == (422, "key_reused")
    # What was refused is tried afresh, under the id that it was to have.
    late = {"Idempotency-Key": "now-2"}
    assert (await asker.ask("POST", address, headers=late)).code == "schedule_busy"
    await engine.cancel([first.json["id"]])
    assert (await asker.ask("POST", address, headers=late)).json["created"]
    # What ended is found as well.
    ended = await asker.ask("POST", address, headers=once)
    assert ended.json == {"id": first.json["id"], "created": False}


async def test_a_backfill_makes_a_task_of_each_slot_that_has_none(
    asker: Asker, hourly: Any
) -> None:
    """Half-open on slots; a dry run changes nothing, a repeat finds them."""
    await hourly()
    body = {"from": show_instant(NOW - 3 * HOUR), "to": show_instant(NOW)}
    reports = [
        fits(
            (await asker.ask("POST", "/v1/schedules/hourly/backfill", {**body, **more})).json,
            BackfillReport,
        )
        for more in ({"dry_run": True}, {}, {})
    ]
    assert [(one.slots, one.made, one.existing) for one in reports] == [
        (3, 3, 0), (3, 3, 0), (3, 0, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, -1), (0, 1), (-20_000, 0)],
    ids=["backwards", "future", "many"],
)
async def test_a_range_that_cannot_be_made_up_for_is_refused(
    asker: Asker, hourly: Any, start: int, end: int
) -> None:
    await hourly()
    body = {"from": show_instant(NOW + start * HOUR), "to": show_instant(NOW + end * HOUR)}
    told = await asker.ask("POST", "/v1/schedules/hourly/backfill", body)
    assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/end")


async def test_slots_tell_of_their_tasks(
    asker: Asker, engine: Engine, clock: ManualClock, hourly: Any
) -> None:
    """R6.8: the state, how late it was made, and nothing of a run that has not begun."""
    await hourly(overlap="allow")
    clock.advance(3630)
    await engine.fire()
    told = await asker.ask("GET", "/v1/schedules/hourly/slots")
    (shown,) = fits(told.json, SlotPage).items
    assert (shown.state, shown.task_state, shown.attempt) == ("fired", "ready", 0)
    assert (shown.late_s, shown.ran_s, shown.started_at) == (30, None, None)


async def test_a_list_shows_the_newest_runs_and_the_rule_in_words(
    asker: Asker, engine: Engine, clock: ManualClock, hourly: Any
) -> None:
    """Asked for with view=runs: one bounded read for a page of schedules."""
    await hourly(overlap="allow")
    await hourly(name="other", every="20h")
    for _ in range(33):
        clock.advance(3600)
        await engine.fire()
    first, second = fits(
        (await asker.ask("GET", "/v1/schedules?view=runs")).json, SchedulePage
    ).items
    assert (first.name, first.words) == ("hourly", "Every hour")
    assert first.runs is not None
    assert second.runs is not None
    assert (len(first.runs), len(second.runs)) == (30, 1)
    assert (first.runs[0].slot, first.runs[0].task_state) == (first.last_slot, "ready")
    plain = fits((await asker.ask("GET", "/v1/schedules")).json, SchedulePage).items
    assert [(one.runs, one.words) for one in plain] == [(None, None)] * 2
    wrong = await asker.ask("GET", "/v1/schedules?view=all")
    assert wrong.status == 422


async def test_of_schedules_of_others_no_slot_is_told(
    asker: Asker, engine: Engine, clock: ManualClock, hourly: Any
) -> None:
    """B181."""
    await hourly(tenant="college")
    clock.advance(3600)
    await engine.fire()
    bound = asker.using("read@board")
    assert (await bound.ask("GET", "/v1/schedules?view=runs")).json["items"] == []
    assert (await bound.ask("GET", "/v1/schedules/hourly/slots")).status == 404
