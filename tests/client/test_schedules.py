"""Schedules as their owner makes, changes, pauses and looks at them (R6.8), on both stores."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from rota import (
    InvalidSchedule,
    InvalidTask,
    Rota,
    ScheduleBusy,
    ScheduleChanged,
    ScheduleExists,
    ScheduleNotFound,
    SlotState,
    State,
    TaskKind,
    UnknownKind,
)
from rota.clock import ManualClock
from rota.config import HOUR, MINUTE
from rota.declared import Declared
from rota.engine import Engine
from rota.model import Task
from rota.policy.lifecycle import Completed
from rota.schedule import Overlap, Schedule
from tests.support.factories import NOW
from tests.support.hands import Hands

HOURLY = "0 * * * *"
"""NOW is 08:00:00 on 15 January 2027."""

Report = TaskKind[[str], None]


@pytest.fixture
def report(still: Rota) -> Report:
    """A kind with an argument."""

    @still.task(queue="mail", priority=7)
    def report(day: str) -> None: ...

    return report


@pytest.fixture
def hourly(still: Rota, report: Report) -> Schedule:
    """A schedule that was made at run time, at 08:00."""
    return still.schedules.create(report, HOURLY, name="hourly", payload={"day": "today"})


def fire(app: Rota) -> None:
    """Let a node decide what has come."""

    async def work() -> None:
        await (await app._client.opened()).fire()

    app._client.portal.run(work)


def made(app: Rota) -> Sequence[Task]:
    """The tasks that are there, the oldest first."""
    return list(reversed(app.tasks.list(limit=500)))


# -- making -------------------------------------------------------------------------------------


def test_a_new_schedule_begins_after_now(still: Rota, hourly: Schedule) -> None:
    """R6.2: the expression and the zone are stored, and when the next slot is."""
    stored = still.schedules.get("hourly")

    assert (
        stored == hourly == still.schedules.get(hourly.id) == still.schedules.get(hourly.id.upper())
    )
    assert (stored.cursor, stored.next_slot, stored.version) == (NOW, NOW + HOUR, 1)
    assert (stored.rule.expression, stored.source, stored.paused_at) == (HOURLY, "", None)
    assert (stored.work.queue, stored.work.priority) == ("mail", 7)


def test_it_fires_what_it_says(still: Rota, hourly: Schedule, clock: ManualClock) -> None:
    """R6.4: a slot is a task with the schedule's own payload, options and gate."""
    clock.advance(3600)
    fire(still)

    (task,) = made(still)
    assert (task.kind, task.queue, task.priority, task.payload) == (
        "report", "mail", 7, {"day": "today"},
    )  # fmt: skip
    assert (task.schedule, task.slot, task.run_at) == (hourly.id, NOW + HOUR, NOW + HOUR)
    assert (task.concurrency_key, task.max_concurrency) == (f"schedule:{hourly.id}", 1)
    assert still.schedules.get("hourly").fired == 1
    assert still.tasks.timeline(task.id)[-1].detail == (
        f"by schedule {hourly.id}, for its slot 2027-01-15T09:00:00.000000Z"
    )


def test_the_tasks_of_a_schedule_and_of_a_gate_are_found(
    still: Rota, hourly: Schedule, clock: ManualClock, report: Report
) -> None:
    """R9.1."""
    report.using(concurrency_key="printer").submit("other")
    clock.advance(3600)
    fire(still)

    def days(**where: Any) -> list[object]:
        return [(task.payload or {})["day"] for task in still.tasks.list(**where)]

    assert days(schedule=hourly.id) == ["today"]
    assert days(schedule=hourly.id.upper(), state="completed") == []
    assert days(concurrency_key="printer") == ["other"]
    assert still.tasks.cancel_many(schedule=hourly.id).completed == 1
    with pytest.raises(InvalidTask, match="is no id"):
        days(schedule="hourly")


@pytest.mark.parametrize("way", ["name", "call"])
def test_a_kind_may_be_named_or_bound(still: Rota, report: Report, way: str) -> None:
    kind = "report" if way == "name" else report.using(tenant="board").bind("bound")
    options = {"payload": {"day": "named"}, "tenant": "board"} if way == "name" else {}

    one = still.schedules.create(kind, every="1h", **options)  # type: ignore[arg-type]

    assert (one.name, one.work.tenant) == ("report", "board")
    assert one.work.payload == ('{"day":"named"}' if way == "name" else '{"day":"bound"}')


def test_a_kind_of_another_program_is_taken_if_it_is_meant(still: Rota) -> None:
    with pytest.raises(UnknownKind):
        still.schedules.create("elsewhere", HOURLY)

    one = still.schedules.create("elsewhere", HOURLY, any_kind=True, payload={"a": [1]})

    assert (one.work.kind, one.work.payload, one.work.queue) == (
        "elsewhere",
        '{"a":[1]}',
        "default",
    )


