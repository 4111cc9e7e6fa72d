"""Taking turns: how writers of several processes and threads wait for each other.

SQLite's own way is to ask for the write lock again and again, less and less often. Who writes
all the time is then nearly always first: measured, a heartbeat beside two busy writers waited for
seconds. Here only the holder of a second lock asks for the first, and hands it on when it has
got it, so whoever has just written has to let one that waits go before.
"""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Final

import apsw

LONGEST_WAIT: Final = 15.0
"""After so many seconds a writer gives up."""
_PAUSE: Final = 0.0005
_PAUSES: Final = round(LONGEST_WAIT / _PAUSE)


class Turn:
    """One writer's place in the queue, kept in a file beside the database."""

    def __init__(self, path: Path) -> None:
        self._lock = os.open(f"{path}-turn", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def begin(self, connection: apsw.Connection) -> None:
        """Begin to write; raises `apsw.BusyError` after `LONGEST_WAIT`."""
        _wait_for(self._come_next)
        try:
            # SQLite's own wait is for the reads; here it would be one more queue.
            connection.set_busy_timeout(0)
            _wait_for(lambda: _begin(connection))
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the place up."""
        os.close(self._lock)

    def _come_next(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _begin(connection: apsw.Connection) -> bool:
    try:
        connection.execute("begin immediate")
    except apsw.BusyError:
        return False
    return True


def _wait_for(attempt: Callable[[], bool]) -> None:
    if attempt():
        return
    pause = Event()
    for _ in range(_PAUSES):
        pause.wait(_PAUSE)
        if attempt():
            return
    raise apsw.BusyError("another process holds the write lock")
