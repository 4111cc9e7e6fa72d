"""Handlers in processes: recycled, killed, replaced, and never a danger to the worker (R8.2)."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import psutil
import pytest

from rota import ConfigurationError
from rota.config import SECOND
from rota.model import CancelRequest, Claimed
from rota.node import notebook, stops
from rota.node.pool import Pool, setup_of
from rota.node.slots import Slots
from rota.node.wire import Setup
from rota.policy.lifecycle import Cancelled, Completed, Ending, Failed, Snoozed, TimedOut
from rota.registry import Kind
from tests.node import pool_app
from tests.node.fakes import claimed, endings
from tests.node.running import Running

REGISTRY = pool_app.app.registry
LONG = 60 * SECOND


class Pooling(Running):
    """Slots with a pool of processes."""

    def __init__(self, size: int = 1, *, lifetime: int = 100, app_path: str = "") -> None:
        super().__init__()
        setup = setup_of(list(REGISTRY), app_path)
        self.pool = Pool(size, lifetime, setup, self.clock)
        self.slots = Slots(
            REGISTRY,
            10,
            self.clock,
            report=self._report,
            report_alone=self._report_alone,
            freed=self._changed.set,
            pool=self.pool,
        )
        self.slots.notebook = self.notebook
        self.notebook._refused = self.slots.refused

    def processes(self) -> list[psutil.Process]:
        """The pool's own processes, not what else this one has started."""
        return [psutil.Process(child.pid) for child in self.pool._children]

    async def close(self) -> None:
        """End the processes."""
        await self.pool.close()
        self.slots.close()

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Write notes while the block lasts."""
        task = asyncio.create_task(self.notebook.run())
        yield
        task.cancel()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits a second."""
    monkeypatch.setattr(notebook, "WITHIN", 0.005)
    monkeypatch.setattr(stops, "CLEAN_UP", 0.005)


def do(what: str, number: int = 1, **fields: Any) -> Claimed:
    """A task that does as it says."""
    return claimed(number, "do", payload=f'{{"what":"{what}"}}', **fields)


def result(ending: Ending) -> Any:
    """What a handler returned."""
    assert isinstance(ending, Completed), ending
    return msgspec.json.decode(ending.result or "null")


def error(ending: Ending) -> str:
    """What failed, and how."""
    assert isinstance(ending, Failed | TimedOut), ending
    return f"{ending.error.type}: {ending.error.message}"


@pytest.mark.parametrize("app_path", ["", "tests.node.pool_app:app"])
async def test_a_handler_in_a_process_knows_what_others_know(app_path: str) -> None:
    it = Pooling(app_path=app_path)

    (report,) = await it.run(do("facts", attempt=2, fence=5, checkpoint="[1]", timeout=LONG))
    await it.close()

    facts = result(report.ending)
    pid = facts.pop("pid")
    assert pid != os.getpid()
    assert facts == {
        "main": True,
        "facts": ["task-1", 2, 5, [1]],
        "deadline": True,
        "resource": f"opened in {pid}",
        "hooked": [f"before {pid}"],
        "loop": "a loop of its own",
    }


@pytest.mark.parametrize(
    ("what", "ending", "text"),
    [
        ("fail", Failed, "ValueError: in the process"),
        ("exit", Failed, "SystemExit: 3"),
        ("object", Failed, "HandlerError: the handler's result"),
        (
            "leave",
            Failed,
            "ProcessDied: the process in which the handler ran ended with exit code 3",
        ),
        ("die", Failed, "ProcessDied: the process in which the handler ran was ended by SIGKILL"),
    ],
)
async def test_whatever_happens_in_a_process_ends_its_run_and_nothing_else(
    what: str, ending: type, text: str
) -> None:
    """R8.2: the next task is run as if nothing had happened."""
    it = Pooling()

    await it.run(do(what))
    await it.run(claimed(7, "square"))
    await it.close()

    first, second = (report.ending for report in it.reports)
    assert isinstance(first, ending)
    assert error(first).startswith(text)
    assert result(second) == 49


