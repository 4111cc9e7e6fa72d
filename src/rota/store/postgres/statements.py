"""The store's statements, by name, with their parameters as asyncpg wants them: by position."""

from collections.abc import Mapping
from typing import Any

from rota.store.sqlfiles import Statement, blocks, number

Connection = Any
"""An asyncpg connection; the driver carries no types."""
Record = Any
"""A row as asyncpg returns it: it can be indexed and unpacked."""

_STATEMENTS: Mapping[str, Statement] = {
    name: number(text) for name, text in blocks("postgres").items()
}


def statement(name: str) -> Statement:
    """Return a statement; its parameters are numbered in the order of `names`."""
    return _STATEMENTS[name]


async def fetch(connection: Connection, name: str, /, **values: Any) -> list[Record]:
    """Run a statement and return its rows."""
    sql, names = _STATEMENTS[name]
    rows: list[Record] = await connection.fetch(sql, *[values[n] for n in names])
    return rows


async def fetch_value(connection: Connection, name: str, /, **values: Any) -> Any:
    """Run a statement and return the first value of its first row, or None."""
    sql, names = _STATEMENTS[name]
    return await connection.fetchval(sql, *[values[n] for n in names])


async def execute(connection: Connection, name: str, /, **values: Any) -> int:
    """Run a statement and return how many rows it touched."""
    sql, names = _STATEMENTS[name]
    status: str = await connection.execute(sql, *[values[n] for n in names])
    return int(status.rpartition(" ")[2])
