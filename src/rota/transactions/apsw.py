"""Connections of apsw: those that see the locks of Rota's own, for both are one SQLite."""

from typing import Any

from rota.transactions.borrowed import Dialect, Rows, Values, needed


class ApswConnection:
    """An `apsw.Connection`."""

    dialect: Dialect = "sqlite"
    begins = None

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def run(self, sql: str, values: Values) -> Rows:
        connection = self._connection
        # The caller may have chosen other rows for its own.
        chosen, connection.row_trace = connection.row_trace, None
        try:
            return [tuple(row) for row in connection.execute(sql, needed(sql, values))]
        finally:
            connection.row_trace = chosen
