"""What is due moves from scheduled to ready: never early, in batches, once (R2.3)."""

import asyncio

import pytest

from rota.config import MINUTE, SECOND
from rota.model import Staged, State
from rota.store.base import Store
from tests.conformance.steps import counts, one, open_worker, take
from tests.support.factories import LATER, NOW, Make, again, error
from tests.support.places import Place


async def test_nothing_moves_before_its_time(store: Store, make: Make) -> None:
    """R2.3: not by a microsecond."""
    task, next_task = make.task(run_at=LATER), make.task(run_at=LATER + 1)
    await store.submit([next_task, task], NOW)

    assert await store.stage(LATER - 1, 10) == Staged(0, next_at=LATER)
    assert await counts(store) == {State.SCHEDULED: 2}

    assert await store.stage(LATER, 10) == Staged(1, next_at=LATER + 1)
    assert (await one(store, task.id)).state is State.READY
    assert (await one(store, next_task.id)).state is State.SCHEDULED

    assert await store.stage(LATER + 1, 10) == Staged(1, next_at=None)


async def test_an_empty_store_waits_for_nothing(store: Store, make: Make) -> None:
    """R2.4."""
    assert await store.stage(NOW, 10) == Staged(0, next_at=None)


async def test_the_next_step_is_told_the_earliest_time_that_is_left(
    store: Store, make: Make
) -> None:
    """R2.4: a stager sleeps until then."""
    times = [LATER + n * SECOND for n in (5, 3, 9, 3)]
    await store.submit([make.task(run_at=at) for at in times], NOW)

    assert await store.stage(NOW, 10) == Staged(0, next_at=LATER + 3 * SECOND)
    assert await store.stage(LATER + 3 * SECOND, 10) == Staged(2, next_at=LATER + 5 * SECOND)
    assert await store.stage(LATER + 8 * SECOND, 10) == Staged(1, next_at=LATER + 9 * SECOND)


async def test_a_batch_moves_the_earliest_and_no_more_than_its_limit(
    store: Store, make: Make
) -> None:
    """B152: the rest is due already, so the stager is told to come back at once."""
    tasks = [make.task(run_at=LATER + (n * 7) % 10) for n in range(10)]
    await store.submit(tasks, NOW)
    in_order = sorted(tasks, key=lambda task: task.run_at)

    staged = await store.stage(LATER + MINUTE, 4)

    assert staged == Staged(4, next_at=in_order[4].run_at)
    moved = [task.id for task in tasks if (await one(store, task.id)).state is State.READY]
    assert sorted(moved) == sorted(task.id for task in in_order[:4])
    assert await store.stage(LATER + MINUTE, 100) == Staged(6, next_at=None)


async def test_a_task_moves_with_all_that_it_has(store: Store, make: Make) -> None:
    """R1.1, R4.4: fields, counters and errors."""
    session = await open_worker(store, make)
    task = make.keyed("hold-17", tags=("exam",), headers='{"a":"b"}', timeout=5, retry="{}")
    await store.submit([task], NOW)
    (claimed,) = await take(store, session)
    retry = again(claimed, LATER, error(), attempt=2, lost=3, snoozes=4)
    await store.finish(session, [retry], NOW)
    before = await one(store, task.id)

    await store.stage(LATER, 10)

    after = await one(store, task.id)
    assert (before.state, after.state) == (State.SCHEDULED, State.READY)
    fields = set(before.__struct_fields__) - {"state"}
    assert {name: getattr(after, name) for name in fields} == {
        name: getattr(before, name) for name in fields
    }


async def test_a_staged_task_takes_its_place_by_rank(store: Store, make: Make) -> None:
    """R7.2: among tasks that were ready before it."""
    session = await open_worker(store, make)
    at = NOW + 5 * MINUTE  # half a level
    urgent = make.task(run_at=at, priority=4)
    ready = make.task(run_at=NOW)
    patient = make.task(run_at=at, priority=6)
    await store.submit([patient, ready, urgent], NOW)
    await store.stage(at, 10)

    order = [task.id for task in await take(store, session, now=NOW + 1)]

    assert order == [urgent.id, ready.id, patient.id]


async def test_stagers_at_once_move_every_task_once(store: Store, other: Store, make: Make) -> None:
    """R2.3, R8.3: four of them on two nodes, none waits for another."""
    tasks = [make.task(run_at=LATER + n) for n in range(1000)]
    await store.submit(tasks, NOW)

    async def stage_all(at: Store) -> int:
        moved = 0
        while True:
            staged = await at.stage(LATER + MINUTE, 30)
            moved += staged.moved
            if staged.next_at is None:
                return moved

    moved = await asyncio.gather(*(stage_all(at) for at in (store, other, store, other)))

    assert sum(moved) == 1000
    assert await counts(store) == {State.READY: 1000}


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_what_another_stager_is_moving_is_skipped_and_not_waited_for(
    place: Place, store: Store, make: Make
) -> None:
    """R8.3: five rows locked in front; the step moves the five behind them at once."""
    tasks = [make.task(run_at=LATER + n) for n in range(10)]
    await store.submit(tasks, NOW)
    async with place.connection() as rival, rival.transaction():
        await rival.execute("select 1 from scheduled order by run_at limit 5 for update")

        staged = await store.stage(LATER + MINUTE, 5)

    assert staged.moved == 5
    states = [(await one(store, task.id)).state for task in tasks]
    assert states == [State.SCHEDULED] * 5 + [State.READY] * 5
