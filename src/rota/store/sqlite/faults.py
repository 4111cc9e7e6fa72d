"""What goes wrong in SQLite, said in the store's words, and what to do about it."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from rota.errors import StoreError, StoreFull, StoreUnavailable
from rota.store.sqlite.turn import LONGEST_WAIT

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def fault(error: apsw.Error | OSError, path: Path, errno_: int = 0) -> StoreError:
    """Return the store's error for one of SQLite's; `errno_` is the system's, where there is one.

    >>> fault(apsw.FullError("database or disk is full"), Path("rota.db"))
    StoreFull('no room left for rota.db; nothing was stored: free some space, then go on')
    """
    match error:
        case apsw.FullError():
            return _full(path)
        case apsw.IOError() if errno_ in _NO_ROOM:
            return _full(path)
        case OSError() if error.errno in _NO_ROOM:
            return _full(path)
        case apsw.BusyError() | apsw.LockedError():
            return StoreUnavailable(
                f"other processes have been writing to {path} for over {LONGEST_WAIT:.0f} s;"
                " end one that hangs, then try again"
            )
        case apsw.NotADBError():
            return StoreError(f"{path} is not a SQLite database; choose another path")
        case apsw.CorruptError():
            return StoreError(f"{path} is damaged ({error}); restore it from a backup")
        case apsw.CantOpenError() | OSError():
            return StoreError(
                f"cannot open {path}; its folder must exist and this user must be allowed to"
                " write to both"
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreError(f"{path} cannot be written to by this user; change its permissions")
        case apsw.IOError():
            return StoreUnavailable(f"reading or writing {path} failed ({error}); check the disk")
        case _:
            return StoreError(f"{path}: {error}")


def _full(path: Path) -> StoreFull:
    return StoreFull(f"no room left for {path}; nothing was stored: free some space, then go on")


@contextmanager
def faults(path: Path) -> Iterator[None]:
    """Let SQLite's errors leave the block as the store's."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise fault(error, path) from error
