"""Each slot yields one task, whoever fires, however often, whatever happens meanwhile (R6.4)."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from msgspec import structs

from rota.config import MINUTE
from rota.model import State
from rota.store.base import Store
from tests.conformance.steps import counts, open_worker, take_all
from tests.support.factories import NOW, Make, completed
from tests.support.places import Place
from tests.support.schedules import (
    NO_GATE,
    a_schedule,
    edited,
    firing,
    missed,
    read,
    slot,
    states,
    stored,
)

# -- once ----------------------------------------------------------------------------------------


async def test_a_repeat_of_a_firing_changes_nothing(store: Store, make: Make) -> None:
    """B095, B118: the line broke after the commit; whoever repeats is told that nothing applied."""
    schedule = await stored(store, make)
    wanted = firing(make, schedule, NOW, skips=[missed(slot(-1), slot(-1))])
    assert await store.fire([wanted], NOW) == [True]
    before = await read(store, schedule)

    assert await store.fire([wanted], NOW + 1) == [False]

    assert await read(store, schedule) == before
    assert await counts(store) == {State.READY: 1}
    assert len(await store.slots(schedule.id, None, 10)) == 2


async def test_two_firings_of_one_schedule_in_a_batch_are_one(store: Store, make: Make) -> None:
    """B104: both were decided from the same state."""
    schedule = await stored(store, make)
    first, second = firing(make, schedule, NOW), firing(make, schedule, NOW, slot(1))

    assert await store.fire([first, second], NOW) == [True, False]

    assert await states(store, schedule) == {NOW: State.READY}
    assert (await read(store, schedule)).cursor == NOW


async def test_two_nodes_that_fire_the_same_slots_make_each_task_once(
    store: Store, other: Store, make: Make
) -> None:
    """B104, invariant 6: 2 nodes, 600 slots; each decides by what it reads."""
    schedule = await stored(store, make)
    made: Counter[str] = Counter()

    async def node(name: str, at: Store) -> None:
        for n in range(600):
            while True:
                seen = await read(at, schedule)
                if seen.cursor >= slot(n):
                    break
                wanted = firing(make, seen, slot(n), **NO_GATE)
                made[name] += (await at.fire([wanted], slot(n))) == [True]

    await asyncio.gather(node("one", store), node("two", other))

    assert made.total() == 600
    assert len(await states(store, schedule)) == 600
    assert (await read(store, schedule)).fired == 600


async def test_racing_batches_fire_each_schedule_once(
    store: Store, other: Store, make: Make
) -> None:
    """B104: the same forty schedules, by four callers at once, in different orders."""
    schedules = [await stored(store, make, f"report-{n}") for n in range(40)]
    for n in range(10):
        now = slot(n)
        due = [one.schedule for one in await store.due_schedules(now, 100)]
        assert len(due) == 40
        batches = [[firing(make, each, now, **NO_GATE) for each in due] for _ in range(4)]
        batches[1].reverse()
        batches[3].reverse()

        answers = await asyncio.gather(
            *((store, other)[k % 2].fire(batch, now) for k, batch in enumerate(batches))
        )

        applied = Counter(
            wanted.schedule_id
            for batch, answer in zip(batches, answers, strict=True)
            for wanted, yes in zip(batch, answer, strict=True)
            if yes
        )
        # What several were after at the same moment may be left for the next look.
        assert set(applied.values()) <= {1}
        rest = [one.schedule for one in await store.due_schedules(now, 100)]
        assert len(rest) == 40 - len(applied)
        await store.fire([firing(make, each, now, **NO_GATE) for each in rest], now)
    after = [await read(store, each) for each in schedules]
    assert {each.fired for each in after} == {10}
    assert await counts(store) == {State.READY: 400}


async def test_racing_firings_never_fill_a_gate_beyond_its_room(
    store: Store, other: Store, make: Make
) -> None:
    """F48, R7.4: four schedules share a provider with room for two, and both nodes fire."""
    schedules = [await stored(store, make, f"report-{n}") for n in range(4)]
    for n in range(15):
        shared: dict[str, Any] = {"concurrency_key": f"provider-{n}", "max_concurrency": 2}
        wanted = [firing(make, await read(store, each), slot(n), **shared) for each in schedules]

        await asyncio.gather(
            *((store, other)[k % 2].fire([one], slot(n)) for k, one in enumerate(wanted)),
            other.admit([f"provider-{n}"], slot(n)),
        )

        use = await store.gate_use(f"provider-{n}", 10)
        assert (use.inside, use.waiting) == (2, 2)


async def test_a_slot_stays_taken_after_its_run_is_over_and_gone(
    place: Place, store: Store, make: Make
) -> None:
    """B098: the run took a millisecond, and no row of it was kept."""
    schedule = await stored(store, make)
    assert await store.fire([firing(make, schedule, NOW)], NOW) == [True]
    session = await open_worker(store, make)
    (held,) = await take_all(store, session)
    assert await store.finish(session, [completed(held, keep=False)], NOW) == [True]
    back = edited(await read(store, schedule), cursor=slot(-1))
    assert await store.change_schedule(back, 1, NOW)

    assert await store.fire([firing(make, back, NOW, slot(1))], slot(1)) == [True]

    assert await states(store, schedule) == {slot(1): State.READY}
    after = await read(store, schedule)
    assert (after.fired, after.last_slot) == (2, slot(1))


async def test_a_task_that_was_not_made_is_not_counted(store: Store, make: Make) -> None:
    """R6.4: every slot of the firing had its task; the schedule goes on all the same."""
    schedule = await stored(store, make)
    assert await store.fire([firing(make, schedule, NOW)], NOW) == [True]
    back = edited(await read(store, schedule), cursor=slot(-1))
    assert await store.change_schedule(back, 1, NOW)

    assert await store.fire([firing(make, back, NOW)], NOW + 9) == [True]

    after = await read(store, schedule)
    assert (after.fired, after.last_fired_at, after.cursor) == (1, NOW, NOW)


async def test_restarts_within_one_interval_leave_one_pending_task(
    store: Store, make: Make, place: Place
) -> None:
    """B103: five restarts, each looks for what is due and creates what was declared."""
    schedule = await stored(store, make)
    for n in range(5):
        node = place.store()
        await node.open()
        assert await node.create_schedule(schedule)
        due = await node.due_schedules(NOW + n, 10)
        fired = await node.fire([firing(make, one.schedule, NOW) for one in due], NOW + n)
        await node.close()
        assert fired == ([True] if n == 0 else [])

    assert await states(store, schedule) == {NOW: State.READY}


async def test_however_often_it_is_asked_one_occurrence_makes_one_task(
    store: Store, make: Make
) -> None:
    """B101: a node that takes "is due" for true again and again, whatever it reads."""
    schedule = await stored(store, make)

    answers = [await store.fire([firing(make, schedule, NOW)], NOW + n) for n in range(50)]

    assert answers == [[True], *[[False]] * 49]
    assert await counts(store) == {State.READY: 1}


# -- edits in between ----------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["edit", "pause", "remove", "move on", "remove and create anew"])
async def test_what_happens_between_the_look_and_the_firing_wins(
    store: Store, other: Store, make: Make, what: str
) -> None:
    """F49: the firing was decided from what is not so any more; it makes nothing."""
    schedule = await stored(store, make)
    (due,) = await store.due_schedules(NOW, 10)
    wanted = firing(make, due.schedule, NOW, skips=[missed(slot(-1), slot(-1))])

    if what == "edit":
        assert await other.change_schedule(edited(schedule), 1, schedule.cursor)
    elif what == "pause":
        pause = structs.replace(schedule, paused_at=NOW)
        assert await other.change_schedule(pause, 1, schedule.cursor)
    elif what == "move on":
        moved = structs.replace(schedule, cursor=NOW, next_slot=slot(1), next_at=slot(1))
        assert await other.change_schedule(moved, 1, schedule.cursor)
    else:
        assert await other.remove_schedule(schedule.id)
        if what == "remove and create anew":
            assert await other.create_schedule(a_schedule(make))

    assert await store.fire([wanted], NOW) == [False]
    assert await counts(store) == {}
    assert await store.slots(schedule.id, None, 10) == []


async def test_firings_and_edits_at_once_lose_nothing(
    store: Store, other: Store, make: Make
) -> None:
    """F49: each edit and each firing applies to the state that it has seen, or not at all."""
    schedule = await stored(store, make)
    edits = 0

    async def edit() -> None:
        nonlocal edits
        while (seen := await read(other, schedule)).cursor < slot(100):
            wanted = edited(seen, pause_reason=f"edit {seen.version}")
            edits += await other.change_schedule(wanted, seen.version, seen.cursor)

    async def fire() -> None:
        while (seen := await read(store, schedule)).cursor < slot(100):
            at = seen.cursor + MINUTE
            await store.fire([firing(make, seen, at, **NO_GATE)], at)

    await asyncio.gather(edit(), fire())

    after = await read(store, schedule)
    assert after.version == 1 + edits
    assert after.fired == 101
    assert sorted(found for found in await states(store, schedule) if found is not None) == [
        slot(n) for n in range(101)
    ]
