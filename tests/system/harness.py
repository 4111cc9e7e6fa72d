"""Workers as real processes, and waiting for what they do."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import psutil

from rota import Rota
from rota.config import SECOND
from rota.model import State, Task
from tests.support.places import Place
from tests.system.handlers import make_app
from tests.system.record import Record

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
LOOK_EVERY = 0.02
PATIENCE = 40.0
"""Seconds in which what is sure to happen happens, also on a machine with much else to do."""


def wait_until(condition: Callable[[], T], timeout: float = PATIENCE, what: str = "") -> T:
    """Look again and again until `condition` holds and return its value; fail after `timeout`."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"did not happen within {timeout:g} s: {what or condition}")
        time.sleep(LOOK_EVERY)
    return value


def stays(condition: Callable[[], bool], seconds: float) -> bool:
    """Say whether `condition` holds all the time for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not condition():
            return False
        time.sleep(LOOK_EVERY)
    return True


def gone(processes: Iterable[psutil.Process]) -> bool:
    """Say whether none of these lives; one that is dead may wait long for whoever inherits it."""
    return not any(_lives(process) for process in processes)


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


class WorkerProcess:
    """A worker in a process of its own, with its log in a file."""

    def __init__(self, arguments: list[str], log: Path, under: list[str]) -> None:
        command = [*under, sys.executable, "-m", "tests.system.worker_main", *arguments]
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self.pid = self._process.pid

    @property
    def log(self) -> str:
        """What the worker has written so far."""
        return self._log.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        """Say whether the process has not ended."""
        return self._process.poll() is None

    def children(self) -> list[psutil.Process]:
        """Return the workers below it, if it is a supervisor."""
        return psutil.Process(self.pid).children() if self.alive else []

    def kill(self) -> None:
        """End it as a crash would, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """Stop it where it is; its connections stay open."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def terminate(self) -> None:
        """Ask it to stop; the second time, to stop at once."""
        self._process.terminate()

    def ended(self, timeout: float = PATIENCE) -> int:
        """Wait for its end and return the exit code."""
        return self._process.wait(timeout)


class Site:
    """A store, the record of what ran on it, and the workers that a test started."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.folder = folder
        self.url = place.address if place.dialect == "postgres" else f"sqlite:///{place.address}"
        self.record = Record(folder / "record")
        self.app: Rota = make_app(self.url, self.record.path)
        self.app.migrate()
        self.workers: list[WorkerProcess] = []

    def start_worker(
        self, *, url: str = "", under: list[str] | None = None, **options: object
    ) -> WorkerProcess:
        """Start a worker, `under` a command that runs it; `options` are those of `worker_main`."""
        arguments = [url or self.url, str(self.record.path)]
        for name, value in options.items():
            arguments += [f"--{name}", str(value)]
        log = self.folder / f"worker-{len(self.workers)}.log"
        worker = WorkerProcess(arguments, log, under or [])
        self.workers.append(worker)
        return worker

    def submit(self, kind: str, numbers: range, options: Any = None, **payload: Any) -> list[str]:
        """Store one task for each number and return their ids."""
        options = options or {}
        calls = [self.app.call(kind, {"n": n, **payload}, **options) for n in numbers]
        return [accepted.id for accepted in self.app.submit_each(calls)]

    def task(self, task_id: str) -> Task:
        """Read a task."""
        return self.app.tasks.get(task_id)

    def count(self, state: State) -> int:
        """Count the tasks in a state."""
        return self.app.tasks.count(state=state).get(state, 0)

    def completed(self, count: int, timeout: float = PATIENCE) -> None:
        """Wait until so many tasks are completed."""
        try:
            wait_until(lambda: self.count(State.COMPLETED) >= count, timeout)
        except AssertionError:
            raise AssertionError(f"{count} to complete: {self.app.tasks.count()}") from None

    def started(self, numbers: range, timeout: float = PATIENCE) -> None:
        """Wait until each of these numbers has started."""
        wait_until(
            lambda: set(numbers) <= set(self.record.times("start")), timeout, f"start {numbers}"
        )

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Look into the tables."""
        return asyncio.run(self.place.rows(sql))

    def sessions(self, count: int = 1) -> list[tuple[Any, ...]]:
        """Wait until so many sessions are open; return them as (id, pid)."""
        sql = "select id, pid from session where closed_at is null"
        return wait_until(lambda: found if len(found := self.rows(sql)) == count else [])

    def leases_over(self) -> None:
        """Wait until every lease has run out."""
        sql = "select max(lease_until) from session where closed_at is null"
        wait_until(lambda: (self.rows(sql)[0][0] or 0) < time.time() * SECOND, what=sql)

    def close(self) -> None:
        """End every worker and let go of the store; a test that failed shows their logs."""
        for worker in self.workers:
            with suppress(psutil.NoSuchProcess):  # it may be ending at this very moment
                for child in worker.children():
                    child.kill()
            worker.kill()
            print(worker.log[-4000:])
            if " failed" in worker.log:
                print(*self._errors(), sep="\n")
        self.app.close()

    def _errors(self) -> list[object]:
        """Return why a few attempts failed, for the log tells only that they did."""
        tables = ("scheduled", "ready", "finished", "dead_letter")
        parts = [f"select kind, errors from {name} where errors is not null" for name in tables]
        with suppress(Exception):  # a test may have taken the store away
            return list(self.rows(" union all ".join(parts) + " limit 5"))
        return []
