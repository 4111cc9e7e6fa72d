"""What callers ask: cancel, retry, and what became of my tasks."""

from collections.abc import Callable

import msgspec
import pytest

from rota.config import LEVEL, MINUTE
from rota.model import CancelOutcome, Claimed, RetryOutcome, State
from rota.store.base import Store
from tests.conformance.steps import bring, counts, one, open_worker, take, take_all
from tests.support.factories import LATER, NOW, Make, again, completed, error, failed

THEN = NOW + 7
READY_LAST = sorted(State, key=lambda state: state is State.READY)
"""Every state; a ready task would be taken in place of one that is made to run after it."""


@pytest.mark.parametrize("state", [State.SCHEDULED, State.READY])
async def test_a_task_that_does_not_run_is_cancelled_at_once(
    store: Store, make: Make, state: State
) -> None:
    """R5.1, B137: with or without a worker, and it stays cancelled."""
    task = await bring(store, make, state)
    before = await one(store, task.id)

    assert await store.cancel([task.id], THEN) == [CancelOutcome.COMPLETED]

    assert await one(store, task.id) == msgspec.structs.replace(
        before, state=State.CANCELLED, finished_at=THEN, reason="cancelled by request"
    )
    await store.stage(LATER, 10)
    session = await open_worker(store, make, at=LATER)
    assert await take_all(store, session, now=LATER) == []


