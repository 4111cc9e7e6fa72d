"""Tasks that a schedule makes besides its firings: backfills and runs by hand (R6.8)."""

import asyncio

import pytest

from rota.model import State
from rota.schedule import Run, Schedule
from rota.store.base import Store
from tests.conformance.steps import counts, open_worker, take_all
from tests.support.factories import LATER, NOW, Make, completed
from tests.support.schedules import (
    NO_GATE,
    firing,
    read,
    runs_of,
    slot,
    states,
    stored,
    task_of,
)


async def test_a_backfill_makes_each_slot_once(store: Store, make: Make) -> None:
    """R6.8: asked for twice, and over slots that have fired."""
    schedule = await stored(store, make)
    assert await store.fire([firing(make, schedule, NOW)], NOW) == [True]
    before = await read(store, schedule)

    runs = runs_of(make, schedule, slot(-2), slot(-1), NOW, **NO_GATE, run_at=LATER)
    assert await store.fire_extra(schedule.id, runs, LATER, slots=True) == [True, True, False]
    more = runs_of(make, schedule, slot(-3), slot(-2), **NO_GATE, run_at=LATER)
    assert await store.fire_extra(schedule.id, more, LATER, slots=True) == [True, False]

    assert await states(store, schedule) == {slot(n): State.READY for n in range(-3, 1)}
    assert await read(store, schedule) == before
    assert [
        (found.slot, found.backfilled) for found in await store.slots(schedule.id, None, 10)
    ] == [(NOW, False), (slot(-1), True), (slot(-2), True), (slot(-3), True)]


async def test_a_repeat_of_a_backfill_is_answered_like_the_first(store: Store, make: Make) -> None:
    """F5: the line broke after the commit."""
    schedule = await stored(store, make)
    runs = runs_of(make, schedule, slot(-2), slot(-1))
    assert await store.fire_extra(schedule.id, runs, NOW, slots=True) == [True, True]

    assert await store.fire_extra(schedule.id, runs, NOW + 1, slots=True) == [True, True]

    assert len(await states(store, schedule)) == 2


async def test_a_slot_that_was_backfilled_does_not_fire(store: Store, make: Make) -> None:
    """R6.4: somebody was quicker; the schedule goes on behind it."""
    schedule = await stored(store, make)
    assert await store.fire_extra(
        schedule.id, runs_of(make, schedule, NOW, **NO_GATE), NOW, slots=True
    ) == [True]

    assert await store.fire([firing(make, schedule, NOW, slot(1), **NO_GATE)], slot(1)) == [True]

    assert await states(store, schedule) == {NOW: State.READY, slot(1): State.READY}
    assert (await read(store, schedule)).fired == 1


async def test_two_backfills_and_a_firing_at_once_make_each_slot_once(
    store: Store, other: Store, make: Make
) -> None:
    """R6.4, invariant 6."""
    for n in range(10):
        schedule = await stored(store, make, f"report-{n}")
        at = [slot(k) for k in range(20)]

        def runs(back: bool, schedule: Schedule = schedule, at: list[int] = at) -> tuple[Run, ...]:
            wanted = runs_of(make, schedule, *at, **NO_GATE, run_at=NOW)
            return wanted[::-1] if back else wanted

        one, two, fired = await asyncio.gather(
            store.fire_extra(schedule.id, runs(True), NOW, slots=True),
            other.fire_extra(schedule.id, runs(False), NOW, slots=True),
            other.fire([firing(make, schedule, *at, **NO_GATE, run_at=NOW)], NOW),
        )

        assert fired == [True]
        by_firing = (await read(store, schedule)).fired
        assert sum(one) + sum(two) + by_firing == 20
        assert len(await states(store, schedule)) == 20


async def test_a_run_by_hand_stands_for_no_slot(store: Store, make: Make) -> None:
    """R6.8: run now, as often as somebody asks; the schedule itself does not notice."""
    schedule = await stored(store, make)
    by_hand = [Run(NOW, task_of(make, schedule, None)) for _ in range(3)]

    assert await store.fire_extra(schedule.id, by_hand[:2], NOW, slots=False) == [True, True]
    assert await store.fire_extra(schedule.id, by_hand[1:], NOW, slots=False) == [True, True]

    assert await counts(store) == {State.READY: 1, State.SCHEDULED: 2}
    assert await store.slots(schedule.id, None, 10) == []
    assert await read(store, schedule) == schedule
    assert await store.live([schedule.id], 10) == [3]
    assert await store.fire([firing(make, schedule, NOW)], NOW) == [True]


async def test_a_run_by_hand_is_not_made_again_once_it_is_over(store: Store, make: Make) -> None:
    """F5."""
    schedule = await stored(store, make)
    by_hand = [Run(NOW, task_of(make, schedule, None))]
    assert await store.fire_extra(schedule.id, by_hand, NOW, slots=False) == [True]
    session = await open_worker(store, make)
    (held,) = await take_all(store, session)
    assert await store.finish(session, [completed(held)], NOW) == [True]

    assert await store.fire_extra(schedule.id, by_hand, NOW, slots=False) == [True]

    assert await counts(store) == {State.COMPLETED: 1}


@pytest.mark.parametrize("slots", [True, False])
async def test_a_schedule_that_is_gone_makes_nothing(store: Store, make: Make, slots: bool) -> None:
    """F49."""
    schedule = await stored(store, make)
    assert await store.remove_schedule(schedule.id)

    runs = runs_of(make, schedule, NOW, slot(1))
    assert await store.fire_extra(schedule.id, runs, NOW, slots=slots) == [False, False]

    assert await counts(store) == {}
    assert await store.slots(schedule.id, None, 10) == []


async def test_a_paused_schedule_can_be_run_by_hand(store: Store, make: Make) -> None:
    """R6.8."""
    schedule = await stored(store, make, paused_at=NOW)

    runs = runs_of(make, schedule, NOW)
    assert await store.fire_extra(schedule.id, runs, NOW, slots=True) == [True]
