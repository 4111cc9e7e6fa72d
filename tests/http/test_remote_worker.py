"""A Python worker behind a server: the same handlers, contexts and ends (R3, R8.4)."""

import asyncio
from collections.abc import Callable

import pytest

from rota import Backoff, Context, Fail, Rota, Snooze
from rota.clock import new_rng
from rota.config import SECOND
from rota.errors import AccessRefused, ConfigurationError
from rota.http.backend import HttpBackend
from rota.model import State
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from tests.support.serving import Served


def worker_of(app: Rota, **settings: object) -> Worker:
    """A worker that reaches its tasks through the server."""
    chosen = WorkerSettings(**{"concurrency": 20, "lease": 3 * SECOND, **settings})  # type: ignore[arg-type]
    return Worker(app.registry, app.connect(), chosen, rng=new_rng(3), version="test")


async def until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something that another thread does."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - it is another thread that acts
            await asyncio.sleep(0.005)


async def test_a_worker_does_through_a_server_what_it_does_on_a_store(app: Rota) -> None:
    """R8.4: results, retries, dead letters, snoozes, checkpoints and keys."""
    seen: list[tuple[int, object]] = []

    @app.task(retry=Backoff(max_attempts=2, base=0))
    async def work(ctx: Context, n: int) -> str:
        seen.append((n, ctx.last_checkpoint))
        if n == 1:
            raise Fail("not this one")
        if n == 2 and ctx.attempt == 1:
            await ctx.checkpoint({"at": 2}, flush=True)
            raise ConnectionError("again")
        if n == 3:
            raise Snooze(3600)
        return f"done {n}"

    accepted = [await work.asubmit(n=n) for n in range(5)]
    ids = [one.id for one in accepted]
    worker = worker_of(app)
    running = asyncio.ensure_future(worker.run())
    await until(lambda: worker.counts.reported >= 5)
    worker.drain()
    await running

    found = {n: await app.tasks.aget(task_id) for n, task_id in enumerate(ids)}
    assert {n: task.state for n, task in found.items() if n != 2} == {
        0: State.COMPLETED, 1: State.FAILED, 3: State.SCHEDULED, 4: State.COMPLETED,
    }  # fmt: skip
    assert found[0].result == "done 0"
    assert found[1].errors[0].message == "not this one"
    assert found[2].checkpoint == {"at": 2}
    assert found[2].errors[0].type == "ConnectionError"
    assert found[3].snoozes == 1


async def test_a_remote_worker_does_no_duties(app: Rota) -> None:
    """Servers do them: a worker's key may not."""

    @app.task
    async def work() -> None: ...

    assert worker_of(app)._duties() == []
    assert HttpBackend(app.url, "key").distant


async def test_a_hint_wakes_a_remote_worker(app: Rota) -> None:
    """R2.2: not the next poll, the stream of hints."""

    @app.task
    async def work() -> None: ...

    worker = worker_of(app)
    running = asyncio.ensure_future(worker.run())
    await until(lambda: worker.counts.sessions == 1)
    loop = asyncio.get_running_loop()
    took = []
    for n in range(5):
        began = loop.time()
        await work.asubmit()
        await until(lambda n=n: worker.counts.reported == n + 1)  # type: ignore[misc]
        took.append(loop.time() - began)
    worker.drain()
    await running

    assert sorted(took)[2] < 0.6


async def test_a_worker_is_drained_from_afar(app: Rota, served: Served) -> None:
    """R3.6: it hears so at its next beat, finishes and goes."""

    @app.task
    async def work() -> None: ...

    worker = worker_of(app)
    running = asyncio.ensure_future(worker.run())
    await until(lambda: worker.counts.sessions == 1)
    engine = served.place.engine
    (session,) = await served.arun(engine.sessions)

    assert await served.arun(lambda: engine.drain_session(session.id))
    async with asyncio.timeout(60):
        await running

    assert await served.arun(engine.sessions) == []


async def test_a_worker_on_the_store_obeys_a_drain_as_well(app: Rota, served: Served) -> None:
    """R3.6: whatever way it came, its heart hears."""
    direct = Rota(f"sqlite:///{served.place.engine.store.path}")  # type: ignore[attr-defined]

    @direct.task
    async def work() -> None: ...

    worker = worker_of(direct)
    running = asyncio.ensure_future(worker.run())
    await until(lambda: worker.counts.sessions == 1)
    (session,) = await served.arun(served.place.engine.sessions)

    await served.arun(lambda: served.place.engine.drain_session(session.id))
    async with asyncio.timeout(60):
        await running
    direct.close()


async def test_a_session_that_is_gone_is_a_lost_lease(app: Rota, served: Served) -> None:
    """Pitfall 5: what runs is stopped, and a new session opened, at the next claim."""
    began, ended = asyncio.Event(), asyncio.Event()

    @app.task
    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    await work.asubmit()
    worker = worker_of(app, lease=30 * SECOND)
    running = asyncio.ensure_future(worker.run())
    await began.wait()
    engine = served.place.engine
    (session,) = await served.arun(engine.sessions)

    await served.arun(lambda: engine.close_session(session.id))
    async with asyncio.timeout(60):
        await ended.wait()
    await until(lambda: worker.counts.sessions == 2)
    worker.stop()
    await running

    assert worker.counts.lost == 1


async def test_a_key_for_other_things_ends_a_worker_with_words(served: Served) -> None:
    """http-and-cli.md §5: 403 is no outage; it says what is missing."""
    app = Rota(served.url, token="read@")

    @app.task
    async def work() -> None: ...

    with pytest.raises(ConfigurationError, match="lacks the role"):
        async with asyncio.timeout(60):
            await worker_of(app).run()
    app.close()


async def test_a_key_that_is_revoked_ends_a_worker_with_words(
    app: Rota, monkeypatch: pytest.MonkeyPatch
) -> None:
    """http-and-cli.md §5: it stops claiming and ends, with the one error and no group of them."""

    @app.task
    async def work() -> None: ...

    worker = worker_of(app)
    running = asyncio.ensure_future(worker.run())
    await until(lambda: worker.counts.sessions == 1)

    async def refused(*_: object, **__: object) -> None:
        raise AccessRefused("the server refuses the key")

    monkeypatch.setattr(worker._backend, "claim", refused)
    worker._wake(0)

    with pytest.raises(AccessRefused):
        async with asyncio.timeout(60):
            await running