async def test_the_handlers_wishes_cross_the_line() -> None:
    """R4.2."""
    it = Pooling()

    for what in ("fail_for_good", "give_up", "retry", "retry_later", "snooze", "die"):
        await it.run(do(what))
    await it.close()

    for_good, given_up, retry, later, snooze, died = (report.ending for report in it.reports)
    assert isinstance(for_good, Failed)
    assert isinstance(given_up, Failed)
    assert isinstance(retry, Failed)
    assert isinstance(later, Failed)
    assert isinstance(died, Failed)
    assert (for_good.permanent, given_up.permanent, died.permanent) == (True, True, False)
    assert (retry.after, retry.least, retry.permanent) == (7 * SECOND, None, False)
    assert (later.after, later.least, later.permanent) == (None, 9 * SECOND, False)
    assert "do_fail_for_good" in for_good.error.traceback
    assert isinstance(snooze, Snoozed)
    assert abs(snooze.until - it.clock.now() - 30 * SECOND) < 10 * SECOND


async def test_a_payload_that_does_not_fit_fails_for_good() -> None:
    it = Pooling()

    (report,) = await it.run(claimed(1, "square", payload='{"n":"x"}'))
    await it.close()

    assert isinstance(report.ending, Failed)
    assert report.ending.permanent


async def test_a_kill_costs_one_task_and_the_process_is_replaced() -> None:
    """Issue 3: kill -9 of any child; the others do not notice."""
    it = Pooling(size=2)
    await it.start(do("wait", 1), do("wait", 2), claimed(3, "square"))
    with it.noting():
        await both_noted(it)
        os.kill(it.processes()[0].pid, signal.SIGKILL)
        await it.until(lambda: len(it.reports) == 2)
    it.slots.release_running()
    await it.run()
    await it.close()

    assert sorted(endings(it.reports)) == ["Completed", "Failed", "Released"]


async def both_noted(it: Running) -> None:
    """Wait until two handlers are at work."""
    while len({note.id for note in it.backend.notes}) < 2:
        it.backend.noted.clear()
        await it.backend.noted.wait()


async def test_the_hard_limit_kills_the_process_and_what_it_started() -> None:
    """R4.3."""
    it = Pooling()

    with it.noting():
        (report,) = await it.run(do("children", timeout=3 * SECOND))
    await it.close()

    (grandchild,) = (int(note.checkpoint or 0) for note in it.backend.notes)
    assert isinstance(report.ending, TimedOut)
    await gone(grandchild)


async def gone(pid: int) -> None:
    """Wait until a process, which is no child of ours, is no more."""
    await asyncio.to_thread(
        psutil.wait_procs, [psutil.Process(pid)] if psutil.pid_exists(pid) else []
    )


