"""Connections of asyncpg, also those that a pool has lent."""

from typing import Any

from rota.store.sqlfiles import number
from rota.transactions.borrowed import Dialect, Rows, Values


class AsyncpgConnection:
    """An `asyncpg.Connection`."""

    dialect: Dialect = "postgres"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def run(self, sql: str, values: Values) -> Rows:
        text, names = number(sql)
        found = await self._connection.fetch(text, *[values[name] for name in names])
        return [tuple(row) for row in found]
