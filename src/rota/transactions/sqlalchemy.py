"""Connections and sessions of SQLAlchemy 2, blocking and asynchronous, on whatever driver."""

from collections.abc import Callable
from typing import Any, TypeVar

from rota.errors import ConfigurationError
from rota.transactions.borrowed import Borrowed, Dialect, Rows, Values, needed
from rota.transactions.sqlite3 import begin_of

T = TypeVar("T")

_DIALECTS: dict[str, Dialect] = {"postgresql": "postgres", "sqlite": "sqlite"}


class SqlalchemyConnection:
    """A `sqlalchemy.Connection`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        name = connection.dialect.name
        if name not in _DIALECTS:
            raise ConfigurationError(
                f"Rota's tasks lie in PostgreSQL or SQLite; this connection is to {name}"
            )
        self.dialect = _DIALECTS[name]

    @property
    def begins(self) -> str | None:
        driver = self._connection.connection.driver_connection
        return begin_of(driver) if hasattr(driver, "isolation_level") else None

    def run(self, sql: str, values: Values) -> Rows:
        import sqlalchemy

        result = self._connection.execute(sqlalchemy.text(sql), needed(sql, values))
        return [tuple(row) for row in result] if result.returns_rows else []


def session(session: Any) -> SqlalchemyConnection:
    """Return the connection that a `sqlalchemy.orm.Session` has its transaction on."""
    return SqlalchemyConnection(session.connection())


class SqlalchemyAsyncConnection:
    """A `sqlalchemy.ext.asyncio.AsyncConnection`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def through(self, use: Callable[[Borrowed], T]) -> T:
        value: T = await self._connection.run_sync(lambda c: use(SqlalchemyConnection(c)))
        return value


class SqlalchemyAsyncSession:
    """A `sqlalchemy.ext.asyncio.AsyncSession`."""

    def __init__(self, session: Any) -> None:
        self._session = session

    async def through(self, use: Callable[[Borrowed], T]) -> T:
        value: T = await self._session.run_sync(lambda s: use(session(s)))
        return value
