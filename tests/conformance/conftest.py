"""A store of each kind, and a bound on how long an `async` test may take."""

import asyncio
from collections.abc import Iterator
from inspect import iscoroutinefunction, signature
from pathlib import Path

import pytest

from rota.contrib.embedded import EmbeddedPostgres
from rota.store.base import Store
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
def database() -> Iterator[str]:
    """The address of a database that one test after another has to itself.

    Its server does not wait for the disk: no test here pulls the plug, and there are hundreds.
    """
    with EmbeddedPostgres({"fsync": "off", "full_page_writes": "off"}) as server:
        yield server.create_database("conformance")


@pytest.fixture(params=DIALECTS)
def place(request: pytest.FixtureRequest, tmp_path: Path, runner: asyncio.Runner) -> Place:
    """An empty place for a store; a test for one dialect names it: `indirect=True`."""
    if request.param == "sqlite":
        return Place("sqlite", str(tmp_path / "rota.db"))
    place = Place("postgres", request.getfixturevalue("database"))
    runner.run(place.renew() if "store" in request.fixturenames else place.clear())
    return place


@pytest.fixture
def store(place: Place, runner: asyncio.Runner) -> Iterator[Store]:
    """A migrated, open store."""
    store = place.store()
    runner.run(store.migrate())
    runner.run(place.made())
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
