"""A store of each kind, and a bound on how long an `async` test may take."""

import asyncio
from collections.abc import Iterator
from inspect import iscoroutinefunction, signature
from pathlib import Path

import pytest

from rota.contrib.embedded import EmbeddedPostgres
from rota.store.base import Store
from tests.conformance.backlog import pile_up
from tests.support.places import DIALECTS, Place

SECONDS = 45.0
"""No test takes longer; one that hangs is ended from within, so that its fixtures can end too."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async` test on the loop that its fixtures ran on."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = signature(pyfuncitem.obj).parameters
    test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted})
    runner = pyfuncitem.funcargs["runner"]
    assert isinstance(runner, asyncio.Runner)
    runner.run(asyncio.wait_for(test, SECONDS))
    return True


@pytest.fixture(scope="session")
def database(quick_server: EmbeddedPostgres) -> str:
    """The address of a database that one test after another has to itself."""
    return quick_server.create_database("conformance")


@pytest.fixture(scope="session")
def postgres_backlog() -> Iterator[str]:
    """The address of a database with a backlog, about which PostgreSQL has no statistics yet.

    It takes long to make; the tests that read plans use it one after another.
    """
    settings = {"fsync": "off", "autovacuum": "off", "shared_buffers": "256MB"}
    with EmbeddedPostgres(settings) as server:
        asyncio.run(pile_up(Place("postgres", server.url)))
        yield server.url


@pytest.fixture(scope="session")
def sqlite_backlog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a backlog, about which SQLite has no statistics yet."""
    path = tmp_path_factory.mktemp("backlog") / "rota.db"
    asyncio.run(pile_up(Place("sqlite", str(path))))
    return path


@pytest.fixture(params=DIALECTS)
def place(request: pytest.FixtureRequest, tmp_path: Path, runner: asyncio.Runner) -> Place:
    """An empty place for a store; a test for one dialect names it: `indirect=True`."""
    with_store = "store" in request.fixturenames
    if request.param == "sqlite":
        place = Place("sqlite", str(tmp_path / "rota.db"))
    else:
        place = Place("postgres", request.getfixturevalue("database"))
    if with_store:
        runner.run(place.prepare(request.getfixturevalue("migrated_file")))
    elif place.dialect == "postgres":
        runner.run(place.clear())
    return place


@pytest.fixture
def store(place: Place, runner: asyncio.Runner) -> Iterator[Store]:
    """A migrated, open store."""
    store = place.store()
    runner.run(store.open())
    yield store
    runner.run(store.close())


@pytest.fixture
def other(place: Place, store: Store, runner: asyncio.Runner) -> Iterator[Store]:
    """A second store on the same place, as another process would have it."""
    other = place.store()
    runner.run(other.open())
    yield other
    runner.run(other.close())
