"""Resources are opened once, shared, and closed in reverse order (R8.2)."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rota import ConfigurationError, InvalidTask, Rota
from rota.node import resources as module
from rota.policy.lifecycle import Completed, Failed
from tests.node.fakes import claimed, endings
from tests.node.running import Running

app = Rota("sqlite:///unused.db")


class Opened:
    """What was opened and closed."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.threads: list[int] = []


async def test_a_resource_is_opened_once_and_closed_in_reverse_order() -> None:
    it = Running()
    seen = Opened()

    @app.resource
    async def settings() -> dict[str, int]:
        seen.log.append("open settings")
        await asyncio.sleep(0)
        return {"answer": 42}

    @app.resource
    async def database(config: dict[str, int] = settings) -> AsyncIterator[int]:
        seen.log.append("open database")
        await asyncio.sleep(0)
        yield config["answer"]
        seen.log.append("close database")

    @app.resource
    def file() -> Iterator[str]:
        seen.log.append("open file")
        seen.threads.append(threading.get_ident())
        yield "file"
        seen.log.append("close file")

    async def work(n: int, db: int = database, *, f: str = file) -> list[Any]:
        return [n, db, f]

    def plain(n: int, db: int = database) -> int:
        return db

    it.handles(work)
    it.handles(plain, "plain")

    reports = await it.run(*(claimed(n) for n in range(5)), claimed(9, "plain"))
    await it.slots.caller.resources.close()

    results = {r.task.id: r.ending for r in reports}
    assert results["task-3"] == Completed('[3,42,"file"]')
    assert results["task-9"] == Completed("42")
    assert seen.log == [
        "open settings",
        "open database",
        "open file",
        "close file",
        "close database",
    ]
    assert seen.threads != [threading.get_ident()]
    it.slots.close()


async def test_one_task_opens_and_closes_an_asynchronous_resource() -> None:
    """Cancel scopes, and much that is built on them, must be left by the task that entered."""
    it = Running()
    tasks: list[Any] = []

    @app.resource
    @asynccontextmanager
    async def scope() -> AsyncIterator[int]:
        tasks.append(asyncio.current_task())
        yield 1
        tasks.append(asyncio.current_task())

    async def work(n: int, s: int = scope) -> int:
        return s

    it.handles(work)
    await it.run(claimed())
    await it.slots.caller.resources.close()

    assert len(tasks) == 2
    assert tasks[0] is tasks[1]


async def test_a_resource_that_cannot_be_opened_is_tried_again_at_the_next_use() -> None:
    it = Running()
    tries: list[int] = []

    @app.resource
    async def database() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("away")
        return 7

    async def work(n: int, db: int = database) -> int:
        return db

    it.handles(work)
    await it.run(claimed(1))
    await it.run(claimed(2))

    assert endings(it.reports) == ["Failed", "Completed"]
    first = it.reports[0].ending
    assert isinstance(first, Failed)
    assert first.error.type == "ConnectionError"
    assert not first.permanent


async def test_a_run_that_is_cancelled_while_it_waits_spoils_nothing_for_the_others() -> None:
    it = Running()
    gate = asyncio.Event()

    @app.resource
    async def database() -> int:
        await gate.wait()
        return 7

    async def work(n: int, db: int = database) -> int:
        return db

    it.handles(work)
    await it.start(claimed(1, timeout=1_000), claimed(2))
    await it.until(lambda: len(it.reports) == 1)
    gate.set()
    await it.run()

    assert endings(it.reports) == ["TimedOut", "Completed"]


async def test_one_that_cannot_be_closed_keeps_no_other_open(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(module, "CLOSING", 0.25)
    it = Running()
    closed: list[str] = []

    @app.resource
    async def first() -> AsyncIterator[int]:
        yield 1
        closed.append("first")

    @app.resource
    async def broken() -> AsyncIterator[int]:
        yield 2
        raise RuntimeError("cannot close")

    @app.resource
    async def hangs() -> AsyncIterator[int]:
        yield 3
        await asyncio.Event().wait()

    async def work(n: int, a: int = first, b: int = broken, c: int = hangs) -> int:
        return a + b + c

    it.handles(work)
    await it.run(claimed())
    await it.slots.caller.resources.close()

    assert closed == ["first"]
    assert "broken could not be closed" in caplog.text
    assert "hangs takes too long" in caplog.text


def test_a_resource_is_no_part_of_the_payload() -> None:
    @app.resource
    def database() -> int:
        return 1

    @app.task
    def with_database(n: int, db: int = database) -> int:
        return n + db

    assert with_database.bind(3).payload == '{"n":3}'
    assert with_database(3, db=4) == 7
    with pytest.raises(InvalidTask, match="db"):
        app.call("with_database", {"n": 3, "db": 4})


def test_a_resource_that_is_used_without_a_worker_says_so() -> None:
    @app.resource
    def connection() -> Any:
        return None

    with pytest.raises(AttributeError, match="only a worker opens"):
        connection.execute("select 1")


def test_a_resource_takes_only_resources() -> None:
    def database(url: str) -> int:
        return 1

    with pytest.raises(ConfigurationError, match="parameter url has no default"):
        app.resource(database)
