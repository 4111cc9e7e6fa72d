"""Connections that only read, beside the writer: each thread has its own."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import apsw

from rota.errors import StoreError
from rota.store.sqlite.connection import connect
from rota.store.sqlite.faults import faults

T = TypeVar("T")

_THREADS: Final = 3
"""More than one, so that a long read does not hold up the looks for lanes."""


class Readers:
    """Does reads. One statement sees one state of the file; with `view` all of a read's do."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="rota-sqlite-reader")
        self._own = threading.local()
        self._gate = threading.Lock()
        self._connections: list[apsw.Connection] = []

    async def do(self, work: Callable[[apsw.Connection], T], *, view: bool = False) -> T:
        """Do the read and return its value.

        `view` is for reads of several statements; an idle worker's looks are of one.
        """
        loop = asyncio.get_running_loop()
        try:
            reading = loop.run_in_executor(self._threads, self._read, work, view)
        except RuntimeError as error:
            raise StoreError(f"the store {self._path} is closed") from error
        return await reading

    def close(self) -> None:
        """Let the reads that go on end, then close every connection; blocks meanwhile."""
        self._threads.shutdown()
        while self._connections:
            self._connections.pop().close(True)

    def _read(self, work: Callable[[apsw.Connection], T], view: bool) -> T:
        with faults(self._path):
            connection = self._connection()
            if not view:
                return work(connection)
            connection.execute("begin")
            try:
                return work(connection)
            finally:
                connection.execute("rollback")

    def _connection(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = connect(self._path)
            connection.pragma("query_only", True)
            self._own.connection = connection
            with self._gate:
                self._connections.append(connection)
        return connection
