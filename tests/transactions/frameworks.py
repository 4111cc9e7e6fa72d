"""Callers whose connection is that of SQLAlchemy or Django."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from tests.support.places import Dialect, Place
from tests.transactions.callers import Caller

ALIAS = "transactions"
"""The name of the database in Django's settings."""


class Alchemy(Caller):
    """SQLAlchemy's Connection."""

    dialect: ClassVar[Dialect] = "postgres"
    driver: ClassVar[str] = "postgresql+psycopg"

    @property
    def url(self) -> str:
        """The address as SQLAlchemy wants it."""
        if self.dialect == "sqlite":
            return f"{self.driver}:///{self.place.address}"
        return self.place.address.replace("postgresql", self.driver, 1)

    async def open(self, *, autocommit: bool = False) -> None:
        import sqlalchemy

        level = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
        self.engine = sqlalchemy.create_engine(self.url, poolclass=sqlalchemy.NullPool, **level)
        self.connection = self.engine.connect()

    async def sql(self, text: str) -> None:
        import sqlalchemy

        self.connection.execute(sqlalchemy.text(text))

    async def begin(self) -> None: ...

    async def commit(self) -> None:
        self.connection.commit()

    async def rollback(self) -> None:
        self.connection.rollback()

    @asynccontextmanager
    async def savepoint(self, *, keep: bool) -> AsyncIterator[None]:
        nested = self.connection.begin_nested()
        yield
        nested.commit() if keep else nested.rollback()

    async def close(self) -> None:
        self.connection.close()
        self.engine.dispose()


class AlchemySession(Alchemy):
    """SQLAlchemy's Session."""

    async def open(self, *, autocommit: bool = False) -> None:
        from sqlalchemy.orm import Session

        await super().open(autocommit=autocommit)
        self.connection.close()
        self.connection = Session(self.engine)


class AlchemyScoped(Alchemy):
    """SQLAlchemy's scoped_session, as web frameworks have it."""

    async def open(self, *, autocommit: bool = False) -> None:
        from sqlalchemy.orm import scoped_session, sessionmaker

        await super().open(autocommit=autocommit)
        self.connection.close()
        self.connection = scoped_session(sessionmaker(self.engine))


class AlchemyAsync(Alchemy):
    """SQLAlchemy's AsyncConnection."""

    driver = "postgresql+asyncpg"
    awaits = True

    async def open(self, *, autocommit: bool = False) -> None:
        import sqlalchemy
        from sqlalchemy.ext.asyncio import create_async_engine

        level = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
        self.engine: Any = create_async_engine(self.url, poolclass=sqlalchemy.NullPool, **level)
        self.connection = await self.engine.connect()

    async def sql(self, text: str) -> None:
        import sqlalchemy

        await self.connection.execute(sqlalchemy.text(text))

    async def commit(self) -> None:
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()

    @asynccontextmanager
    async def savepoint(self, *, keep: bool) -> AsyncIterator[None]:
        nested = await self.connection.begin_nested()
        yield
        await (nested.commit() if keep else nested.rollback())

    async def close(self) -> None:
        await self.connection.close()
        await self.engine.dispose()


class AlchemyAsyncSession(AlchemyAsync):
    """SQLAlchemy's AsyncSession, on the asynchronous psycopg."""

    driver = "postgresql+psycopg_async"

    async def open(self, *, autocommit: bool = False) -> None:
        from sqlalchemy.ext.asyncio import AsyncSession

        await super().open(autocommit=autocommit)
        await self.connection.close()
        self.connection = AsyncSession(self.engine)


class AlchemyOnSqlite(Alchemy):
    """SQLAlchemy's Connection to a SQLite file."""

    dialect = "sqlite"
    driver = "sqlite"


class AlchemySessionOnSqlite(AlchemySession):
    """SQLAlchemy's Session on a SQLite file."""

    dialect = "sqlite"
    driver = "sqlite"


class AlchemyAsyncOnSqlite(AlchemyAsync):
    """SQLAlchemy's AsyncConnection to a SQLite file."""

    dialect = "sqlite"
    driver = "sqlite+aiosqlite"


class Django(Caller):
    """Django's connection to PostgreSQL."""

    dialect: ClassVar[Dialect] = "postgres"

    async def open(self, *, autocommit: bool = False) -> None:
        from django.db import connections

        # The test around it is asynchronous; the connection is used in no other task.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
        connections.settings[ALIAS] = settings_of(self.place)
        self.connection = connections[ALIAS]

    async def sql(self, text: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(text)

    async def begin(self) -> None:
        self.atomic = _atomic()
        self.atomic.__enter__()

    async def commit(self) -> None:
        self.atomic.__exit__(None, None, None)

    async def rollback(self) -> None:
        self.connection.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    @asynccontextmanager
    async def savepoint(self, *, keep: bool) -> AsyncIterator[None]:
        nested = _atomic()
        nested.__enter__()
        yield
        if not keep:
            self.connection.set_rollback(True)
        nested.__exit__(None, None, None)

    async def close(self) -> None:
        from django.db import connections

        self.connection.close()
        connections.settings.pop(ALIAS, None)
        if hasattr(connections._connections, ALIAS):
            del connections[ALIAS]


class DjangoOnSqlite(Django):
    """Django's connection to a SQLite file."""

    dialect = "sqlite"


def _atomic() -> Any:
    from django.db import transaction

    return transaction.atomic(using=ALIAS)


def settings_of(place: Place) -> dict[str, Any]:
    """What a Django project would say in DATABASES."""
    import django
    from django.conf import settings
    from django.db.utils import ConnectionHandler

    if not settings.configured:
        settings.configure(USE_TZ=True)
        django.setup()
    engines: dict[Dialect, str] = {"postgres": "postgresql", "sqlite": "sqlite3"}
    wanted: dict[str, Any] = {"ENGINE": f"django.db.backends.{engines[place.dialect]}"}
    if place.dialect == "sqlite":
        wanted["NAME"] = place.address
    else:
        from psycopg.conninfo import conninfo_to_dict

        found = conninfo_to_dict(place.address)
        wanted |= {
            "NAME": found["dbname"],
            "HOST": found["host"],
            "PORT": found["port"],
            "USER": found["user"],
        }
    handler = ConnectionHandler({"default": wanted})
    settings_: dict[str, Any] = handler.settings["default"]
    return settings_