async def test_a_running_task_runs_on_when_it_is_asked_to_stop(store: Store, make: Make) -> None:
    """R5.1, B137: the caller is told that it is only asked, and the worker's report counts."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(1), NOW)
    (task,) = await take(store, session)
    before = await one(store, task.id)

    assert await store.cancel([task.id], THEN) == [CancelOutcome.ACCEPTED]

    asked = msgspec.structs.replace(before, cancel_requested_at=THEN)
    assert await one(store, task.id) == asked
    assert await store.finish(session, [completed(task)], THEN) == [True]
    assert (await one(store, task.id)).state is State.COMPLETED


@pytest.mark.parametrize("state", [State.COMPLETED, State.CANCELLED, State.FAILED])
async def test_a_task_that_is_over_cannot_be_cancelled(
    store: Store, make: Make, state: State
) -> None:
    """R5.1, B125: final states are final."""
    task = await bring(store, make, state)
    before = await one(store, task.id)

    assert await store.cancel([task.id], LATER) == [CancelOutcome.TOO_LATE]

    assert await one(store, task.id) == before


async def test_a_cancelled_task_keeps_its_errors_and_counters(store: Store, make: Make) -> None:
    """R4.4: a task that waits for its third attempt and is called off."""
    _, claimed = await retried(store, make)
    before = await one(store, claimed.id)

    await store.cancel([claimed.id], THEN)

    read = await one(store, claimed.id)
    same = ("errors", "attempt", "fence", "lost", "snoozes", "payload", "run_at", "created_at")
    assert [getattr(read, name) for name in same] == [getattr(before, name) for name in same]


async def test_many_are_cancelled_in_one_call_and_answered_in_order(
    store: Store, make: Make
) -> None:
    """R5.3, B137: an id that nobody knows is said to be unknown."""
    ids = {state: (await bring(store, make, state)).id for state in READY_LAST}
    order = [State.FAILED, State.READY, State.COMPLETED, State.SCHEDULED, State.CANCELLED]
    asked = [make.id(), *(ids[state] for state in order), make.id()]

    outcomes = await store.cancel(asked, THEN)

    assert outcomes == [
        CancelOutcome.NOT_FOUND,
        CancelOutcome.TOO_LATE,
        CancelOutcome.COMPLETED,
        CancelOutcome.TOO_LATE,
        CancelOutcome.COMPLETED,
        CancelOutcome.TOO_LATE,
        CancelOutcome.NOT_FOUND,
    ]
    assert await store.cancel([], NOW) == []
    assert (await one(store, ids[State.RUNNING])).state is State.RUNNING


async def retried(store: Store, make: Make, **fields: int) -> tuple[str, Claimed]:
    """A session and a task that failed under it and waits for its next attempt at `LATER`."""
    session = await open_worker(store, make)
    await store.submit([make.task(**fields)], NOW)
    (claimed,) = await take(store, session)
    report = again(claimed, LATER, error(), attempt=1, lost=2, snoozes=3)
    await store.finish(session, [report], NOW)
    return session, claimed


async def test_a_dead_letter_is_retried_and_starts_counting_anew(store: Store, make: Make) -> None:
    """R4.4: its errors and its fence are kept."""
    task = await bring(store, make, State.FAILED, make.task(priority=4))
    before = await one(store, task.id)

    assert await store.retry([task.id], LATER) == [RetryOutcome.COMPLETED]

    assert await one(store, task.id) == msgspec.structs.replace(
        before,
        state=State.READY,
        run_at=LATER,
        attempt=0,
        lost=0,
        snoozes=0,
        session=None,
        started_at=None,
        finished_at=None,
        reason=None,
        group=None,
    )
    session = await open_worker(store, make, at=LATER)
    (claimed,) = await take(store, session, now=LATER)
    assert (claimed.fence, claimed.attempt, claimed.run_at) == (2, 1, LATER)
    await store.finish(session, [completed(claimed)], LATER)
    assert len((await one(store, task.id)).errors) == 1


async def test_a_waiting_task_is_run_now_and_goes_on_counting(store: Store, make: Make) -> None:
    """R4.4: retry of a scheduled task skips the wait, nothing else."""
    _, claimed = await retried(store, make)
    before = await one(store, claimed.id)

    assert await store.retry([claimed.id], THEN) == [RetryOutcome.COMPLETED]

    assert await one(store, claimed.id) == msgspec.structs.replace(
        before, state=State.READY, run_at=THEN
    )


async def test_a_replayed_task_queues_up_from_now_with_its_priority(
    store: Store, make: Make
) -> None:
    """R7.2: rank is now + ten minutes a level, for failed and for scheduled tasks."""
    failed_, waiting = [
        await bring(store, make, state, make.task(priority=6, run_at=run_at))
        for state, run_at in ((State.FAILED, NOW), (State.SCHEDULED, LATER))
    ]
    at = NOW + MINUTE
    await store.retry([failed_.id], at)
    await store.retry([waiting.id], at + 2)
    rivals = [make.task(priority=4, run_at=at + 2 * LEVEL + n) for n in (-1, 1, 3)]
    await store.submit(rivals, at + 3 * LEVEL)
    session = await open_worker(store, make, at=at + 3 * LEVEL)

    order = [task.id for task in await take(store, session, now=at + 3 * LEVEL)]

    assert order == [rivals[0].id, failed_.id, rivals[1].id, waiting.id, rivals[2].id]


@pytest.mark.parametrize("state", [State.READY, State.RUNNING, State.COMPLETED, State.CANCELLED])
async def test_other_tasks_are_not_retried(store: Store, make: Make, state: State) -> None:
    """B125: what is over stays over, and what will run or runs needs no help."""
    task = await bring(store, make, state)
    before = await one(store, task.id)

    assert await store.retry([task.id], THEN) == [RetryOutcome.NOT_RETRYABLE]

    assert await one(store, task.id) == before


async def test_many_are_retried_in_one_call_and_answered_in_order(store: Store, make: Make) -> None:
    """R4.4, F58: a second replay finds nothing to do."""
    ids = {state: (await bring(store, make, state)).id for state in READY_LAST}
    asked = [ids[State.COMPLETED], make.id(), ids[State.SCHEDULED], ids[State.FAILED]]

    outcomes = await store.retry(asked, THEN)
    again_outcomes = await store.retry(asked, THEN)

    done, refused = RetryOutcome.COMPLETED, RetryOutcome.NOT_RETRYABLE
    assert outcomes == [refused, RetryOutcome.NOT_FOUND, done, done]
    assert again_outcomes == [refused, RetryOutcome.NOT_FOUND, refused, refused]
    assert await store.retry([], NOW) == []
    assert (await counts(store))[State.READY] == 3


async def test_a_dead_letter_can_fail_and_be_replayed_again_and_again(
    store: Store, make: Make
) -> None:
    """R4.4: errors add up over the replays."""
    session = await open_worker(store, make)
    task = make.task()
    await store.submit([task], NOW)
    for n in range(3):
        (claimed,) = await take(store, session)
        assert claimed.fence == n + 1
        await store.finish(session, [failed(claimed, error(message=str(n)))], NOW)
        assert await store.retry([task.id], NOW) == [RetryOutcome.COMPLETED]

    messages = [found.message for found in (await one(store, task.id)).errors]
    assert messages == ["0", "1", "2"]


async def test_tasks_are_read_in_the_order_asked_for(store: Store, make: Make) -> None:
    """R9.1: wherever they lie; what is unknown is None, what is asked twice is answered twice."""
    ids = [(await bring(store, make, state)).id for state in READY_LAST]
    asked = [ids[5], make.id(), *ids[:5], ids[5]]

    found = await store.get(asked)

    assert [task and task.id for task in found] == [ids[5], None, *ids[:5], ids[5]]
    states = READY_LAST
    assert [task.state for task in found if task] == [states[5], *states[:5], states[5]]
    assert await store.get([]) == []


async def test_an_id_that_is_none_is_no_fault(store: Store, make: Make) -> None:
    """B137: nobody has such a task."""
    ids = ["", "nonsense", "0193f2a1", make.id()[:-1], "%"]

    assert await store.get(ids) == [None] * 5
    assert await store.cancel(ids, NOW) == [CancelOutcome.NOT_FOUND] * 5
    assert await store.retry(ids, NOW) == [RetryOutcome.NOT_FOUND] * 5


@pytest.mark.parametrize("spelling", [str.upper, lambda text: text.replace("-", "")])
async def test_an_id_that_is_spelt_another_way_is_answered_truly(
    store: Store, make: Make, spelling: Callable[[str], str]
) -> None:
    """B137: it is known or it is not; what happens is what is said."""
    task, dead = [await bring(store, make, state) for state in (State.SCHEDULED, State.FAILED)]
    expected = {CancelOutcome.COMPLETED: State.CANCELLED, CancelOutcome.NOT_FOUND: State.SCHEDULED}

    (outcome,) = await store.cancel([spelling(task.id)], NOW)
    (replayed,) = await store.retry([spelling(dead.id)], NOW)

    assert (await one(store, task.id)).state is expected[outcome]
    done = replayed is RetryOutcome.COMPLETED
    assert (await one(store, dead.id)).state is (State.READY if done else State.FAILED)
