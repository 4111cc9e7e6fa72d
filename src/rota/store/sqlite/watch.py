"""How processes on one file notice each other's work: the file's version is looked at often."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import apsw

from rota.model import Micros
from rota.store.base import Heard, Wake
from rota.store.sqlite.connection import connect
from rota.store.sqlite.faults import faults

INTERVAL: Final = 0.005
"""How often the version is looked at, in seconds, while there is news."""
QUIET_INTERVAL: Final = 0.03
"""How often when there was none for `_QUIET_AFTER` looks. A look takes 3 microseconds, but waking
a process that sleeps costs up to 60, one per cent of a core at the shorter interval."""
_QUIET_AFTER: Final = 100
APART: Final = 0.25
"""Whoever follows is told of changes so many seconds apart at least."""


class Watch:
    """Everyone who listens in this process, for hints that need no look at the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._listening: list[tuple[Wake, asyncio.AbstractEventLoop]] = []

    def tell(self, at: Micros) -> None:
        """Wake those who listen in this process."""
        here = asyncio.get_running_loop()
        for wake, loop in list(self._listening):
            if loop is here:
                wake(at)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(wake, at)

    async def follow(self, heard: Heard, mark: Callable[[], Awaitable[object]]) -> None:
        """Call `heard` with None at the start and whenever others have changed the file.

        `mark` is asked when it has changed at all, and answers another value if others did that.
        """
        stirred = asyncio.Event()

        async def tell() -> None:
            seen = await mark()
            heard(None)
            while True:
                await stirred.wait()
                stirred.clear()
                now = await mark()
                if now != seen:
                    seen = now
                    heard(None)
                await asyncio.sleep(APART)

        listening = asyncio.ensure_future(
            self.listen(lambda at: stirred.set() if at is None else None)
        )
        telling = asyncio.ensure_future(tell())
        try:
            done, _ = await asyncio.wait((listening, telling), return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        finally:
            listening.cancel()
            telling.cancel()
            await asyncio.gather(listening, telling, return_exceptions=True)

    async def listen(self, wake: Wake) -> None:
        """Call `wake` whenever the file has changed, until cancelled."""
        loop = asyncio.get_running_loop()
        with faults(self._path):
            connection = connect(self._path)
            self._listening.append((wake, loop))
            try:
                await _Looks(connection, wake, loop).ended
            finally:
                self._listening.remove((wake, loop))
                connection.close(True)


def others(connection: apsw.Connection) -> object:
    """Return what is another value once others have written: not for what this connection did."""
    return connection, connection.execute("pragma data_version").get


class _Looks:
    """The looks at the file's version, each one a timer of the loop rather than a task's turn."""

    def __init__(
        self, connection: apsw.Connection, wake: Wake, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.ended: asyncio.Future[None] = loop.create_future()
        self._connection = connection
        self._wake = wake
        self._loop = loop
        # This is the event loop's thread: nothing may be waited for in it.
        connection.set_busy_timeout(0)
        self._version = 0
        self._version = self._look()
        self._unchanged = 0
        loop.call_later(INTERVAL, self._again)

    def _look(self) -> int:
        try:
            return int(self._connection.execute("pragma data_version").get)
        except apsw.BusyError:
            return self._version

    def _again(self) -> None:
        if self.ended.done():
            return
        try:
            version = self._look()
            self._unchanged += 1
            if version != self._version:
                self._version, self._unchanged = version, 0
                self._wake(None)
        except Exception as error:
            self.ended.set_exception(error)
        else:
            quiet = self._unchanged > _QUIET_AFTER
            self._loop.call_later(QUIET_INTERVAL if quiet else INTERVAL, self._again)
