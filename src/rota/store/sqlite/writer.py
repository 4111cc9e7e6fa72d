"""The one thread that writes, and group commit: what waits together is committed together."""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw
from msgspec import Struct

from rota.errors import StoreError
from rota.store.sqlite.line import Line

T = TypeVar("T")

_MOST_TOGETHER: Final = 256
"""So many jobs share a commit at most: other processes want to write too."""


class Job(Struct, eq=False):
    """A piece of work that is waiting to be done, and where its answer is awaited."""

    work: Callable[[apsw.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    value: Any = None
    error: Exception | None = None


class Writer:
    """Does jobs from any number of event loops, one transaction for all that are waiting.

    A job is answered after the commit, never before. One that fails is undone alone and fails
    alone; if the transaction itself fails, all of it fails.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line = Line(path)
        self._waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._open = True
        self._thread = threading.Thread(target=self._serve, name="rota-sqlite-writer", daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[apsw.Connection], T]) -> T:
        """Do the work in a transaction and return its value once that is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._gate:
            if not self._open:
                raise StoreError(f"the store {self._path} is closed")
            self._waiting.put(Job(work, loop, future))
        return await future

    def close(self) -> None:
        """Do what is waiting, then stop; blocks meanwhile."""
        with self._gate:
            if self._open:
                self._open = False
                self._waiting.put(None)
        self._thread.join()

    def _serve(self) -> None:
        going = True
        while going:
            jobs: list[Job] = []
            going = self._gather(jobs)
            if jobs:
                self._commit(jobs)
                _answer(jobs)
        self._line.close()

    def _gather(self, jobs: list[Job]) -> bool:
        """Wait for a job, take along what else is there; False when there will be no more."""
        try:
            job = self._waiting.get()
            while job is not None:
                jobs.append(job)
                if len(jobs) == _MOST_TOGETHER:
                    return True
                job = self._waiting.get_nowait()
        except queue.Empty:
            return True
        return False

    def _commit(self, jobs: list[Job]) -> None:
        try:
            with self._line.transaction() as connection:
                for job in jobs:
                    self._do(connection, job, alone=len(jobs) == 1)
        except Exception as error:
            for job in jobs:
                job.error = _own(error)

    def _do(self, connection: apsw.Connection, job: Job, *, alone: bool) -> None:
        if alone:
            job.value = job.work(connection)
            return
        connection.execute("savepoint job")
        try:
            job.value = job.work(connection)
        except Exception as error:
            if not connection.in_transaction:
                raise
            job.error = self._line.fault(error) if isinstance(error, apsw.Error) else error
            connection.execute("rollback to job")
        connection.execute("release job")


def _own(error: Exception) -> Exception:
    """Return an error for one of those who wait: its traceback shall tell of one call."""
    if not isinstance(error, StoreError):
        return error
    own = copy(error)
    own.__cause__ = error.__cause__
    return own


def _answer(jobs: list[Job]) -> None:
    """Give the answers to those who wait, with one call into each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, answered in by_loop.items():
        # A loop that has closed has nobody waiting in it any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, answered)


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is None:
            job.future.set_result(job.value)
        else:
            job.future.set_exception(job.error)
