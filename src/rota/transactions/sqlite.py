"""Work on a SQLite file through a connection of a caller, step by step.

What the store does is done with the store's own statements. The caller's SQLite may be older than
the store's (Python brings that of the system), so JSON is read in its text form.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final, TypeVar

from rota.errors import ConfigurationError
from rota.store.sqlite import copies
from rota.transactions.apsw import ApswConnection
from rota.transactions.borrowed import Borrowed, Rows, Values
from rota.transactions.home import Home
from rota.transactions.work import Work

T = TypeVar("T")

OLDEST: Final = (3, 38, 0)
"""The first that has `->>`."""


def do(borrowed: Borrowed, work: Work[T], home: Home | None) -> T:
    """Do the work whole or not at all, in the transaction that the connection is in.

    Outside of a transaction it is one of its own, unless the driver would begin one by itself: then
    that is begun, and left to the caller.
    """
    _check(borrowed, home)
    if begin := borrowed.begins:
        borrowed.run(begin, {})
    with _whole(borrowed):
        return work.steps(Steps(borrowed))


class Steps:
    """As much of an `apsw.Connection` as the store's own work needs."""

    def __init__(self, borrowed: Borrowed) -> None:
        self._borrowed = borrowed

    def execute(self, sql: str, values: Values | None = None) -> "Answer":
        """Run a statement."""
        return Answer(self._borrowed.run(_as_text(sql), values or {}))

    def changes(self) -> int:
        """Return how many rows the last write touched."""
        return int(self._borrowed.run("select changes()", {})[0][0])

    def last_insert_rowid(self) -> int:
        """Return the number of the row that was inserted last."""
        return int(self._borrowed.run("select last_insert_rowid()", {})[0][0])


class Answer:
    """The rows of a statement."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)

    @property
    def get(self) -> Any:
        """The one value of the one row, or None if there is no row."""
        return self._rows[0][0] if self._rows else None


@cache
def _as_text(sql: str) -> str:
    return sql.replace("jsonb_each(", "json_each(")


@contextmanager
def _whole(borrowed: Borrowed) -> Iterator[None]:
    borrowed.run("savepoint rota", {})
    try:
        # Begins to write before anything is read: who reads first and writes then is refused at
        # once if somebody else has written in between, instead of waiting for its turn.
        borrowed.run("delete from effect where false", {})
        yield
        borrowed.run("release rota", {})
    except BaseException:
        # Some errors end the whole transaction, and the savepoint with it.
        with suppress(Exception):
            borrowed.run("rollback to rota", {})
            borrowed.run("release rota", {})
        raise


def _check(borrowed: Borrowed, home: Home | None) -> None:
    version = str(borrowed.run("select sqlite_version()", {})[0][0])
    if tuple(map(int, version.split("."))) < OLDEST:
        raise ConfigurationError(
            f"the SQLite {version} of this connection is too old, 3.38 is needed; "
            "use an apsw.Connection, which brings its own"
        )
    # Not as a table: that would begin to read, see `_whole`.
    files = [file for _, _, file in borrowed.run("pragma database_list", {}) if file]
    if home is not None:
        home.check_files(files)
    if not isinstance(borrowed, ApswConnection):
        for file in files:
            copies.refuse_ours(file)
