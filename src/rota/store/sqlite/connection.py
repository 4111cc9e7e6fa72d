"""A connection to the file, set up as every part of the store needs it."""

from pathlib import Path
from typing import Final

import apsw

from rota.errors import ConfigurationError
from rota.store.sqlite import copies

OLDEST_SQLITE: Final = (3, 51, 3)
"""Older ones can damage a database when its write-ahead log is reset while others write."""

_BUSY_MILLISECONDS: Final = 5000
"""How long SQLite itself waits for a lock; writers wait for each other by `Turn` instead."""

_CACHE_KIBIBYTES: Final = 16 * 1024
_CHECKPOINT_PAGES: Final = 4000
"""How long the write-ahead log grows before it is copied into the file: 16 MB."""
_LOG_BYTES: Final = 64 * 1024 * 1024
"""A log that a long read let grow beyond this is cut back afterwards."""

_SETTINGS: Final = {
    "synchronous": "full",
    "cache_size": -_CACHE_KIBIBYTES,
    "temp_store": "memory",
    "wal_autocheckpoint": _CHECKPOINT_PAGES,
    "journal_size_limit": _LOG_BYTES,
}


def sqlite_version() -> str:
    """Return the version of the SQLite in use; refuse one that is too old."""
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < OLDEST_SQLITE:
        needed = ".".join(str(part) for part in OLDEST_SQLITE)
        raise ConfigurationError(
            f"SQLite {version} is too old, Rota needs {needed}; install a newer `apsw`"
        )
    return version


def connect(path: Path, *, create: bool = False) -> apsw.Connection:
    """Open a connection for the calling thread; raises what apsw raises."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    with copies.opening(path):
        connection = apsw.Connection(str(path), flags=flags)
        copies.opened(connection, path)
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        for name, value in _SETTINGS.items():
            connection.pragma(name, value)
    except BaseException:
        connection.close()
        raise
    return connection
