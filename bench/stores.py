"""Where the benchmarks run: fresh stores of either kind, as durable as a user's would be."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import asyncpg

from bench.app import bench_app
from bench.machine import machine, postgres_facts, postgres_settings, sqlite_facts
from bench.options import Options
from rota.contrib.embedded import EmbeddedPostgres
from rota.errors import ConfigurationError
from rota.store.sqlite.connection import connect

# What the server logs is read by the benchmark that counts statements; nothing is logged before
# a database asks for it.
_SETTINGS = {"logging_collector": "on", "log_filename": "bench.log", "log_line_prefix": "[%d] "}


class Ground(Protocol):
    """Makes fresh stores of one kind, and looks into them from outside."""

    home: str
    """An address where nothing is measured; on SQLite there is none."""

    def fresh(self) -> Any:
        """Return a context manager that yields the address of an empty store and removes it."""
        ...

    def settle(self, url: str) -> None:
        """Do the upkeep now that the store would otherwise do while it is measured."""
        ...

    def rows(self, url: str, sql: str) -> list[tuple[Any, ...]]:
        """Run one statement beside the store."""
        ...

    def table(self, name: str) -> str:
        """Return a table's name as a statement needs it."""
        ...

    def facts(self) -> dict[str, str]:
        """Return the machine, the versions and the durability that the figures belong to."""
        ...


def count_rows(ground: Ground, url: str, table: str) -> int:
    """Return how many rows a table has."""
    return int(ground.rows(url, f"select count(*) from {ground.table(table)}")[0][0])


@contextmanager
def ground(options: Options) -> Iterator[Ground]:
    """Yield where the stores of this run shall lie.

    Without an address it is a folder for temporary files, or an embedded PostgreSQL. With one it
    is the folder of that SQLite file, or that server: the databases are made beside the one
    named, whose content is not touched.
    """
    if options.store == "sqlite":
        with _folder(options.url) as folder:
            yield SQLiteGround(folder)
    elif options.url is not None:
        yield PostgresGround(options.url, Path(tempfile.gettempdir()))
    else:
        with EmbeddedPostgres(_SETTINGS) as server:
            yield PostgresGround(server.url, Path(tempfile.gettempdir()))


@contextmanager
def _folder(url: str | None) -> Iterator[Path]:
    parent = None
    if url is not None:
        if not url.startswith("sqlite:///"):
            raise ConfigurationError("--url for --store sqlite is sqlite:///file.db")
        parent = Path(url.removeprefix("sqlite:///")).parent
    folder = Path(tempfile.mkdtemp(prefix="rota-bench-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class SQLiteGround:
    """Fresh files in one folder."""

    def __init__(self, folder: Path) -> None:
        self.home = ""
        self._folder = folder
        self._numbers = count(1)

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """Yield the address of a migrated file and remove it afterwards."""
        path = self._folder / f"bench-{next(self._numbers)}.db"
        url = f"sqlite:///{path}"
        try:
            with bench_app(url).app as app:
                app.migrate()
            yield url
        finally:
            for file in self._folder.glob(f"{path.name}*"):
                file.unlink()

    def settle(self, url: str) -> None:
        """Move the write-ahead log into the file, so that both sides begin with an empty one."""
        self.rows(url, "pragma wal_checkpoint(truncate)")

    def rows(self, url: str, sql: str) -> list[tuple[Any, ...]]:
        """Run one statement on a connection of its own."""
        connection = connect(Path(url.removeprefix("sqlite:///")))
        try:
            return [tuple(row) for row in connection.execute(sql)]
        finally:
            connection.close()

    def table(self, name: str) -> str:
        """Return the name as it is."""
        return name

    def facts(self) -> dict[str, str]:
        """Return the machine, SQLite's version and its durability."""
        with self.fresh() as url:
            return machine(self._folder) | sqlite_facts(Path(url.removeprefix("sqlite:///")))


class PostgresGround:
    """Fresh databases on one server, copied from one that was migrated once."""

    def __init__(self, url: str, folder: Path) -> None:
        self.home = url
        self._folder = folder
        self._numbers = count(1)

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """Yield the address of a migrated database and remove it afterwards."""
        name = f"rota_bench_{next(self._numbers)}"
        url = urlsplit(self.home)._replace(path=f"/{name}").geturl()
        # Left over from a run that was killed: the name is ours.
        self.rows(self.home, f"drop database if exists {name} with (force)")
        self.rows(self.home, f"create database {name}")
        try:
            with bench_app(url).app as app:
                app.migrate()
            yield url
        finally:
            self.rows(self.home, f"drop database if exists {name} with (force)")

    def settle(self, url: str) -> None:
        """Give the planner its statistics, and write out what the preload left in memory."""
        self.rows(url, "vacuum analyze")
        self.rows(url, "checkpoint")

    def rows(self, url: str, sql: str) -> list[tuple[Any, ...]]:
        """Run one statement on a connection of its own."""

        async def work() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(url)
            try:
                return [tuple(row) for row in await connection.fetch(sql, timeout=600)]
            finally:
                await connection.close()

        return asyncio.run(work())

    def table(self, name: str) -> str:
        """Return the name within Rota's schema."""
        return f"rota.{name}"

    def facts(self) -> dict[str, str]:
        """Return the machine, PostgreSQL's version and its durability."""

        async def settings() -> dict[str, str]:
            connection = await asyncpg.connect(self.home)
            try:
                return await postgres_settings(connection)
            finally:
                await connection.close()

        return machine(self._folder) | postgres_facts(asyncio.run(settings()))
