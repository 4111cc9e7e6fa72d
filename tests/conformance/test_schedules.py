"""Schedules are data: stored, changed only from the state that a change was decided from, found."""

import asyncio
from typing import Any

import pytest
from msgspec import structs

from rota.config import COUNTED_SLOTS, DAY, HOUR, MINUTE
from rota.model import State
from rota.schedule import (
    Fold,
    Gap,
    Missed,
    Overlap,
    Policy,
    Rule,
    ScheduleFilter,
    Skip,
    Slot,
    SlotState,
    Work,
)
from rota.store.base import Store
from tests.conformance.steps import counts
from tests.support.factories import LATER, NOW, Make
from tests.support.places import Place
from tests.support.schedules import (
    a_schedule,
    edited,
    firing,
    missed,
    read,
    slot,
    stored,
)

EVERY_SCHEDULE = ScheduleFilter()


async def names(store: Store, **where: Any) -> list[str]:
    """The names of the schedules that match, in the order found."""
    return [schedule.name for schedule in await store.find_schedules(ScheduleFilter(**where))]


# -- creating -----------------------------------------------------------------------------------


async def test_a_schedule_is_read_back_as_it_was_stored(store: Store, make: Make) -> None:
    """R6.2: with its zone and its rule; nothing of it is worked out by the store."""
    schedule = a_schedule(
        make,
        "Morning-report.7",
        source="code:rota.demo",
        rule=Rule(
            expression="0 30 9 ? * MON-FRI",
            tz="America/Argentina/Buenos_Aires",
            seconds=True,
            both_days=True,
            gap=Gap.SKIP,
            fold=Fold.BOTH,
            starts_at=NOW,
            ends_at=NOW + DAY,
        ),
        policy=Policy(
            missed=Missed.RUN_ALL, max_age=HOUR, overlap=Overlap.QUEUE, jitter=1, max_runs=9
        ),
        work=Work(
            kind="report",
            payload='{"text":"Grüße, \\"Ελλάδα\\" \\\\ \\n 🎓"}',
            queue="mail",
            tenant="board",
            priority=2,
            timeout=MINUTE,
            retry='{"type": "fixed"}',
            expires_in=HOUR,
            tags=("a", "b"),
            headers='{"trace": "1"}',
            concurrency_key="provider",
            max_concurrency=3,
        ),
        version=7,
        next_slot=None,
        next_at=None,
        paused_at=NOW,
        pause_reason="the school is closed — ½ term",
        last_slot=NOW - MINUTE,
        last_fired_at=NOW - 1,
        fired=3,
        skipped=4,
    )

    assert await store.create_schedule(schedule)

    assert await store.get_schedules([schedule.id]) == [schedule]
    assert await store.get_schedules([schedule.name]) == [schedule]


async def test_an_interval_without_any_wish_is_read_back(store: Store, make: Make) -> None:
    schedule = await stored(store, make, rule=Rule(every=90_000_000, anchor=NOW))

    assert await read(store, schedule) == schedule


async def test_a_name_belongs_to_one_schedule(store: Store, make: Make) -> None:
    first = await stored(store, make)

    assert not await store.create_schedule(a_schedule(make))

    assert await store.find_schedules(EVERY_SCHEDULE) == [first]


async def test_a_repeat_of_a_create_is_answered_like_the_first(store: Store, make: Make) -> None:
    """F5: whoever lost its line asks again; what has happened to the schedule since stays."""
    schedule = await stored(store, make)
    assert await store.fire([firing(make, schedule, NOW)], NOW) == [True]

    assert await store.create_schedule(schedule)

    assert (await read(store, schedule)).fired == 1


async def test_of_two_that_create_the_same_name_at_once_one_is_told_no(
    store: Store, other: Store, make: Make
) -> None:
    """B097: two workers start with the same app; no error escapes."""
    for n in range(20):
        one, two = a_schedule(make, f"report-{n}"), a_schedule(make, f"report-{n}")

        answers = await asyncio.gather(store.create_schedule(one), other.create_schedule(two))

        assert sorted(answers) == [False, True]
        assert await store.get_schedules([f"report-{n}"]) == [one if answers[0] else two]


