"""A gate lets in as many tasks as it has room for, in their order, whoever asks (R7.4)."""

from collections.abc import Callable

import pytest

from rota.config import LEASE, MINUTE
from rota.model import (
    Accepted,
    CancelOutcome,
    Claimed,
    RetryOutcome,
    Staged,
    State,
    Transition,
)
from rota.schedule import GateUse
from rota.store.base import Store
from tests.conformance.gates import GATE, at_gate, enter, inside, waiting
from tests.conformance.steps import counts, one, open_worker, reap, take, take_all
from tests.support.factories import (
    LATER,
    NOW,
    Make,
    again,
    cancelled,
    completed,
    failed,
    handed_back,
    lost,
)

# -- going in ------------------------------------------------------------------------------------


async def test_a_task_with_a_gate_waits_until_it_is_let_in(store: Store, make: Make) -> None:
    """R7.4: due or not it is scheduled first, and staging lets in what there is room for."""
    tasks = waiting(make, 5, room=2)

    await store.submit(tasks, NOW)
    assert await counts(store) == {State.SCHEDULED: 5}
    assert await at_gate(store, tasks) == [False] * 5

    assert await store.stage(NOW, 1000) == Staged(2, None)
    assert await counts(store) == {State.READY: 2, State.SCHEDULED: 3}
    assert await at_gate(store, tasks) == [False, False, True, True, True]
    assert await store.gate_use(GATE, 1000) == GateUse(2, 3)


async def test_what_waits_at_a_gate_is_not_due_again(store: Store, make: Make) -> None:
    """F13: the next step sleeps until the next instant, however many wait at gates."""
    await enter(store, make, 3)
    later = make.task(run_at=LATER)
    await store.submit([later], NOW)

    assert await store.stage(NOW, 1000) == Staged(0, LATER)
    assert await store.stage(LATER, 1000) == Staged(1, None)


async def test_a_task_with_a_gate_goes_in_no_earlier_than_it_is_due(
    store: Store, make: Make
) -> None:
    """R2.3."""
    task = make.task(concurrency_key=GATE, max_concurrency=1, run_at=LATER)
    await store.submit([task], NOW)

    assert await store.admit([GATE], NOW) == 0
    assert await store.stage(LATER - 1, 10) == Staged(0, LATER)
    assert await store.stage(LATER, 10) == Staged(1, None)


async def test_gates_do_not_mind_each_other_nor_tasks_without_one(store: Store, make: Make) -> None:
    """R7.4: room is a gate's own."""
    others = waiting(make, 3, gate="lms:school-14")
    await store.submit([*waiting(make, 3), *others, *make.tasks(2)], NOW)

    assert (await store.stage(NOW, 1000)).moved == 2
    assert await inside(store) == await inside(store, "lms:school-14") == 1
    assert await counts(store) == {State.READY: 4, State.SCHEDULED: 4}


ENDS: list[Callable[[Claimed], Transition]] = [
    completed,
    lambda task: completed(task, keep=False),
    cancelled,
    failed,
    again,
]


@pytest.mark.parametrize(
    "end", ENDS, ids=["completed", "left no row", "cancelled", "failed", "retried"]
)
async def test_whoever_leaves_makes_room_for_the_next_in_line(
    store: Store, make: Make, end: Callable[[Claimed], Transition]
) -> None:
    """B127: by every way out, and in the order of rank."""
    tasks = await enter(store, make, 4)
    session = await open_worker(store, make)

    for task in tasks:
        (claimed,) = await take(store, session)
        assert claimed.id == task.id
        assert (claimed.concurrency_key, await store.admit([GATE], NOW)) == (GATE, 0)
        await store.finish(session, [end(claimed)], NOW)
        assert await store.admit([GATE], NOW) == (task is not tasks[-1])


async def test_a_more_urgent_task_goes_in_first(store: Store, make: Make) -> None:
    """R7.2: rank decides at a gate as it does in a lane."""
    tasks = await enter(store, make, 2)
    urgent = make.task(concurrency_key=GATE, max_concurrency=1, priority=4)
    await store.submit([urgent], NOW)
    await store.stage(NOW, 10)
    session = await open_worker(store, make)
    (claimed,) = await take(store, session)
    await store.finish(session, [completed(claimed)], NOW)

    await store.admit([GATE], NOW)

    assert await at_gate(store, [*tasks, urgent]) == [False, True, False]


