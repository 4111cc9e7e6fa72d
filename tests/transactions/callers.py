"""Callers with a connection of each driver, all to be used alike by a test.

A caller knows how its driver begins, commits and rolls back, and calls the face of Rota that goes
with it. Callers whose driver blocks do so: nothing else runs in the tests' event loop meanwhile.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from rota import Accepted, Call, CancelOutcome, Rota, Submitted, TaskKind, effects
from rota.model import Claimed
from tests.support.places import Dialect, Place
from tests.transactions.elsewhere import ORDERS


class Caller(ABC):
    """Somebody with a connection: in a transaction from `begin` to `commit` or `rollback`."""

    dialect: ClassVar[Dialect]
    awaits: ClassVar[bool] = False

    def __init__(self, place: Place) -> None:
        self.place = place
        self.connection: Any = None

    # -- its driver -----------------------------------------------------------------------------

    @abstractmethod
    async def open(self, *, autocommit: bool = False) -> None:
        """Connect; with `autocommit` in the driver's way of having no transactions."""

    @abstractmethod
    async def sql(self, text: str) -> None:
        """Run a statement of the caller's own."""

    @abstractmethod
    async def begin(self) -> None:
        """Begin a transaction, where the driver does not do so by itself."""

    @abstractmethod
    async def commit(self) -> None:
        """Commit it."""

    @abstractmethod
    async def rollback(self) -> None:
        """Roll it back."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of the connection; safe to call twice."""

    async def order(self, n: int) -> None:
        """Write a row into a table of the caller's own."""
        await self.sql(f"insert into {ORDERS[self.dialect]} (n) values ({n})")

    @asynccontextmanager
    async def savepoint(self, *, keep: bool) -> AsyncIterator[None]:
        """Undo what is done in the block unless it is to be kept."""
        await self.sql("savepoint mine")
        yield
        if not keep:
            await self.sql("rollback to savepoint mine")
        await self.sql("release savepoint mine")

    # -- the face of Rota that goes with it -----------------------------------------------------

    async def submit(self, kind: TaskKind[..., Any], n: int, **options: Any) -> Accepted:
        """Submit a task on the connection."""
        own = kind.using(connection=self.connection, **options)
        return await own.asubmit(n) if self.awaits else own.submit(n)

    async def submit_many(self, app: Rota, calls: Iterable[Call]) -> Submitted:
        """Submit many on the connection."""
        if self.awaits:
            return await app.asubmit_many(calls, connection=self.connection)
        return app.submit_many(calls, connection=self.connection)

    async def cancel(self, app: Rota, task_id: str, **options: Any) -> CancelOutcome:
        """Cancel a task on the connection."""
        if self.awaits:
            return await app.tasks.acancel(task_id, connection=self.connection, **options)
        return app.tasks.cancel(task_id, connection=self.connection, **options)

    async def once(self, key: str) -> bool:
        """Record an effect on the connection."""
        if self.awaits:
            return await effects.aonce(self.connection, key)
        return effects.once(self.connection, key)

    async def complete(self, task: Claimed, session_id: str, result: Any = None) -> None:
        """Complete a task on the connection."""
        if self.awaits:
            await effects.acomplete(self.connection, task, session_id, result)
        else:
            effects.complete(self.connection, task, session_id, result)


class Psycopg(Caller):
    """psycopg 3."""

    dialect = "postgres"

    async def open(self, *, autocommit: bool = False) -> None:
        import psycopg
        from psycopg.rows import dict_row

        self.connection = psycopg.connect(
            self.place.address, autocommit=autocommit, row_factory=dict_row
        )

    async def sql(self, text: str) -> None:
        self.connection.execute(text)

    async def begin(self) -> None: ...

    async def commit(self) -> None:
        self.connection.commit()

    async def rollback(self) -> None:
        self.connection.rollback()

    async def close(self) -> None:
        self.connection.close()


class PsycopgAsync(Caller):
    """psycopg 3, asynchronous."""

    dialect = "postgres"
    awaits = True

    async def open(self, *, autocommit: bool = False) -> None:
        import psycopg

        self.connection = await psycopg.AsyncConnection.connect(
            self.place.address, autocommit=autocommit
        )

    async def sql(self, text: str) -> None:
        await self.connection.execute(text)

    async def begin(self) -> None: ...

    async def commit(self) -> None:
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()

    async def close(self) -> None:
        await self.connection.close()


class Asyncpg(Caller):
    """asyncpg."""

    dialect = "postgres"
    awaits = True

    async def open(self, *, autocommit: bool = False) -> None:
        import asyncpg

        self.connection = await asyncpg.connect(self.place.address)

    async def sql(self, text: str) -> None:
        await self.connection.execute(text)

    async def begin(self) -> None:
        self.transaction = self.connection.transaction()
        await self.transaction.start()

    async def commit(self) -> None:
        await self.transaction.commit()

    async def rollback(self) -> None:
        await self.transaction.rollback()

    async def close(self) -> None:
        await self.connection.close()


class AsyncpgPool(Asyncpg):
    """asyncpg, with a connection from its pool."""

    async def open(self, *, autocommit: bool = False) -> None:
        import asyncpg

        self.pool = await asyncpg.create_pool(self.place.address, min_size=1, max_size=1)
        self.connection = await self.pool.acquire()

    async def close(self) -> None:
        await self.pool.release(self.connection)
        await self.pool.close()


class Sqlite3(Caller):
    """Python's own sqlite3, which begins by itself before the first write."""

    dialect = "sqlite"

    async def open(self, *, autocommit: bool = False) -> None:
        import sqlite3

        self.connection = sqlite3.connect(
            self.place.address, isolation_level=None if autocommit else "DEFERRED"
        )
        self.connection.row_factory = sqlite3.Row

    async def sql(self, text: str) -> None:
        self.connection.execute(text)

    async def begin(self) -> None: ...

    async def commit(self) -> None:
        self.connection.commit()

    async def rollback(self) -> None:
        self.connection.rollback()

    async def close(self) -> None:
        self.connection.close()


class Apsw(Caller):
    """apsw, the SQLite that Rota itself uses."""

    dialect = "sqlite"

    async def open(self, *, autocommit: bool = False) -> None:
        import apsw
        import apsw.ext

        self.connection = apsw.Connection(self.place.address)
        self.connection.set_busy_timeout(5000)
        self.connection.row_trace = apsw.ext.DataClassRowFactory()

    async def sql(self, text: str) -> None:
        self.connection.execute(text)

    async def begin(self) -> None:
        self.connection.execute("begin immediate")

    async def commit(self) -> None:
        self.connection.execute("commit")

    async def rollback(self) -> None:
        self.connection.execute("rollback")

    async def close(self) -> None:
        self.connection.close()
