"""Which driver a connection is of, by its type's name: nothing is imported to find out."""

from typing import Any, NamedTuple

from rota.errors import ConfigurationError
from rota.transactions import django, sqlalchemy
from rota.transactions.apsw import ApswConnection
from rota.transactions.asyncpg import AsyncpgConnection
from rota.transactions.borrowed import Awaited, Borrowed, Bridged, Face
from rota.transactions.psycopg import PsycopgAsyncConnection, PsycopgConnection
from rota.transactions.sqlite3 import Sqlite3Connection


class Driver(NamedTuple):
    """How a connection is borrowed, and by which face of Rota."""

    face: Face
    awaited: bool = False


_DRIVERS: dict[tuple[str, str], Driver] = {
    ("psycopg", "Connection"): Driver(PsycopgConnection),
    ("psycopg", "AsyncConnection"): Driver(PsycopgAsyncConnection, awaited=True),
    ("asyncpg", "Connection"): Driver(AsyncpgConnection, awaited=True),
    ("asyncpg", "PoolConnectionProxy"): Driver(AsyncpgConnection, awaited=True),
    ("sqlalchemy", "Connection"): Driver(sqlalchemy.SqlalchemyConnection),
    ("sqlalchemy", "Session"): Driver(sqlalchemy.session),
    ("sqlalchemy", "scoped_session"): Driver(sqlalchemy.session),
    ("sqlalchemy", "AsyncConnection"): Driver(sqlalchemy.SqlalchemyAsyncConnection, awaited=True),
    ("sqlalchemy", "AsyncSession"): Driver(sqlalchemy.SqlalchemyAsyncSession, awaited=True),
    ("sqlalchemy", "async_scoped_session"): Driver(sqlalchemy.SqlalchemyAsyncSession, awaited=True),
    ("django", "BaseDatabaseWrapper"): Driver(django.DjangoConnection),
    ("django", "ConnectionProxy"): Driver(django.DjangoConnection),
    ("sqlite3", "Connection"): Driver(Sqlite3Connection),
    ("apsw", "Connection"): Driver(ApswConnection),
}

SUPPORTED = (
    "psycopg.Connection or AsyncConnection, asyncpg.Connection, SQLAlchemy's Connection, Session, "
    "AsyncConnection or AsyncSession, django.db.connection, sqlite3.Connection, apsw.Connection"
)


def blocking(connection: Any) -> Borrowed:
    """Return a connection for the blocking face; `ConfigurationError` if it is not for that."""
    driver = _driver(connection)
    if driver.awaited:
        raise ConfigurationError(
            f"{_name(connection)} is asynchronous: await the face with an `a` before its name, "
            "for instance `await kind.using(connection=…).asubmit(…)`"
        )
    face: Any = driver.face(connection)
    borrowed: Borrowed = face
    return borrowed


def awaited(connection: Any) -> Awaited | Bridged:
    """Return a connection for the face that is awaited; `ConfigurationError` if it is blocking."""
    driver = _driver(connection)
    if not driver.awaited:
        raise ConfigurationError(
            f"{_name(connection)} blocks: call the face without an `a` before its name, "
            "for instance `kind.using(connection=…).submit(…)`"
        )
    face: Any = driver.face(connection)
    lent: Awaited | Bridged = face
    return lent


def _driver(connection: Any) -> Driver:
    # apsw has asynchronous connections of the same type.
    if not getattr(connection, "is_async", False):
        for base in type(connection).__mro__:
            driver = _DRIVERS.get((base.__module__.partition(".")[0], base.__name__))
            if driver is not None:
                return driver
    raise ConfigurationError(
        f"{_name(connection)} is no connection that Rota knows how to use; it takes {SUPPORTED}"
    )


def _name(connection: Any) -> str:
    kind = type(connection)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