async def test_nobody_passes_one_that_may_not_go_in(store: Store, make: Make) -> None:
    """R7.4: a task that needs an empty room is not overtaken for ever by those that need less."""
    rooms = [3, 1, 3, 3]
    tasks = [
        make.task(concurrency_key=GATE, max_concurrency=room, run_at=NOW - 10 + n)
        for n, room in enumerate(rooms)
    ]
    await store.submit(tasks, NOW)
    await store.stage(NOW, 10)
    assert await at_gate(store, tasks) == [False, True, True, True]

    session = await open_worker(store, make)
    (first,) = await take_all(store, session)
    await store.finish(session, [completed(first)], NOW)

    assert await store.admit([GATE], NOW) == 3
    assert await at_gate(store, tasks) == [False] * 4


async def test_more_room_for_a_later_task_lets_it_in_behind_the_first(
    store: Store, make: Make
) -> None:
    """R7.4: each task goes by its own `max_concurrency`."""
    rooms = [1, 2, 3, 3, 5]
    tasks = [
        make.task(concurrency_key=GATE, max_concurrency=room, run_at=NOW - 10 + n)
        for n, room in enumerate(rooms)
    ]
    await store.submit(tasks, NOW)

    assert (await store.stage(NOW, 10)).moved == 3
    assert await at_gate(store, tasks) == [False, False, False, True, True]


async def test_a_repeat_of_a_submit_changes_nothing(store: Store, make: Make) -> None:
    """R1.2: before the gate, inside and over."""
    tasks = await enter(store, make, 3)
    session = await open_worker(store, make)
    (claimed,) = await take(store, session)
    await store.finish(session, [completed(claimed)], NOW)
    await store.admit([GATE], NOW)
    before = await counts(store)

    assert await store.submit(tasks, NOW) == [Accepted(task.id) for task in tasks]
    assert await store.stage(NOW, 10) == Staged(0, None)
    assert await counts(store) == before


# -- leaving and coming back ---------------------------------------------------------------------


async def test_a_retry_makes_room_and_comes_back_through_the_gate(store: Store, make: Make) -> None:
    """B097: the second run is let in while the first waits to be tried again."""
    first, second = await enter(store, make, 2)
    session = await open_worker(store, make)
    (claimed,) = await take(store, session)
    await store.finish(session, [again(claimed, NOW + MINUTE)], NOW)

    assert await store.admit([GATE], NOW) == 1
    assert (await one(store, second.id)).state is State.READY
    assert await store.stage(NOW + MINUTE, 10) == Staged(0, None)
    assert (await one(store, first.id)).at_gate

    (other,) = await take(store, session)
    await store.finish(session, [completed(other)], NOW)
    assert await store.admit([GATE], NOW) == 1
    assert (await one(store, first.id)).state is State.READY


@pytest.mark.parametrize("back", [lost, handed_back])
async def test_a_task_that_lost_its_worker_keeps_its_place(
    store: Store, make: Make, back: Callable[[Claimed], Transition]
) -> None:
    """B127: it is still inside, so nobody is let in beside it; nor is a place freed twice."""
    first, second = await enter(store, make, 2)
    session = await open_worker(store, make)
    (claimed,) = await take(store, session)

    assert await store.finish(session, [back(claimed)], NOW) == [True]
    assert await store.admit([GATE], NOW) == 0
    assert await store.finish(session, [completed(claimed)], NOW) == [False]
    assert await store.admit([GATE], NOW) == 0
    assert [await inside(store), (await one(store, second.id)).at_gate] == [1, True]

    (again_,) = await take(store, session)
    assert again_.id == first.id
    await store.finish(session, [completed(again_)], NOW)
    assert await store.admit([GATE], NOW) == 1


async def test_the_gate_of_a_killed_worker_is_free_after_its_task_has_run_elsewhere(
    store: Store, other: Store, make: Make
) -> None:
    """B128: nothing is left behind that would have to be put right."""
    first, second = await enter(store, make, 2)
    await take(store, await open_worker(store, make))

    assert await reap(other, NOW + LEASE + 1) == [first.id]
    late = NOW + LEASE + 2
    survivor = await open_worker(other, make, late)
    (claimed,) = await take(other, survivor, now=late)
    await other.finish(survivor, [completed(claimed)], late)

    assert await other.admit([GATE], late) == 1
    assert (await one(store, second.id)).state is State.READY