def test_a_name_is_taken_once(still: Rota, hourly: Schedule, report: Report) -> None:
    with pytest.raises(ScheduleExists):
        still.schedules.create(report, HOURLY, name="hourly", payload={"day": "x"})


def test_what_is_refused_is_not_stored(still: Rota, report: Report) -> None:
    """R1.6, R6.1."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"expression": "0 0 30 2 *"}, "expression"),
        ({"expression": HOURLY, "ends_at": "2027-01-15T08:00Z"}, "ends_at"),
        ({"expression": HOURLY, "payload": {"day": 1}}, "payload.day"),
        ({"expression": HOURLY, "payload": {}}, "payload.day"),
        ({"expression": HOURLY, "queue": "no such queue!"}, "queue"),
    ]
    for options, field in cases:
        with pytest.raises(InvalidSchedule) as caught:
            still.schedules.create(report, **{"payload": {"day": "x"}} | options)

        assert caught.value.field == field
    assert not still.schedules.list()


# -- changing -----------------------------------------------------------------------------------


def test_a_change_leaves_what_it_does_not_name(
    still: Rota, hourly: Schedule, clock: ManualClock
) -> None:
    """R6.8: an update merges; the slots that were decided stay decided."""
    clock.advance(3600)
    fire(still)
    still.schedules.pause("hourly", "holidays")

    changed = still.schedules.update("hourly", overlap="coalesce", tags=["a"], priority=1)

    assert (changed.policy.overlap, changed.work.tags) == (Overlap.COALESCE, ("a",))
    assert changed.work.payload == '{"day":"today"}'
    assert (changed.rule, changed.fired, changed.cursor) == (hourly.rule, 1, NOW + HOUR)
    assert (changed.pause_reason, changed.next_slot) == ("holidays", NOW + 2 * HOUR)
    assert changed.version == 3


def test_a_new_rule_counts_from_now_on(still: Rota, hourly: Schedule, clock: ManualClock) -> None:
    """R6.8: nothing of the new rule's past is made up for, and of the old one's it is recorded."""
    clock.advance(5 * 3600 + 60)

    changed = still.schedules.update("hourly", expression="*/30 * * * *")
    fire(still)

    assert (changed.cursor, changed.next_slot) == (clock.now(), NOW + 5 * HOUR + 30 * MINUTE)
    assert made(still) == []
    (skipped,) = still.schedules.slots("hourly")
    assert (skipped.state, skipped.slot, skipped.count) == (SlotState.MISSED, NOW + HOUR, 5)


def test_a_schedule_that_was_over_goes_on_from_now(
    still: Rota, hourly: Schedule, clock: ManualClock
) -> None:
    """Nothing is made up for from the time when it was over; it was not missed either."""
    still.schedules.update("hourly", max_runs=1)
    clock.advance(3600)
    fire(still)
    assert still.schedules.get("hourly").next_slot is None
    clock.advance(5 * 3600)

    again = still.schedules.update("hourly", max_runs=2)
    fire(still)

    assert again.next_slot == NOW + 7 * HOUR
    assert len(made(still)) == len(still.schedules.slots("hourly")) == 1


def test_nothing_changes_by_a_change_that_says_nothing_new(still: Rota, hourly: Schedule) -> None:
    assert still.schedules.update("hourly", tz="UTC", queue="mail") == hourly
    assert still.schedules.update("hourly") == hourly


def test_a_change_for_an_older_version_is_refused(still: Rota, hourly: Schedule) -> None:
    still.schedules.update("hourly", version=1, priority=1)

    with pytest.raises(ScheduleChanged):
        still.schedules.update("hourly", version=1, priority=2)
    assert still.schedules.get("hourly").work.priority == 1


async def test_changes_at_once_all_count(still: Rota, hourly: Schedule) -> None:
    """A read-modify-write that loses a race is made anew."""
    changes: list[dict[str, Any]] = [
        {"priority": 1}, {"tags": ["x"]}, {"jitter": "5m"}, {"max_runs": 9}, {"queue": "sms"},
    ]  # fmt: skip
    await asyncio.gather(*(still.schedules.aupdate("hourly", **change) for change in changes))

    now = await still.schedules.aget("hourly")
    assert (now.work.priority, now.work.tags, now.work.queue) == (1, ("x",), "sms")
    assert (now.policy.jitter, now.policy.max_runs) == (5 * MINUTE, 9)
    assert now.version == 6


def test_a_change_is_checked_as_a_whole(still: Rota, hourly: Schedule) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"expression": "0 0 30 2 *"}, "expression"),
        ({"payload": {"night": "x"}}, "payload.night"),
        ({"kind": "other"}, "kind"),
        ({"jitter": "2h"}, "jitter"),
    ]
    for changes, field in cases:
        with pytest.raises(InvalidSchedule) as caught:
            still.schedules.update("hourly", **changes)

        assert caught.value.field == field
    assert still.schedules.get("hourly") == hourly


# -- pausing ------------------------------------------------------------------------------------


def test_the_slots_of_a_pause_are_skipped_and_can_be_listed(
    still: Rota, hourly: Schedule, clock: ManualClock
) -> None:
    """R6.8: nothing disappears silently."""
    paused = still.schedules.pause("hourly", "holidays")
    assert (paused.paused_at, paused.pause_reason) == (NOW, "holidays")
    assert still.schedules.pause("hourly") == paused
    clock.advance(3 * 3600 + 600)
    fire(still)
    assert made(still) == []

    resumed = still.schedules.resume("hourly")
    assert still.schedules.resume("hourly") == resumed
    clock.advance(3600)
    fire(still)

    assert (resumed.paused_at, resumed.pause_reason) == (None, None)
    assert [task.slot for task in made(still)] == [NOW + 4 * HOUR]
    newest, skipped = still.schedules.slots("hourly")
    assert (newest.slot, newest.state) == (NOW + 4 * HOUR, SlotState.FIRED)
    assert (skipped.state, skipped.slot, skipped.last, skipped.count) == (
        SlotState.PAUSED, NOW + HOUR, NOW + 3 * HOUR, 3,
    )  # fmt: skip
    assert still.schedules.get("hourly").skipped == 3


def test_a_pause_of_years_is_not_counted_slot_by_slot(
    still: Rota, report: Report, clock: ManualClock
) -> None:
    """Case B088: the cost of a pause does not grow with its length."""
    still.schedules.create(report, "* * * * *", payload={"day": "x"})
    still.schedules.pause("report")
    clock.advance(2 * 365 * 86_400)

    still.schedules.resume("report")

    (skipped,) = still.schedules.slots("report")
    assert (skipped.slot, skipped.last, skipped.count) == (NOW + MINUTE, clock.now(), None)


# -- deleting -----------------------------------------------------------------------------------


def test_a_schedule_is_deleted_and_its_tasks_are_not(
    still: Rota, hourly: Schedule, clock: ManualClock
) -> None:
    clock.advance(3600)
    fire(still)

    still.schedules.delete("hourly")
    clock.advance(3600)
    fire(still)

    assert len(made(still)) == 1
    for verb in (still.schedules.get, still.schedules.delete, still.schedules.pause):
        with pytest.raises(ScheduleNotFound, match="hourly"):
            verb("hourly")


def test_a_name_that_was_meant_is_told(still: Rota, hourly: Schedule) -> None:
    with pytest.raises(ScheduleNotFound, match="did you mean 'hourly'"):
        still.schedules.get("houly")


def test_what_this_version_cannot_read_is_left_as_it_is(
    still: Rota, hourly: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case B085: what a newer version wrote is not overwritten with what stands for nothing."""
    unread = structs.replace(hourly, source="code:app", problem="it has fields of a newer version")

    async def get_schedules(_: object, names: Sequence[str]) -> list[Schedule | None]:
        return [unread if name in ("hourly", hourly.id) else None for name in names]

    monkeypatch.setattr(Engine, "get_schedules", get_schedules)
    schedules = still.schedules

    for verb in (schedules.update, schedules.pause, schedules.resume, schedules.run_now):
        with pytest.raises(InvalidTask, match="fields of a newer version"):
            verb("hourly")
    with pytest.raises(InvalidTask, match="fields of a newer version"):
        schedules.backfill("hourly", "2027-01-01T00:00Z", "2027-01-02T00:00Z")
    (step,) = schedules.plan(
        [Declared(name="hourly", rule=hourly.rule, policy=hourly.policy, work=hourly.work)],
        source="code:app",
    )
    assert str(step) == "schedule hourly: left alone, it has fields of a newer version"


