"""A connection that writes: made at first use, and anew after it has broken."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from rota.store.sqlite.connection import connect
from rota.store.sqlite.faults import fault
from rota.store.sqlite.turn import Turn

_BROKEN: Final = (apsw.IOError, apsw.CorruptError, apsw.CantOpenError, apsw.NotADBError)
"""After these a connection is not trusted any more."""


class Line:
    """Writes by one transaction after another, for one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: apsw.Connection | None = None
        self._turn: Turn | None = None

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Commit at the end of the block, or undo all of it; SQLite's errors leave as ours."""
        try:
            connection = self._connection = self._connection or connect(self._path)
            self._turn = self._turn or Turn(self._path)
            self._turn.begin(connection)
            yield connection
            connection.execute("commit")
        except (apsw.Error, OSError) as error:
            raised = self.fault(error)
            self._undo(broken=isinstance(error, _BROKEN))
            raise raised from error
        except BaseException:
            self._undo(broken=False)
            raise

    def fault(self, error: apsw.Error | OSError) -> Exception:
        """Return the store's error for one that has just been raised."""
        return fault(error, self._path, self._connection.system_errno if self._connection else 0)

    def close(self) -> None:
        """Let go of the connection; the next transaction makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(True)
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.close()

    def _undo(self, *, broken: bool) -> None:
        try:
            # SQLite ends some transactions by itself.
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("rollback")
        except apsw.Error:
            broken = True
        if broken:
            self.close()
