"""Fixtures that every folder of tests may ask for."""

import asyncio
import os
from collections.abc import Iterator
from inspect import iscoroutinefunction, signature
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from rota import Rota
from rota.contrib.embedded import EmbeddedPostgres
from tests.support.factories import Make

_databases = count(1)

# How long an example takes tells of the machine, not of the code; one that hangs hits the timeout.
settings.register_profile("rota", deadline=None)
settings.load_profile("rota")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async` test on the loop that its fixtures ran on."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = signature(pyfuncitem.obj).parameters
    test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted})
    runner = pyfuncitem.funcargs["runner"]
    assert isinstance(runner, asyncio.Runner)
    runner.run(test)
    return True


BACKLOG = ("test_plans_postgres.py", "test_plans_sqlite.py", "test_search_cost.py")
"""Files that share what takes long to make: one process runs them all."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow files where several run at once: one that begins last is waited for.

    Each process begins with a stretch of its own, and helps the others when it is done. A file
    stays whole, for what its tests share.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    if processes == 1 or not slow:
        return
    ranked = sorted(slow, key=lambda path: (path.name not in BACKLOG, str(path)))
    shared = [path for path in ranked if path.name in BACKLOG]
    others = [path for path in ranked if path.name not in BACKLOG]
    stretches = [shared, *(others[n :: processes - 1] for n in range(processes - 1))]
    quick = [item for item in items if item.path not in slow]
    size, ordered = len(items) // processes, []
    for stretch in stretches:
        mine = [item for path in stretch for item in items if item.path == path]
        room = max(size - len(mine), 0)
        ordered += mine + quick[:room]
        quick = quick[room:]
    items[:] = ordered + quick


@pytest.fixture(autouse=True)
def runner() -> Iterator[asyncio.Runner]:
    """The event loop of this test and its fixtures."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedPostgres]:
    """One PostgreSQL server with its default durability for the whole run."""
    with EmbeddedPostgres() as server:
        yield server


@pytest.fixture(scope="session")
def quick_server() -> Iterator[EmbeddedPostgres]:
    """A server that does not wait for the disk, for the thousands of tests that pull no plug."""
    with EmbeddedPostgres({"fsync": "off", "full_page_writes": "off"}) as server:
        yield server


@pytest.fixture(scope="session")
def migrated(postgres_server: EmbeddedPostgres) -> str:
    """The name of a database with the schema: a copy takes a tenth of the time of migrating."""
    with Rota(postgres_server.create_database("migrated")) as app:
        app.migrate()
    return "migrated"


@pytest.fixture
def postgres_url(postgres_server: EmbeddedPostgres, migrated: str) -> Iterator[str]:
    """The address of a database with the schema and no tasks, that only this test uses."""
    name = f"test_{next(_databases)}"
    yield postgres_server.create_database(name, template=migrated)
    postgres_server.drop_database(name)


@pytest.fixture(scope="session")
def migrated_quickly(quick_server: EmbeddedPostgres) -> str:
    """The name of a database with the schema on the server that does not wait for the disk."""
    with Rota(quick_server.create_database("migrated")) as app:
        app.migrate()
    return "migrated"


@pytest.fixture
def quick_postgres_url(quick_server: EmbeddedPostgres, migrated_quickly: str) -> Iterator[str]:
    """Like `postgres_url`, for tests that pull no plug."""
    name = f"test_{next(_databases)}"
    yield quick_server.create_database(name, template=migrated_quickly)
    quick_server.drop_database(name)


@pytest.fixture
def bare_postgres_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """The address of an empty database that only this test uses."""
    name = f"test_{next(_databases)}"
    yield postgres_server.create_database(name)
    postgres_server.drop_database(name)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the schema, to be copied: to migrate takes fifty times as long."""
    path = tmp_path_factory.mktemp("migrated") / "rota.db"
    with Rota(f"sqlite:///{path}") as app:
        app.migrate()
    return path


@pytest.fixture
def make() -> Make:
    """Makes this test's tasks and sessions."""
    return Make()
