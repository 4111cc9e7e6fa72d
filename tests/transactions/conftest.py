"""A place with a table of the caller's own, an app on it, and each caller in turn."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from rota import Rota, TaskKind
from rota.contrib.embedded import EmbeddedPostgres
from tests.support.places import Place
from tests.transactions import callers, frameworks
from tests.transactions.callers import Caller
from tests.transactions.elsewhere import ORDERS, Elsewhere

CALLERS: list[type[Caller]] = [
    callers.Psycopg,
    callers.PsycopgAsync,
    callers.Asyncpg,
    callers.AsyncpgPool,
    frameworks.Alchemy,
    frameworks.AlchemySession,
    frameworks.AlchemyScoped,
    frameworks.AlchemyAsync,
    frameworks.AlchemyAsyncSession,
    frameworks.Django,
    callers.Sqlite3,
    callers.Apsw,
    frameworks.AlchemyOnSqlite,
    frameworks.AlchemySessionOnSqlite,
    frameworks.AlchemyAsyncOnSqlite,
    frameworks.DjangoOnSqlite,
]


@pytest.fixture(scope="session")
def database(quick_server: EmbeddedPostgres) -> str:
    """The address of a database that one test after another has to itself."""
    return quick_server.create_database("transactions")


@pytest.fixture(scope="session")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Another process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def place(
    request: pytest.FixtureRequest, tmp_path: Path, runner: asyncio.Runner, migrated_file: Path
) -> Place:
    """A migrated place for the caller's dialect, with a table of the caller's own: `orders`."""
    kind = request.getfixturevalue("kind") if "kind" in request.fixturenames else None
    dialect = request.param if hasattr(request, "param") else kind.dialect if kind else "postgres"
    if dialect == "sqlite":
        place = Place("sqlite", str(tmp_path / "rota.db"))
    else:
        place = Place("postgres", request.getfixturevalue("database"))
    runner.run(_prepare(place, migrated_file))
    return place


async def _prepare(place: Place, migrated_file: Path) -> None:
    await place.prepare(migrated_file)
    orders = ORDERS[place.dialect]
    await place.run(f"drop table if exists {orders}; create table {orders} (n integer)")


@pytest.fixture(params=CALLERS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> type[Caller]:
    """Each caller in turn."""
    found: type[Caller] = request.param
    return found


@pytest.fixture
def caller(kind: type[Caller], place: Place, runner: asyncio.Runner) -> Iterator[Caller]:
    """A caller who is connected, and not in a transaction."""
    caller = kind(place)
    runner.run(caller.open())
    yield caller
    runner.run(caller.close())


@pytest.fixture
def app(place: Place) -> Iterator[Rota]:
    """An app on the place."""
    url = place.address if place.dialect == "postgres" else f"sqlite:///{place.address}"
    with Rota(url) as app:
        yield app


@pytest.fixture
def send(app: Rota) -> TaskKind[[int], None]:
    """The one kind of the app."""

    @app.task
    def send(n: int) -> None: ...

    return send


@pytest.fixture
def elsewhere(place: Place, pool: ProcessPoolExecutor) -> Elsewhere:
    """A look at the place from another process."""
    return Elsewhere(place, pool)
