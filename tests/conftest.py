"""Fixtures that every folder of tests may ask for."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import closing
from inspect import iscoroutinefunction, signature
from pathlib import Path

import pytest
from hypothesis import settings

from rota import Rota
from rota.contrib.embedded import EmbeddedPostgres
from tests.support.databases import MEMORY, NOT_SYNCED, Databases, in_memory, roomy
from tests.support.factories import Make

# Before pytest makes a folder for this run. Thousands of tests make a file of SQLite's and more.
if roomy():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files unread that have no test with the mark asked for: to read all takes long.

    A mark stands in the file itself, or in the `conftest.py` beside it.
    """
    mark = config.option.markexpr
    if mark not in ("paced", "alone") or collection_path.suffix != ".py":
        return None
    beside = collection_path.with_name("conftest.py")
    texts = [path.read_text() for path in (collection_path, beside) if path.exists()]
    return None if any(f"mark.{mark}" in text for text in texts) else True


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
    server = EmbeddedPostgres(NOT_SYNCED)
    with in_memory():
        server.__enter__()
    with closing(server):
        yield server


@pytest.fixture(scope="session")
def databases(postgres_server: EmbeddedPostgres) -> Iterator[Databases]:
    """Those of the durable server; "migrated" has the schema, to be copied."""
    yield from _databases(postgres_server)


@pytest.fixture(scope="session")
def quick_databases(quick_server: EmbeddedPostgres) -> Iterator[Databases]:
    """Those of the server that does not wait for the disk; "migrated" has the schema."""
    yield from _databases(quick_server)


def _databases(server: EmbeddedPostgres) -> Iterator[Databases]:
    # To copy a schema takes a tenth of the time of migrating.
    with Rota(server.create_database("migrated")) as app:
        app.migrate()
    with closing(Databases(server)) as databases:
        yield databases


@pytest.fixture
def postgres_url(databases: Databases) -> Iterator[str]:
    """The address of a database with the schema and no tasks, that only this test uses."""
    with databases.one("migrated") as url:
        yield url


@pytest.fixture
def quick_postgres_url(quick_databases: Databases) -> Iterator[str]:
    """Like `postgres_url`, for tests that pull no plug."""
    with quick_databases.one("migrated") as url:
        yield url


@pytest.fixture
def bare_postgres_url(databases: Databases) -> Iterator[str]:
    """The address of an empty database that only this test uses."""
    with databases.one() as url:
        yield url


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