async def test_the_same_schedule_may_be_created_twice_at_once(
    store: Store, other: Store, make: Make
) -> None:
    """F5: the first call is still on its way when the caller repeats it."""
    for n in range(20):
        schedule = a_schedule(make, f"report-{n}")

        answers = await asyncio.gather(
            store.create_schedule(schedule), other.create_schedule(schedule)
        )

        assert list(answers) == [True, True]


# -- changing -----------------------------------------------------------------------------------


async def test_a_change_replaces_what_a_schedule_says(store: Store, make: Make) -> None:
    """R6.8: and leaves what it has done, whatever the caller thinks that to be."""
    schedule = await stored(store, make)
    assert await store.fire([firing(make, schedule, NOW)], NOW + 5) == [True]
    before = await read(store, schedule)
    after = edited(
        before,
        name="noon-report",
        source="crontab:/etc/crontab",
        rule=Rule(every=MINUTE),
        policy=Policy(overlap=Overlap.ALLOW),
        work=structs.replace(before.work, kind="other", tenant="board"),
        updated_at=NOW + 9,
        cursor=NOW + 8,
        next_slot=LATER,
        next_at=LATER + 1,
        tz_data="2026b",
        paused_at=NOW + 9,
        pause_reason="not now",
    )
    wrong = structs.replace(after, fired=99, skipped=99, last_slot=None, last_fired_at=None)

    assert await store.change_schedule(wrong, before.version, before.cursor)

    assert await read(store, schedule) == after
    assert (after.fired, after.last_slot, after.last_fired_at) == (1, NOW, NOW + 5)
    assert await names(store, kind="other", tenant="board", paused=True) == ["noon-report"]


@pytest.mark.parametrize(
    ("version", "cursor"),
    [(2, NOW - MINUTE), (0, NOW - MINUTE), (1, NOW), (1, 0)],
    ids=["newer", "older", "fired on", "far back"],
)
async def test_a_change_that_was_decided_from_another_state_changes_nothing(
    store: Store, make: Make, version: int, cursor: int
) -> None:
    """F49."""
    schedule = await stored(store, make)
    skips = [missed(NOW, NOW)]

    assert not await store.change_schedule(edited(schedule), version, cursor, skips)

    assert await read(store, schedule) == schedule
    assert await store.slots(schedule.id, None, 10) == []


async def test_a_change_of_what_is_not_there_is_refused(store: Store, make: Make) -> None:
    schedule = a_schedule(make)

    assert not await store.change_schedule(schedule, schedule.version, schedule.cursor)

    assert await store.find_schedules(EVERY_SCHEDULE) == []


async def test_a_change_records_what_it_skips(store: Store, make: Make) -> None:
    """R6.8: a schedule that goes on after a pause says which of its slots that has cost."""
    schedule = await stored(store, make)
    pause = missed(NOW, slot(9), SlotState.PAUSED)
    uncounted = Skip(slot(10), slot(20_000), None, SlotState.PAUSED)
    on = edited(schedule, cursor=slot(20_000), updated_at=slot(20_001))

    assert await store.change_schedule(on, 1, schedule.cursor, [pause, uncounted])

    assert (await read(store, schedule)).skipped == 10 + COUNTED_SLOTS
    assert await store.slots(schedule.id, None, 10) == [
        Slot(slot(10), SlotState.PAUSED, slot(20_001), last=slot(20_000), count=None),
        Slot(slot(0), SlotState.PAUSED, slot(20_001), last=slot(9), count=10),
    ]


async def test_a_name_that_is_taken_cannot_be_changed_to(store: Store, make: Make) -> None:
    await stored(store, make, "taken")
    schedule = await stored(store, make)

    assert not await store.change_schedule(edited(schedule, name="taken"), 1, schedule.cursor)

    assert await names(store) == ["report", "taken"]


