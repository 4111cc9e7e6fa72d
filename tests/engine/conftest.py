"""An engine on each kind of store, with a clock that the test moves."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.clock import ManualClock, new_rng
from rota.contrib.embedded import EmbeddedPostgres
from rota.engine import Engine
from tests.support.factories import NOW
from tests.support.places import DIALECTS, Place


@pytest.fixture(scope="session")
def database(quick_server: EmbeddedPostgres) -> str:
    """The address of a database that one test after another has to itself."""
    return quick_server.create_database("engine")


@pytest.fixture(params=DIALECTS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place for a store."""
    if request.param == "sqlite":
        return Place("sqlite", str(tmp_path / "rota.db"))
    return Place("postgres", request.getfixturevalue("database"))


@pytest.fixture
def clock() -> ManualClock:
    """The time of the test."""
    return ManualClock(NOW)


@pytest.fixture
def engine(
    place: Place, clock: ManualClock, runner: asyncio.Runner, migrated_file: Path
) -> Iterator[Engine]:
    """An engine whose store is migrated and open."""
    runner.run(place.prepare(migrated_file))
    store = place.store()
    engine = Engine(store, clock, new_rng(1))
    runner.run(engine.open())
    yield engine
    runner.run(engine.close())