async def test_the_limit_begins_when_the_process_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting an interpreter must not cost the handler its time."""
    monkeypatch.setenv(pool_app.START_SECONDS, "1.2")
    it = Pooling(app_path="tests.node.pool_app:app")

    (report,) = await it.run(claimed(3, "square", timeout=SECOND))
    await it.close()

    assert result(report.ending) == 9


async def test_a_handler_that_checks_is_told_of_a_request() -> None:
    """R5.2."""
    it = Pooling()
    await it.start(do("check"))
    with it.noting():
        await it.backend.noted.wait()
        it.slots.cancel([CancelRequest("task-1", 1)])
        await it.run()
    await it.close()

    assert [r.ending for r in it.reports] == [Cancelled("cancelled by request")]


async def test_a_handler_that_does_not_check_is_killed_at_the_deadline() -> None:
    """R5.2."""
    it = Pooling()
    await it.start(do("wait"))
    with it.noting():
        await it.backend.noted.wait()
        it.slots.cancel([CancelRequest("task-1", 1, it.clock.now() + SECOND // 100)])
        await it.run()
    await it.run(claimed(2, "square"))
    await it.close()

    assert [r.ending for r in it.reports] == [Cancelled("cancelled by request"), Completed("4")]


async def test_the_soft_limit_is_told_where_the_handler_checks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R4.3."""
    monkeypatch.setattr(REGISTRY["do"], "soft_timeout", SECOND // 100)
    it = Pooling()

    (report,) = await it.run(do("check"))
    await it.close()

    assert error(report.ending) == "SoftTimeout: the soft time limit is over"


async def test_progress_and_checkpoints_cross_the_line() -> None:
    """R3.5: durable before `flush` returns."""
    it = Pooling()

    with it.noting():
        (report,) = await it.run(do("checkpoints"))
    await it.close()

    last = it.backend.notes[-1]
    assert result(report.ending) == {"n": 2}
    assert (last.done, last.total, last.checkpoint) == (2, 3, '{"n":2}')


async def test_under_an_old_fence_the_handler_is_told_and_nothing_is_reported() -> None:
    """R3.2."""
    it = Pooling()
    it.backend.refuse_note = lambda note: True

    with it.noting():
        reports = await it.run(do("checkpoints"))
    await it.close()

    assert reports == []


async def test_log_records_come_to_the_worker(caplog: pytest.LogCaptureFixture) -> None:
    """With the task's id and their traceback."""
    it = Pooling()

    await it.run(do("log"))
    await it.close()

    said = [r for r in caplog.records if r.name in ("rota.task", "tests.pool")]
    assert said[0].getMessage() == "from the handler"
    assert vars(said[0])["task_id"] == "task-1"
    assert said[1].getMessage().startswith("with a traceback\nTraceback")
    assert said[1].levelno == logging.ERROR


async def test_a_process_is_replaced_after_so_many_tasks(capfd: Any) -> None:
    it = Pooling(lifetime=2)

    for n in range(5):
        await it.run(do("pid", n))
    await it.close()

    pids = [result(report.ending) for report in it.reports]
    assert len(set(pids)) == 3
    assert pids[0] == pids[1]
    # In good order: what it held was closed.
    assert capfd.readouterr().err.count("resource closed") == 3


async def test_what_fits_no_process_waits_and_is_cancelled_or_handed_back() -> None:
    it = Pooling(size=1)
    await it.start(do("check", 1), do("check", 2), do("check", 3))
    waiting, places = it.slots.buffered, it.slots.places
    it.slots.cancel([CancelRequest("task-2", 1)])
    it.slots.release_buffered()
    it.slots.release_running()
    await it.run()
    await it.close()

    assert (waiting, places) == (2, 0)
    assert [(r.task.id, type(r.ending).__name__) for r in it.reports] == [
        ("task-2", "Cancelled"),
        ("task-3", "Released"),
        ("task-1", "Released"),
    ]


async def test_a_lost_lease_kills_the_processes() -> None:
    """R3.4."""
    it = Pooling()
    await it.start(do("wait"))
    with it.noting():
        await it.backend.noted.wait()
    (child,) = it.processes()

    it.slots.abandon()
    await it.run()
    await it.close()

    assert it.reports == []
    assert not child.is_running()


async def test_an_app_that_cannot_be_imported_fails_the_attempt() -> None:
    it = Pooling()
    it.pool._setup = Setup(it.pool._setup.path, "tests.node.nowhere:app", {}, logging.INFO)

    (report,) = await it.run(claimed(1, "square"))
    await it.close()

    assert "could not import the handlers" in error(report.ending)
    assert "tests.node.nowhere" in error(report.ending)


def nested() -> Callable[..., Any]:
    """A handler that only this function knows."""

    def handler(n: int) -> None: ...

    return handler


def plain(n: int) -> None:
    """A handler that is no task under its own name."""


@pytest.mark.parametrize("handler", [nested(), plain])
def test_a_handler_that_a_process_could_not_find_is_refused(handler: Callable[..., Any]) -> None:
    """With what to do about it."""
    kind = Kind("work", handler, executor="process")

    with pytest.raises(ConfigurationError, match="app_path"):
        setup_of([kind], "")
    assert setup_of([kind], "app:app").places == {}


def test_an_async_handler_does_not_run_in_a_process() -> None:
    async def work(n: int) -> None: ...

    with pytest.raises(ConfigurationError, match="does not fit"):
        Kind("work", work, executor="process")
