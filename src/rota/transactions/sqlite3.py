"""Connections of Python's own `sqlite3`."""

from typing import Any

from rota.transactions.borrowed import Dialect, Rows, Values, needed


class Sqlite3Connection:
    """A `sqlite3.Connection`."""

    dialect: Dialect = "sqlite"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @property
    def begins(self) -> str | None:
        return begin_of(self._connection)

    def run(self, sql: str, values: Values) -> Rows:
        cursor = self._connection.cursor()
        # The caller may have chosen other rows and other texts for its own.
        cursor.row_factory = None
        found = cursor.execute(sql, needed(sql, values)).fetchall()
        return [tuple(map(_text, row)) for row in found]


def begin_of(connection: Any) -> str | None:
    """Return the statement with which `sqlite3` would begin a transaction before a write.

    It does so unless it is in one or was told to leave that to its user.
    """
    legacy = getattr(connection, "autocommit", -1) == -1
    if not legacy or connection.isolation_level is None or connection.in_transaction:
        return None
    return f"begin {connection.isolation_level}"


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
