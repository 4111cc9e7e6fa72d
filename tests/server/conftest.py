"""A server on each kind of store, asked without a network, with a clock that the test moves."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota import Rota
from rota.clock import ManualClock, new_rng
from rota.contrib.embedded import EmbeddedPostgres
from rota.engine import Engine
from rota.server.front import Front
from rota.server.place import Place as ServerPlace
from rota.server.routes import table
from rota.server.table import Table
from tests.support.asking import Asker, KnownKeys
from tests.support.factories import NOW
from tests.support.places import DIALECTS, Place


@pytest.fixture(scope="session")
def database(quick_server: EmbeddedPostgres) -> str:
    """The address of a database that one test after another has to itself."""
    return quick_server.create_database("server")


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
    """An engine whose store is migrated, empty and open."""
    runner.run(place.prepare(migrated_file))
    store = place.store()
    engine = Engine(store, clock, new_rng(1))
    runner.run(engine.open())
    yield engine
    runner.run(engine.close())


@pytest.fixture
def app() -> Rota:
    """The app whose kinds the server knows."""
    app = Rota("sqlite:///unused.db")

    @app.task(queue="sms", priority=2)
    async def send_result(student_id: int, phone: str = "") -> str:
        return f"{student_id}{phone}"

    @app.task
    def report(day: str) -> str:
        return day

    return app


@pytest.fixture
def keys() -> KnownKeys:
    """Access with keys that are called like roles: `admin`, `read`, `submit@board`."""
    return KnownKeys()


@pytest.fixture
def server(app: Rota, engine: Engine, keys: KnownKeys) -> Front:
    """The application that answers."""
    return Front(ServerPlace(app, engine, rng=new_rng(2)), Table(table()), keys)


@pytest.fixture
def asker(server: Front) -> Asker:
    """Asks the server with an admin's key."""
    return Asker(server, "admin")
