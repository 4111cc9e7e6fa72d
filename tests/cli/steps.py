"""What a worker does with tasks, without a worker: by the store's verbs."""

import asyncio

import msgspec

from rota.config import LEASE
from rota.model import Claimed, Lane, Session, Share, State, Transition, rank_of
from rota.store import store_for
from rota.store.base import Store
from tests.support.factories import Make, completed, error, failed


def open_session(url: str, **fields: object) -> None:
    """Register a live worker."""

    async def work(store: Store, _: int) -> None:
        await store.open_session(await _session(store, **fields))

    _with(url, work)


def run_task(url: str, task_id: str, *errors: str, state: State) -> None:
    """Hand out a ready task and leave it running, or bring it to an end.

    `errors` are the messages of attempts that failed before.
    """

    async def work(store: Store, now: int) -> None:
        session = await _session(store)
        await store.open_session(session)
        for number, message in enumerate(errors, start=1):
            now += 1000
            task = await _take(store, session.id, task_id, now)
            again = Transition(
                task.id, task.fence, State.READY, task.run_at, rank_of(task.run_at, task.priority),
                number, error=error(number, now, message),
            )  # fmt: skip
            assert await store.finish(session.id, [again], now) == [True]
        now += 1000
        task = await _take(store, session.id, task_id, now)
        ends = {
            State.COMPLETED: completed(task, result='"sent 1"'),
            State.FAILED: failed(task, error(task.attempt, now, "boom")),
        }
        if state in ends:
            assert await store.finish(session.id, [ends[state]], now) == [True]

    _with(url, work)


async def _take(store: Store, session_id: str, task_id: str, now: int) -> Claimed:
    (task,) = await store.get([task_id])
    assert task is not None
    lane = Lane(task.queue, task.priority_class, task.tenant)
    (claimed,) = (await store.take(session_id, [Share(lane, 1)], [], now, 0)).tasks
    assert claimed.id == task_id
    return claimed


async def _session(store: Store, **fields: object) -> Session:
    now = await store.clock()
    made = Make().session(id=Make(now).id(), started_at=now, lease_until=now + LEASE)
    return msgspec.structs.replace(made, **fields)


def _with(url: str, work: object) -> None:
    async def run() -> None:
        store = store_for(url)
        await store.migrate()
        await store.open()
        try:
            await work(store, await store.clock())  # type: ignore[operator]
        finally:
            await store.close()

    asyncio.run(run())