# -- besides its slots --------------------------------------------------------------------------


def test_run_now_makes_a_task_that_stands_for_no_slot(still: Rota, hourly: Schedule) -> None:
    accepted = still.schedules.run_now("hourly")

    task = still.tasks.get(accepted.id)
    assert (task.schedule, task.slot, task.run_at) == (hourly.id, None, NOW)
    assert task.state in (State.READY, State.SCHEDULED)
    assert still.schedules.get("hourly").next_slot == NOW + HOUR
    assert still.schedules.slots("hourly") == []


def test_run_now_does_not_overlap_a_run_unless_it_is_forced_and_then_waits(
    still: Rota, hourly: Schedule, clock: ManualClock
) -> None:
    """R6.6."""
    clock.advance(3600)
    fire(still)
    hands = Hands(still, queues=("mail",), kinds=("report",))
    (running,) = hands.take("mail")

    with pytest.raises(ScheduleBusy, match="1 run"):
        still.schedules.run_now("hourly")
    forced = still.schedules.run_now("hourly", force=True)

    assert hands.take("mail") == []
    (gate,) = still.tasks.explain(forced.id).reasons
    assert (type(gate).__name__, gate.inside, gate.room) == ("AtGate", 1, 1)  # type: ignore[union-attr]
    hands.end([running], lambda _: Completed(None))
    assert [task.id for task in hands.take("mail")] == [forced.id]