async def test_of_two_that_take_a_name_at_once_one_gets_it(
    store: Store, other: Store, make: Make
) -> None:
    """B097: no error escapes."""
    for n in range(20):
        pair = [await stored(store, make, f"{side}-{n}") for side in ("left", "right")]
        wanted = [edited(schedule, name=f"report-{n}") for schedule in pair]

        answers = await asyncio.gather(
            store.change_schedule(wanted[0], 1, pair[0].cursor),
            other.change_schedule(wanted[1], 1, pair[1].cursor),
        )

        assert sorted(answers) == [False, True]


async def test_of_two_that_change_a_schedule_at_once_one_is_told_no(
    store: Store, other: Store, make: Make
) -> None:
    """F49: neither overwrites what it has not seen."""
    schedule = await stored(store, make)
    for _ in range(20):
        wanted = [edited(schedule, pause_reason=who) for who in ("left", "right")]

        answers = await asyncio.gather(
            store.change_schedule(wanted[0], schedule.version, schedule.cursor),
            other.change_schedule(wanted[1], schedule.version, schedule.cursor),
        )

        assert sorted(answers) == [False, True]
        schedule = await read(store, schedule)
        assert schedule == wanted[answers.index(True)]


# -- removing -----------------------------------------------------------------------------------


async def test_a_removed_schedule_leaves_its_tasks_alone(
    place: Place, store: Store, make: Make
) -> None:
    """R6.8: and nothing else, however much it has to tell of."""
    schedule, kept = await stored(store, make), await stored(store, make, "kept")
    for one in (schedule, kept):
        assert await store.fire([firing(make, one, NOW, skips=[missed(NOW, NOW)])], NOW) == [True]

    assert await store.remove_schedule(schedule.id)

    assert await store.get_schedules([schedule.id, schedule.name]) == [None, None]
    assert await store.slots(schedule.id, None, 10) == []
    assert await place.rows("select count(*) from slot union all select count(*) from skip") == [
        (1,),
        (1,),
    ]
    assert await counts(store) == {State.READY: 2}
    assert await store.live([schedule.id, kept.id], 9) == [1, 1]
    assert not await store.remove_schedule(schedule.id)


async def test_the_record_of_a_removed_schedule_goes_bit_by_bit(
    place: Place, store: Store, make: Make
) -> None:
    """R2.4: a schedule may have a million slots, and others want to write."""
    schedule = await stored(store, make)
    series = {
        "sqlite": "with recursive c (n) as (select 0 union all select n + 1 from c "
        "where n < 25000) select {values} from c",
        "postgres": "select {values} from generate_series(0, 25000) as c (n)",
    }[place.dialect]
    ident = f"'{schedule.id}'" + ("::uuid" if place.dialect == "postgres" else "")
    backfilled = {"sqlite": "0", "postgres": "false"}[place.dialect]
    rows = {
        "slot": f"{ident}, {NOW} + n, {ident}, {NOW}, {backfilled}",
        "skip": f"{ident}, {NOW} + n, {NOW} + n, 1, 'skipped:missed', {NOW}",
    }
    for table, values in rows.items():
        await place.run(f"insert into {table} {series.format(values=values)}")

    assert await store.remove_schedule(schedule.id)

    assert await place.value("select count(*) from slot") == 0
    assert await place.value("select count(*) from skip") == 0


@pytest.mark.parametrize("nonsense", ["", "nobody", "0193f2a1", "' or 1 = 1 --"])
async def test_what_is_no_id_names_no_schedule(store: Store, make: Make, nonsense: str) -> None:
    schedule = await stored(store, make)
    runs = firing(make, schedule, NOW).runs

    assert not await store.remove_schedule(nonsense)
    assert await store.get_schedules([nonsense]) == [None]
    assert await store.slots(nonsense, None, 10) == []
    assert await store.live([nonsense, schedule.id], 10) == [0, 0]
    assert await store.fire_extra(nonsense, runs, NOW, slots=True) == [False]
