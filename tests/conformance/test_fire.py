"""A firing makes tasks of slots and moves its schedule on, in one step (R6.4)."""

from typing import Any

from msgspec import structs

from rota.config import COUNTED_SLOTS, HOUR, MINUTE
from rota.model import Lane, PriorityClass, State
from rota.schedule import Skip, Slot, SlotState
from rota.store.base import Store
from tests.conformance.steps import counts, one, open_worker, take, take_all
from tests.support.factories import LATER, NOW, Make, completed
from tests.support.schedules import (
    NO_GATE,
    firing,
    missed,
    read,
    runs_of,
    slot,
    states,
    stored,
)


async def test_a_firing_makes_its_tasks_and_moves_its_schedule_on(store: Store, make: Make) -> None:
    """R6.4, R6.5: in one step; when it last ran is durable."""
    schedule = await stored(store, make)
    wanted = firing(make, schedule, slot(0), slot(1), skips=[missed(slot(-9), slot(-1))])
    wanted = structs.replace(wanted, next_slot=LATER, next_at=LATER + 7, tz_data="2026b")

    assert await store.fire([wanted], NOW + MINUTE) == [True]

    assert await read(store, schedule) == structs.replace(
        schedule,
        cursor=slot(1),
        next_slot=LATER,
        next_at=LATER + 7,
        tz_data="2026b",
        last_slot=slot(1),
        last_fired_at=NOW + MINUTE,
        fired=2,
        skipped=9,
    )
    assert await store.next_firing() == LATER + 7
    assert await store.slots(schedule.id, None, 10) == [
        *(
            Slot(run.slot, SlotState.FIRED, NOW + MINUTE, run.task.id)
            for run in reversed(wanted.runs)
        ),
        Slot(slot(-9), SlotState.MISSED, NOW + MINUTE, last=slot(-1), count=9),
    ]


async def test_a_task_of_a_slot_is_stored_with_all_that_it_has(store: Store, make: Make) -> None:
    """R3.5: with its schedule and its slot, by which its effects are known."""
    schedule = await stored(store, make)
    wish: dict[str, Any] = {
        "queue": "mail",
        "tenant": "board",
        "priority": 2,
        "timeout": MINUTE,
        "retry": '{"type":"fixed"}',
        "expires_at": NOW + HOUR,
        "tags": ("a", "b"),
        "headers": '{"trace":"1"}',
        "payload": '{"text":"½ Ελλάδα \\" \\\\ 🎓"}',
    }
    wanted = firing(make, schedule, NOW, **wish)
    (run,) = wanted.runs

    assert await store.fire([wanted], NOW) == [True]

    task = await one(store, run.task.id)
    assert (task.schedule, task.slot, task.run_at) == (schedule.id, NOW, NOW)
    assert (task.queue, task.tenant, task.priority) == ("mail", "board", 2)
    assert (task.timeout, task.expires_at, task.tags) == (MINUTE, NOW + HOUR, ("a", "b"))
    assert (task.retry, task.headers) == ({"type": "fixed"}, {"trace": "1"})
    assert task.payload == {"text": '½ Ελλάδα " \\ 🎓'}
    session = await open_worker(store, make)
    lane = Lane("mail", PriorityClass.HIGH, "board")
    (held,) = await take(store, session, lane=lane)
    assert (held.id, held.schedule, held.slot) == (task.id, schedule.id, NOW)
    assert held.concurrency_key == f"schedule:{schedule.id}"


async def test_tasks_go_where_their_time_and_their_gate_say(store: Store, make: Make) -> None:
    """R6.6, R6.7: due ones are ready, as far as the gate has room; jitter makes a task wait."""
    schedule = await stored(store, make)
    gated = runs_of(make, schedule, slot(0), slot(1))
    late = runs_of(make, schedule, slot(2), run_at=LATER)
    free = runs_of(make, schedule, slot(3), run_at=NOW, **NO_GATE)
    free_and_late = runs_of(make, schedule, slot(4), run_at=LATER, **NO_GATE)
    wanted = firing(make, schedule, upto=slot(4))
    wanted = structs.replace(wanted, runs=(*gated, *late, *free, *free_and_late))

    assert await store.fire([wanted], slot(1)) == [True]

    found = await states(store, schedule)
    assert found == {
        slot(0): State.READY,
        slot(1): State.SCHEDULED,
        slot(2): State.SCHEDULED,
        slot(3): State.READY,
        slot(4): State.SCHEDULED,
    }
    tasks = await store.get([run.task.id for run in wanted.runs])
    assert [task is not None and task.at_gate for task in tasks] == [
        False,
        True,
        False,
        False,
        False,
    ]
    assert (await store.stage(slot(1), 100)).next_at == LATER


