"""What has not started by its `expires_at` is cancelled, in small steps (R1.1, R5)."""

import msgspec
import pytest

from rota.config import MINUTE, SECOND
from rota.model import RetryOutcome, State
from rota.store.base import Store
from tests.conformance.steps import bring, counts, one, open_worker, take, take_all
from tests.support.factories import (
    LATER,
    NOW,
    Make,
    again,
    completed,
    error,
    handed_back,
)

END = NOW + MINUTE


@pytest.mark.parametrize("state", [State.READY, State.SCHEDULED])
async def test_a_waiting_task_expires_at_its_instant(
    store: Store, make: Make, state: State
) -> None:
    """R1.1: the history says why."""
    run_at = NOW if state is State.READY else LATER
    task = await bring(store, make, state, make.task(run_at=run_at, expires_at=END))
    before = await one(store, task.id)

    assert await store.expire(END - 1, 10) == 0
    assert await store.expire(END, 10) == 1

    assert await one(store, task.id) == msgspec.structs.replace(
        before, state=State.CANCELLED, finished_at=END, reason="expired"
    )
    assert await store.expire(END, 10) == 0
    assert await counts(store) == {State.CANCELLED: 1}


@pytest.mark.parametrize("state", list(State))
async def test_a_task_without_an_expiry_stays(store: Store, make: Make, state: State) -> None:
    """R1.1."""
    await bring(store, make, state)

    assert await store.expire(LATER + LATER, 10) == 0

    assert await counts(store) == {state: 1}


async def test_a_task_that_runs_does_not_expire(store: Store, make: Make) -> None:
    """R1.1: it has started in time; when it comes back it is too late for another run."""
    session = await open_worker(store, make)
    await store.submit([make.task(expires_at=END), make.task(expires_at=END)], NOW)
    first, second = await take(store, session, 2)

    assert await store.expire(END, 10) == 0

    assert await store.finish(session, [completed(first), handed_back(second)], END) == [True] * 2
    assert await store.expire(END, 10) == 1
    assert (await one(store, second.id)).reason == "expired"
    assert await counts(store) == {State.COMPLETED: 1, State.CANCELLED: 1}


async def test_a_task_that_waits_for_its_next_attempt_expires(store: Store, make: Make) -> None:
    """R1.1: a password that is sent too late is of no use, whichever attempt it is."""
    session = await open_worker(store, make)
    await store.submit([make.task(expires_at=END)], NOW)
    (task,) = await take(store, session)
    await store.finish(session, [again(task, LATER, error())], NOW)

    assert await store.expire(END, 10) == 1

    read = await one(store, task.id)
    assert (read.state, read.attempt, len(read.errors)) == (State.CANCELLED, 1, 1)


async def test_what_expires_goes_in_steps(store: Store, make: Make) -> None:
    """F56: at most `limit` a call, of those that wait in a lane and those that are due later."""
    await store.submit(make.tasks(25, expires_at=END), NOW)
    await store.submit(make.tasks(30, expires_at=END + 1, run_at=LATER), NOW)
    await store.submit(make.tasks(3), NOW)

    steps = []
    while expired := await store.expire(END + SECOND, 10):
        steps.append(expired)

    assert sum(steps) == 55
    assert max(steps) <= 10
    assert await counts(store) == {State.READY: 3, State.CANCELLED: 55}


async def test_an_expired_task_is_not_handed_out(store: Store, make: Make) -> None:
    """R1.1."""
    session = await open_worker(store, make)
    await store.submit([make.task(expires_at=END), make.task()], NOW)
    await store.expire(END, 10)

    (claimed,) = await take_all(store, session)

    assert claimed.expires_at is None


async def test_a_dead_letter_that_is_retried_leaves_an_old_expiry_behind(
    store: Store, make: Make
) -> None:
    """R4.4: whoever wants it to run now knows that it is late; one to come still counts."""
    late = await bring(store, make, State.FAILED, make.task(expires_at=END))
    early = await bring(store, make, State.FAILED, make.task(expires_at=LATER + 1))

    assert await store.retry([late.id, early.id], LATER) == [RetryOutcome.COMPLETED] * 2

    assert (await one(store, late.id)).expires_at is None
    assert (await one(store, early.id)).expires_at == LATER + 1
    assert await store.expire(LATER, 10) == 0
    assert await store.expire(LATER + 1, 10) == 1
