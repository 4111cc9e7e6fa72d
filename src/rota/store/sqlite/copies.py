"""Two copies of SQLite in one process destroy a file that both have open: they are kept apart.

Rota's comes with apsw, Python's `sqlite3` has the system's. POSIX locks belong to a process, so
neither sees what the other has locked: both are let in to write, and the one that closes last for
all it knows removes the log in which the other's commits lie. Two processes are no trouble.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Final
from weakref import WeakKeyDictionary

import apsw

from rota.errors import ConfigurationError

_DESCRIPTORS: Final = Path("/proc/self/fd")
_TRIES: Final = 5
_PAUSE: Final = 0.02
"""Another thread may be closing the file just now."""

_opening = threading.Lock()
_ours: WeakKeyDictionary[apsw.Connection, Path] = WeakKeyDictionary()


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Refuse to open a file that another copy has open in this process; one thread at a time.

    What cannot be seen (there is no /proc) is not refused.
    """
    with _opening:
        pause = Event()
        for left in reversed(range(_TRIES)):
            if _open_here(path) or not _descriptor_on(path):
                break
            if not left:
                raise ConfigurationError(
                    f"{path} is open in this process by something else than Rota's SQLite, for "
                    "instance Python's own sqlite3. Two copies of SQLite in one process do not "
                    "see each other's locks, and commits get lost: close the other one first, or "
                    "open the file through apsw there as well"
                )
            pause.wait(_PAUSE)
        yield


def opened(connection: apsw.Connection, path: Path) -> None:
    """Remember whose file a connection is."""
    _ours[connection] = path


def refuse_ours(file: str) -> None:
    """Refuse another copy's connection to a file that ours has open in this process."""
    if _open_here(Path(file)):
        raise ConfigurationError(
            f"{file} is open in this process through Rota's own SQLite, the one in apsw. Two "
            "copies of SQLite in one process do not see each other's locks, and commits get lost: "
            "hand in an apsw.Connection, or let nothing else of Rota run in this process "
            "(app.close() ends what does)"
        )


def _open_here(path: Path) -> bool:
    for connection in apsw.connections():
        name = _ours.get(connection)
        if name is None:
            # Somebody else's; while it is busy in another thread it does not tell its name.
            with suppress(apsw.Error):
                name = Path(connection.filename)
        if name is not None and _same(name, path):
            return True
    return False


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _descriptor_on(path: Path) -> bool:
    try:
        file = path.stat()
        descriptors = list(_DESCRIPTORS.iterdir())
    except OSError:
        return False
    for descriptor in descriptors:
        with suppress(OSError):
            if os.path.samestat(descriptor.stat(), file):
                return True
    return False
