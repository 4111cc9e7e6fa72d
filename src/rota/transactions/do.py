"""Does a piece of work on a caller's connection, whatever driver that is of."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rota.errors import SchemaOutOfDate
from rota.store.sqlfiles import blocks
from rota.transactions import recognise
from rota.transactions.borrowed import Awaited, Borrowed, Bridged
from rota.transactions.home import Home
from rota.transactions.work import Work

T = TypeVar("T")

_NOT_THERE = {
    "3F000",  # schema
    "42P01",  # table
    "42883",  # function
}


def do(connection: Any, work: Work[T], home: Home | None = None) -> T:
    """Do the work on a connection that blocks; it is part of whatever transaction that is in.

    `ConfigurationError` if the connection is none that can be used. What the driver raises leaves
    as it is, and the transaction in the state that the driver's own rules give it.
    """
    with _schema_said():
        return _do(recognise.blocking(connection), work, home)


async def ado(connection: Any, work: Work[T], home: Home | None = None) -> T:
    """Do what `do` does on a connection that is awaited, in the caller's own event loop."""
    lent = recognise.awaited(connection)
    with _schema_said():
        if isinstance(lent, Bridged):
            return await lent.through(lambda borrowed: _do(borrowed, work, home))
        return await _ado(lent, work, home)


def _do(borrowed: Borrowed, work: Work[T], home: Home | None) -> T:
    if home is not None:
        home.check(borrowed.dialect)
    if borrowed.dialect == "sqlite":
        from rota.transactions import sqlite

        return sqlite.do(borrowed, work, home)
    if home is not None and not home.looked:
        home.take_in(borrowed.run(_block("look_inside"), {}))
    return work.answer(borrowed.run(_block(work.block), work.values))


async def _ado(lent: Awaited, work: Work[T], home: Home | None) -> T:
    if home is not None:
        home.check(lent.dialect)
        if not home.looked:
            home.take_in(await lent.run(_block("look_inside"), {}))
    return work.answer(await lent.run(_block(work.block), work.values))


def _block(name: str) -> str:
    return blocks("postgres")[name]


@contextmanager
def _schema_said() -> Iterator[None]:
    """Say what to do where the driver only says that something is not there."""
    try:
        yield
    except Exception as error:
        if not _not_there(error):
            raise
        raise SchemaOutOfDate(
            "the database of this connection lacks a part of Rota's schema; "
            f"run `rota migrate` on it ({error})"
        ) from error


def _not_there(error: Exception) -> bool:
    # SQLAlchemy and Django wrap what the driver raised.
    for one in (error, getattr(error, "orig", None), error.__cause__):
        code = getattr(one, "sqlstate", None) or getattr(one, "pgcode", None)
        if code in _NOT_THERE or "no such table" in str(one):
            return True
    return False
