"""Where the two kinds of store lie, and a look into their tables from outside."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import copyfile
from typing import Any, Literal

import apsw
import asyncpg
from msgspec import Struct

from rota.store.base import Store

Dialect = Literal["sqlite", "postgres"]

DIALECTS: tuple[Dialect, ...] = ("sqlite", "postgres")
TABLES = (
    "scheduled",
    "ready",
    "dead_letter",
    "finished",
    "task_key",
    "session",
    "tally",
    "effect",
    "schedule",
    "slot",
    "skip",
    "setting",
    "lane_limit",
    "statistic",
    "service",
    "duty",
    "action",
    "access_key",
    "login",
    "audit",
    "server_secret",
    "submission",
    "alert_rule",
    "alert",
    "webhook",
    "alert_turn",
)


_DISCONNECT = """
    select pg_terminate_backend(pid)
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
"""

_MARKS = """
    select string_agg(mark, ' ' order by mark)
    from (
        select concat_ws(' ', oid, relname, reloptions, relnatts)
        from pg_class
        where relnamespace = to_regnamespace('rota')
        union all
        select concat_ws(' ', oid, proname, md5(prosrc), proconfig)
        from pg_proc
        where pronamespace = to_regnamespace('rota')
        union all
        select concat_ws(' ', oid, tgname)
        from pg_trigger
        union all
        select concat_ws(' ', datname, setconfig)
        from pg_db_role_setting
        left join pg_database
            on pg_database.oid = setdatabase
    ) as one (mark)
"""
"""What there is in the schema, down to its settings: a test may have changed any of it."""

_EMPTY = f"""
    do $$
    declare
        filled text;
    begin
        -- A table without a page never had a row; of history each day is a table of its own.
        select string_agg(format('rota.%I', relname), ', ') into filled
        from pg_class
        where relnamespace = to_regnamespace('rota')
            and relname = any(array{[*TABLES, "cancel_request"]})
            and (relkind = 'p' or pg_relation_size(oid) > 0);
        if filled is not null then
            execute 'truncate ' || filled;
        end if;
    end
    $$
"""

_AT_FIRST = "update settings_version set version = 0"

_MIGRATED = "select number, name from migration order by number"

_made: dict[str, tuple[str, list[tuple[Any, ...]]]] = {}


class Place(Struct, frozen=True):
    """Where a store lies; any number of stores, in any number of processes, may open it."""

    dialect: Dialect
    address: str

    def store(self) -> Store:
        """A store on this place, neither migrated nor open."""
        if self.dialect == "sqlite":
            from rota.store.sqlite import SQLiteStore

            return SQLiteStore(Path(self.address))
        from rota.store.postgres import PostgresStore

        return PostgresStore(self.address)

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run one statement beside the stores, on a connection of its own."""
        if self.dialect == "sqlite":
            connection = apsw.Connection(self.address)
            connection.set_busy_timeout(5000)
            try:
                return [tuple(row) for row in connection.execute(sql)]
            finally:
                connection.close()
        async with self.connection() as line:
            return [tuple(row) for row in await line.fetch(sql)]

    async def value(self, sql: str) -> Any:
        """Run one statement that answers one value."""
        return (await self.rows(sql))[0][0]

    async def wipe(self) -> None:
        """Empty every table."""
        await self.run("; ".join([*(f"delete from {table}" for table in TABLES), _AT_FIRST]))

    async def clear(self) -> None:
        """Make PostgreSQL forget every table, and whoever an earlier test left connected."""
        await self.run(f"{_DISCONNECT}; drop schema if exists rota cascade")

    async def made(self) -> None:
        """Take note that the schema is now as it was made."""
        if self.dialect == "postgres" and self.address not in _made:
            _made[self.address] = (await self.value(_MARKS), await self.rows(_MIGRATED))

    async def renew(self) -> bool:
        """Empty PostgreSQL's tables if the schema is as it was made; otherwise clear it.

        Says which. To make it anew for each test would take most of their time.
        """
        marks, migrated = _made.get(self.address, (None, []))
        if marks is not None:
            async with self.connection() as line:
                same = await line.fetchval(_MARKS) == marks
                if same and [tuple(row) for row in await line.fetch(_MIGRATED)] == migrated:
                    await line.execute(_DISCONNECT)
                    await line.execute(_EMPTY)
                    await line.execute(_AT_FIRST)
                    return True
        await self.clear()
        _made.pop(self.address, None)
        return False

    async def prepare(self, template: Path) -> None:
        """Make a store that is migrated and empty; on SQLite it is a copy of one."""
        if self.dialect == "sqlite":
            copyfile(template, self.address)
        elif not await self.renew():
            store = self.store()
            await store.migrate()
            await store.close()
            await self.made()

    async def run(self, script: str) -> None:
        """Run a few statements as one transaction."""
        if self.dialect == "sqlite":
            await self.rows(f"begin immediate; {script}; commit")
            return
        async with self.connection() as line:
            await line.execute(script)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A plain connection to PostgreSQL that finds the tables by their bare names."""
        connection = await asyncpg.connect(self.address, server_settings={"search_path": "rota"})
        try:
            yield connection
        finally:
            # Not in good order: a test that failed may have left a statement under way.
            connection.terminate()
