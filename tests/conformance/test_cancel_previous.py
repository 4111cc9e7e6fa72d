"""A later run of a schedule takes the place of those that are not over (R6.6)."""

from rota.model import State, TaskFilter
from rota.store.base import Store
from tests.conformance.steps import one, open_worker, take_all
from tests.support.factories import LATER, NOW, Make, again, completed, error
from tests.support.schedules import (
    NO_GATE,
    firing,
    read,
    slot,
    states,
    stored,
)


async def test_a_later_run_takes_the_place_of_those_that_are_not_over(
    store: Store, make: Make
) -> None:
    """R6.6: what has not started is cancelled, what runs is asked to stop; others are not met."""
    schedule, bystander = await stored(store, make), await stored(store, make, "bystander")
    assert await store.fire(
        [
            firing(make, schedule, *(slot(n) for n in range(4)), **NO_GATE),
            firing(make, bystander, *(slot(n) for n in range(4)), **NO_GATE),
        ],
        slot(1),
    ) == [True, True]
    runs = {found.slot: found.id for found in await store.find(TaskFilter(schedule=schedule.id))}
    session = await open_worker(store, make, at=slot(1))
    held = await take_all(store, session, now=slot(1))
    mine = {task.slot: task for task in held if task.schedule == schedule.id}
    rest = [again(task, LATER, error()) for task in held if task.id != mine[slot(0)].id]
    assert all(await store.finish(session, rest, slot(1)))
    before = await store.live([schedule.id, bystander.id], 100)
    assert before == [4, 4]

    schedule = await read(store, schedule)
    last = firing(make, schedule, slot(4), upto=slot(4), cancel_previous=True)
    assert await store.fire([last], slot(4)) == [True]

    assert await states(store, schedule) == {
        slot(0): State.RUNNING,
        slot(1): State.CANCELLED,
        slot(2): State.CANCELLED,
        slot(3): State.CANCELLED,
        slot(4): State.READY,
    }
    running = await one(store, runs[slot(0)])
    assert running.cancel_requested_at == slot(4)
    cancelled = await one(store, runs[slot(3)])
    assert "later run" in (cancelled.reason or "")
    assert (cancelled.schedule, cancelled.slot) == (schedule.id, slot(3))
    assert cancelled.finished_at == slot(4)
    ended = await store.tallies(0)
    assert sum(number for (_, _, state), number in ended.items() if state is State.CANCELLED) == 3
    assert await store.live([bystander.id], 100) == [4]


async def test_a_run_that_is_asked_to_stop_keeps_the_next_one_at_the_gate(
    store: Store, make: Make
) -> None:
    """R6.6: a schedule never overlaps itself; the next one goes in when the old one is out."""
    schedule = await stored(store, make)
    assert await store.fire([firing(make, schedule, NOW)], NOW) == [True]
    session = await open_worker(store, make)
    (held,) = await take_all(store, session)
    schedule = await read(store, schedule)

    assert await store.fire([firing(make, schedule, slot(1), cancel_previous=True)], slot(1)) == [
        True
    ]
    assert await states(store, schedule) == {NOW: State.RUNNING, slot(1): State.SCHEDULED}

    assert await store.finish(session, [completed(held)], slot(1)) == [True]
    await store.admit([f"schedule:{schedule.id}"], slot(1))
    assert await states(store, schedule) == {NOW: State.COMPLETED, slot(1): State.READY}


async def test_a_cancelled_run_makes_room_for_the_next_one_at_once(
    store: Store, make: Make
) -> None:
    """R6.6: both waited; nobody has to come by for the last one to go in."""
    schedule = await stored(store, make)
    assert await store.fire([firing(make, schedule, slot(0), slot(1))], slot(1)) == [True]
    schedule = await read(store, schedule)

    assert await store.fire([firing(make, schedule, slot(2), cancel_previous=True)], slot(2)) == [
        True
    ]

    found = await states(store, schedule)
    assert found == {
        slot(0): State.CANCELLED,
        slot(1): State.CANCELLED,
        slot(2): State.READY,
    }


async def test_a_firing_that_does_not_apply_cancels_nothing(store: Store, make: Make) -> None:
    """F49."""
    schedule = await stored(store, make)
    assert await store.fire([firing(make, schedule, NOW)], NOW) == [True]

    stale = firing(make, schedule, slot(1), cancel_previous=True)
    assert await store.fire([stale], slot(1)) == [False]

    assert await states(store, schedule) == {NOW: State.READY}