def test_a_backfill_makes_each_slot_of_a_range_once(
    still: Rota, hourly: Schedule, clock: ManualClock
) -> None:
    """R6.4, R6.8: half open, and safe to repeat; what fired by itself is not made again."""
    clock.advance(3601)
    fire(still)
    span = ("2027-01-15T03:00Z", "2027-01-15T09:00:00.000001Z")

    foreseen = still.schedules.backfill("hourly", *span, dry_run=True)
    report = still.schedules.backfill("hourly", *span)
    again = still.schedules.backfill("hourly", *span)

    assert (foreseen.slots, foreseen.made, foreseen.existing) == (7, 6, 1)
    assert (report.slots, report.made, report.existing) == (7, 6, 1)
    assert (again.made, again.existing) == (0, 7)
    assert sorted(task.slot or 0 for task in made(still)) == [NOW + n * HOUR for n in range(-5, 2)]
    backfilled = [one for one in still.schedules.slots("hourly") if one.backfilled]
    assert [one.slot for one in backfilled] == [NOW - n * HOUR for n in range(6)]
    assert {task.run_at for task in made(still)} == {NOW + HOUR, clock.now()}


def test_a_backfill_that_is_not_meant_is_refused(still: Rota, hourly: Schedule) -> None:
    cases = [
        ("2027-01-15T03:00Z", "2027-01-15T03:00Z", "after start"),
        ("2027-01-15T03:00Z", "2027-01-15T09:00Z", "in the future"),
        ("2020-01-01T00:00Z", "2027-01-01T00:00Z", "61,368 slots"),
        ("2027-01-15T03:00", "2027-01-15T09:00Z", "time zone"),
    ]
    for start, end, problem in cases:
        with pytest.raises(InvalidTask, match=problem):
            still.schedules.backfill("hourly", start, end)
    assert made(still) == []


# -- reading ------------------------------------------------------------------------------------


def test_schedules_are_listed_by_name_in_pages_and_by_filter(still: Rota, report: Report) -> None:
    for number, name in enumerate(("a", "b", "c", "d")):
        still.schedules.create(
            report, HOURLY, name=name, payload={"day": "x"}, tenant="board" if number % 2 else ""
        )
    still.schedules.pause("b")

    def names(**where: Any) -> list[str]:
        return [one.name for one in still.schedules.list(**where)]

    assert names() == ["a", "b", "c", "d"]
    assert names(limit=2) == ["a", "b"]
    assert names(limit=2, after="b") == ["c", "d"]
    assert names(tenant="board") == ["b", "d"]
    assert names(paused=True) == ["b"]
    assert names(kind="other") == names(source="code:app") == []
    assert len(names(source="", kind="report", paused=False)) == 3
    with pytest.raises(InvalidTask, match="limit"):
        names(limit=0)


def test_a_preview_is_what_will_be_fired(still: Rota, hourly: Schedule, clock: ManualClock) -> None:
    """R6.8: preview and fire are one function."""
    still.schedules.update("hourly", jitter="10m", max_runs=3, overlap="allow")

    foreseen = still.schedules.preview("hourly", count=5)
    for _ in range(6):
        clock.advance(3600)
        fire(still)

    assert [slot.at for slot in foreseen] == [task.slot for task in made(still)]
    assert len(foreseen) == 3
    (later,) = {task.run_at - (task.slot or 0) for task in made(still)}
    assert 0 <= later < 10 * MINUTE
    assert all("jitter: starts " in slot.notes[-1] for slot in foreseen)
    assert still.schedules.preview("hourly") == []


def test_a_preview_shows_what_a_change_would_do(still: Rota, hourly: Schedule) -> None:
    (first,) = still.schedules.preview("hourly", count=1, tz="Asia/Kolkata", expression="0 9 * * *")

    assert (first.local.hour, first.local.utcoffset()) == (9, first.local.utcoffset())
    assert first.at == NOW + (24 * 60 - 4 * 60 - 30) * MINUTE
    assert still.schedules.get("hourly") == hourly
