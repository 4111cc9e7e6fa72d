"""What tests do again and again to bring a store to where they want it."""

import asyncio
from collections.abc import Sequence

from rota.config import LEASE
from rota.model import Beat, Claimed, Lane, Micros, NewTask, Share, State, Task, TaskFilter
from rota.store.base import Store
from tests.support.factories import (
    LANE,
    LATER,
    NOW,
    Make,
    cancelled,
    completed,
    error,
    failed,
    lane_of,
    lost,
)

EVERY_TASK = TaskFilter()


async def open_worker(store: Store, make: Make, at: Micros = NOW) -> str:
    """Open a session whose lease begins at `at` and return its id."""
    session = make.session(started_at=at, lease_until=at + LEASE)
    await store.open_session(session)
    return session.id


async def beat(store: Store, session_id: str, now: Micros) -> bool:
    """Renew a lease and say whether the session lives."""
    return (await heard(store, session_id, now)).alive


async def heard(store: Store, session_id: str, now: Micros) -> Beat:
    """Renew a lease as a worker does, from a thread that knows no event loop; return the answer."""
    pulse = store.pulse()

    def renew() -> Beat:
        try:
            return pulse.beat(session_id, now, now + LEASE)
        finally:
            pulse.close()

    return await asyncio.to_thread(renew)


async def take(
    store: Store,
    session_id: str,
    count: int = 10,
    *,
    lane: Lane = LANE,
    avoid: Sequence[str] = (),
    now: Micros = NOW,
) -> list[Claimed]:
    """Take from one lane."""
    return await take_shares(store, session_id, [Share(lane, count)], avoid, now)


async def take_shares(
    store: Store,
    session_id: str,
    shares: Sequence[Share],
    avoid: Sequence[str] = (),
    now: Micros = NOW,
) -> list[Claimed]:
    """Take shares that were planned by the settings of this moment."""
    version = (await store.lanes([], 1)).version
    return (await store.take(session_id, shares, avoid, now, version)).tasks


async def take_all(store: Store, session_id: str, now: Micros = NOW) -> list[Claimed]:
    """Take whatever the default lane has, in one claim."""
    return await take(store, session_id, 1_000_000, now=now)


async def one(store: Store, task_id: str) -> Task:
    """Read a task that must be there."""
    (task,) = await store.get([task_id])
    assert task is not None, f"{task_id} is lost"
    return task


async def counts(store: Store) -> dict[State, int]:
    """Count every task by state."""
    return await store.count(EVERY_TASK, 1_000_000)


async def bring(store: Store, make: Make, state: State, task: NewTask | None = None) -> NewTask:
    """Store a task and bring it into `state`, by the verbs alone."""
    run_at = LATER if state is State.SCHEDULED else NOW
    task = task or make.task(run_at=run_at)
    await store.submit([task], NOW)
    if state not in (State.SCHEDULED, State.READY):
        session = make.session()
        await store.open_session(session)
        (claimed,) = await take(store, session.id, lane=lane_of(task))
        ends = {
            State.COMPLETED: completed(claimed, result='"sent"'),
            State.CANCELLED: cancelled(claimed),
            State.FAILED: failed(claimed, error()),
        }
        if state in ends:
            assert await store.finish(session.id, [ends[state]], NOW) == [True]
    assert (await one(store, task.id)).state is state
    return task


async def reap(store: Store, now: Micros) -> list[str]:
    """Give back what ended sessions hold, as the engine does, and return the tasks' ids."""
    given: list[str] = []
    while ended := await store.end_expired(now, 100):
        for session_id in ended:
            held = await store.held(session_id, 1000)
            applied = await store.finish(session_id, [lost(task, now) for task in held], now)
            given += [task.id for task, done in zip(held, applied, strict=True) if done]
    return given