async def test_whatever_ends_a_task_inside_frees_its_place(store: Store, make: Make) -> None:
    """B128: cancelled, expired and revoked tasks leave no trace at the gate."""
    tasks = waiting(make, 4)
    tasks[1] = make.task(
        concurrency_key=GATE, max_concurrency=1, run_at=NOW - 3, expires_at=NOW + 1
    )
    await store.submit(tasks, NOW)
    await store.stage(NOW, 10)

    assert await store.cancel([tasks[0].id], NOW) == [CancelOutcome.COMPLETED]
    assert await store.admit([GATE], NOW) == 1
    assert await store.expire(NOW + 1, 10) == 1
    assert await store.admit([GATE], NOW) == 1
    session = await open_worker(store, make)
    (claimed,) = await take(store, session)
    assert await store.cancel([claimed.id], NOW, NOW + 5) == [CancelOutcome.ACCEPTED]
    assert await store.revoke_overdue(NOW + 5, 10) == [claimed.id]
    assert await store.admit([GATE], NOW) == 1
    assert await counts(store) == {State.CANCELLED: 3, State.READY: 1}


async def test_what_waits_at_a_gate_can_be_cancelled_and_expires(store: Store, make: Make) -> None:
    """R5.1: it has not started."""
    tasks = waiting(make, 3)
    tasks[2] = make.task(concurrency_key=GATE, max_concurrency=1, expires_at=NOW + 1)
    await store.submit(tasks, NOW)
    await store.stage(NOW, 10)

    assert await store.cancel([tasks[1].id], NOW) == [CancelOutcome.COMPLETED]
    assert await store.expire(NOW + 1, 10) == 1
    assert await store.gate_use(GATE, 10) == GateUse(1, 0)
    assert await store.waiting_gates("", 10) == []


async def test_what_was_asked_to_stop_does_not_go_in(store: Store, make: Make) -> None:
    """R5.1: it waits for the sweep, and holds up nobody behind it."""
    (first,) = await enter(store, make, 1)
    session = await open_worker(store, make)
    (claimed,) = await take(store, session)
    await store.cancel([first.id], NOW, NOW + MINUTE)
    await store.finish(session, [again(claimed, NOW)], NOW)
    (second,) = waiting(make, 1)
    await store.submit([second], NOW)

    assert (await store.stage(NOW, 10)).moved == 1
    assert (await one(store, second.id)).state is State.READY
    assert await store.expire(NOW, 10) == 1
    assert (await one(store, first.id)).state is State.CANCELLED


async def test_by_hand_a_task_is_made_due_but_goes_through_its_gate(
    store: Store, make: Make
) -> None:
    """R4.4: a scheduled one, and a dead letter; nobody jumps the line."""
    first, second = await enter(store, make, 2)
    future = make.task(concurrency_key=GATE, max_concurrency=1, run_at=LATER)
    await store.submit([future], NOW)
    session = await open_worker(store, make)
    (claimed,) = await take(store, session)
    await store.finish(session, [failed(claimed)], NOW)
    await store.admit([GATE], NOW)

    ids = [first.id, future.id]
    assert await store.retry(ids, NOW + 1) == [RetryOutcome.COMPLETED] * 2
    assert await store.stage(NOW + 1, 10) == Staged(0, None)
    assert await at_gate(store, [first, second, future]) == [True, False, True]
    found = await one(store, future.id)
    assert (found.run_at, found.attempt) == (NOW + 1, 0)


async def test_a_retry_by_hand_costs_no_place_in_the_line(store: Store, make: Make) -> None:
    """R4.4: of the two that wait the first is still the first."""
    tasks = await enter(store, make, 3)

    assert await store.retry([tasks[1].id], NOW + MINUTE) == [RetryOutcome.COMPLETED]
    await store.cancel([tasks[0].id], NOW)
    await store.admit([GATE], NOW)

    assert await at_gate(store, tasks) == [False, False, True]
    assert (await one(store, tasks[1].id)).run_at == tasks[1].run_at


async def test_a_replay_goes_through_the_gate(store: Store, make: Make) -> None:
    """R4.4: the copy has the gate of the original, and what schedule and slot it is of."""
    schedule = make.id()
    task = make.task(concurrency_key=GATE, max_concurrency=1, schedule=schedule, slot=NOW)
    await store.submit([task], NOW)
    await store.stage(NOW, 10)
    session = await open_worker(store, make)
    (claimed,) = await take(store, session)
    assert (claimed.schedule, claimed.slot) == (schedule, NOW)
    await store.finish(session, [failed(claimed)], NOW)
    copy = make.id()

    assert await store.replay([task.id], [copy], NOW) == [Accepted(copy)]
    assert (await one(store, copy)).state is State.SCHEDULED
    assert (await store.stage(NOW, 10)).moved == 1
    found = await one(store, copy)
    assert (found.state, found.concurrency_key, found.max_concurrency) == (State.READY, GATE, 1)
    assert (found.schedule, found.slot, found.replay_of) == (schedule, NOW, task.id)