async def test_a_gate_with_room_lets_in_as_many_as_it_says(store: Store, make: Make) -> None:
    """R7.4: at once, in the order of their slots, also where several schedules share it."""
    a, b = await stored(store, make, "a"), await stored(store, make, "b")
    shared: dict[str, Any] = {"concurrency_key": "provider", "max_concurrency": 3, "run_at": NOW}
    wanted = [firing(make, each, slot(0), slot(1), **shared) for each in (a, b)]

    assert await store.fire(wanted, NOW) == [True, True]

    assert await counts(store) == {State.READY: 3, State.SCHEDULED: 1}
    use = await store.gate_use("provider", 10)
    assert (use.inside, use.waiting) == (3, 1)


async def test_who_waits_at_a_gate_already_goes_before_a_new_run(store: Store, make: Make) -> None:
    """R6.6: a run that is due later does not pass one that waits."""
    schedule = await stored(store, make)
    assert await store.fire([firing(make, schedule, slot(0), slot(1))], slot(1)) == [True]
    session = await open_worker(store, make, at=slot(1))
    (held,) = await take_all(store, session, now=slot(1))
    assert await store.finish(session, [completed(held)], slot(1)) == [True]

    schedule = await read(store, schedule)
    assert await store.fire([firing(make, schedule, slot(2))], slot(2)) == [True]

    await store.admit([f"schedule:{schedule.id}"], slot(2))
    found = await states(store, schedule)
    assert [found[slot(n)] for n in range(3)] == [State.COMPLETED, State.READY, State.SCHEDULED]


async def test_each_firing_of_a_batch_stands_for_itself(store: Store, make: Make) -> None:
    """R6.4: some apply, others do not; each is whole or nothing."""
    schedules = [await stored(store, make, f"report-{n}") for n in range(6)]
    wanted = [firing(make, each, NOW, skips=[missed(slot(-1), slot(-1))]) for each in schedules]
    wanted[1] = structs.replace(wanted[1], version=9)
    wanted[3] = structs.replace(wanted[3], cursor=0)
    wanted[4] = structs.replace(wanted[4], schedule_id=make.id())
    paused = structs.replace(schedules[5], paused_at=NOW)
    assert await store.change_schedule(paused, 1, paused.cursor)

    assert await store.fire(wanted, NOW) == [True, False, True, False, False, False]

    after = [await read(store, each) for each in schedules]
    assert [(each.fired, each.skipped) for each in after] == [
        (1, 1),
        (0, 0),
        (1, 1),
        (0, 0),
        (0, 0),
        (0, 0),
    ]
    assert await counts(store) == {State.READY: 2}
    assert [len(await store.slots(each.id, None, 9)) for each in schedules] == [2, 0, 2, 0, 0, 0]


async def test_a_firing_may_make_nothing(store: Store, make: Make) -> None:
    """R6.5: policy skips every slot; when it last ran stays as it was."""
    schedule = await stored(store, make)
    first = firing(make, schedule, NOW)
    assert await store.fire([first], NOW) == [True]
    schedule = await read(store, schedule)
    uncounted = Skip(slot(1), slot(90_000), None, SlotState.MISSED)
    gap = missed(slot(90_001), slot(90_001), SlotState.GAP)
    nothing = firing(make, schedule, upto=slot(90_001), skips=[uncounted, gap])
    over = structs.replace(nothing, next_slot=None, next_at=None)

    assert await store.fire([over], slot(90_002)) == [True]

    after = await read(store, schedule)
    assert (after.cursor, after.next_slot, after.next_at) == (slot(90_001), None, None)
    assert (after.fired, after.last_slot, after.last_fired_at) == (1, NOW, NOW)
    assert after.skipped == COUNTED_SLOTS + 1
    assert await store.next_firing() is None


async def test_a_large_catch_up_is_one_step(store: Store, make: Make) -> None:
    """R6.5: run_all, a thousand slots at once, and a batch of many schedules beside it."""
    behind = await stored(store, make, "behind", cursor=slot(-1001))
    others = [await stored(store, make, f"other-{n}") for n in range(50)]
    wanted = [firing(make, behind, *(slot(n) for n in range(-1000, 0)))]
    wanted += [firing(make, each, NOW) for each in others]

    assert await store.fire(wanted, NOW) == [True] * 51

    assert await counts(store) == {State.READY: 51, State.SCHEDULED: 999}
    assert (await read(store, behind)).fired == 1000
    # The oldest goes first.
    assert (await states(store, behind))[slot(-1000)] is State.READY
