"""Connections of psycopg 3, blocking and asynchronous."""

from typing import Any

from rota.transactions.borrowed import Dialect, Rows, Values, needed, percent


class PsycopgConnection:
    """A `psycopg.Connection`."""

    dialect: Dialect = "postgres"
    begins = None

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def run(self, sql: str, values: Values) -> Rows:
        with self._connection.cursor(row_factory=_row) as cursor:
            cursor.execute(percent(sql), needed(sql, values))
            rows: Rows = cursor.fetchall()
            return rows


class PsycopgAsyncConnection:
    """A `psycopg.AsyncConnection`."""

    dialect: Dialect = "postgres"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def run(self, sql: str, values: Values) -> Rows:
        async with self._connection.cursor(row_factory=_row) as cursor:
            await cursor.execute(percent(sql), needed(sql, values))
            rows: Rows = await cursor.fetchall()
            return rows


def _row(_cursor: Any) -> Any:
    """Make rows tuples, whatever the caller has chosen for its own."""
    return tuple
