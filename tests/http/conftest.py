"""An app whose tasks lie behind a server: the suites of clients run over it too (R8.4)."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota import Rota
from rota.backend import Backend
from rota.clock import ManualClock
from rota.http.backend import HttpBackend
from rota.model import Staged
from rota.schedule import Admitted, Fired
from rota.store.sqlite import SQLiteStore
from tests.support.hands import Hands
from tests.support.serving import KEY, Served, Serving


@pytest.fixture(scope="session")
def listening() -> Iterator[Serving]:
    """One server for all tests, with one file after the other behind it."""
    with Serving() as serving:
        yield serving


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the schema: a copy takes a tenth of the time of migrating."""
    path = tmp_path_factory.mktemp("migrated") / "rota.db"

    async def migrate() -> None:
        store = SQLiteStore(path)
        await store.migrate()
        await store.close()

    asyncio.run(migrate())
    return path


@pytest.fixture
def store(migrated_file: Path, tmp_path: Path) -> SQLiteStore:
    """A store on an empty file of the test's own."""
    return SQLiteStore(Path(shutil.copy(migrated_file, tmp_path / "rota.db")))


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    """The key that programs find in their environment."""
    monkeypatch.setenv("ROTA_TOKEN", KEY)
    return KEY


@pytest.fixture
def served(listening: Serving, store: SQLiteStore) -> Iterator[Served]:
    """The store behind the server."""
    with listening.on(store) as served:
        yield served


@pytest.fixture
def url(served: Served) -> str:
    """The address of the server."""
    return served.url


@pytest.fixture
def app(url: str) -> Iterator[Rota]:
    """An app that reaches its tasks through a server."""
    with Rota(url) as app:
        yield app


@pytest.fixture
def hands(app: Rota) -> Hands:
    """Who takes the app's tasks and ends them."""
    return Hands(app)


@pytest.fixture
def clock() -> ManualClock:
    """A time that stands still until a test moves it."""
    return ManualClock()


class DutifulBackend(HttpBackend):
    """The client of a server that does its duties when a test says so."""

    served: Served

    async def stage(self) -> Staged:
        return await self.served.arun(self.served.place.engine.stage)

    async def admit(self) -> Admitted:
        return await self.served.arun(self.served.place.engine.admit)

    async def fire(self) -> Fired:
        return await self.served.arun(self.served.place.engine.fire)

    async def reap(self) -> int:
        return await self.served.arun(self.served.place.engine.reap)

    async def sweep(self) -> int:
        return await self.served.arun(self.served.place.engine.sweep)

    async def prune(self) -> int:
        return await self.served.arun(self.served.place.engine.prune)


@pytest.fixture
def still(listening: Serving, store: SQLiteStore, clock: ManualClock) -> Iterator[Rota]:
    """An app whose time, and whose server's time, is `clock`."""
    with listening.on(store, clock=clock) as served:

        class Still(Rota):
            def connect(self) -> Backend:
                backend = DutifulBackend(self.url, KEY, clock)
                backend.served = served
                return backend  # type: ignore[return-value]

        with Still(served.url) as app:
            yield app
