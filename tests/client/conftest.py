"""An app against each kind of store."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile

import pytest

from rota import Rota
from rota.backend import Backend
from rota.clock import ManualClock, new_rng
from rota.engine import Engine
from rota.store import store_for
from tests.support.hands import Hands
from tests.support.places import DIALECTS


@pytest.fixture(params=DIALECTS)
def url(request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> str:
    """The address of an empty store."""
    if request.param == "sqlite":
        copyfile(migrated_file, tmp_path / "rota.db")
        return f"sqlite:///{tmp_path / 'rota.db'}"
    return str(request.getfixturevalue("quick_postgres_url"))


@pytest.fixture
def app(url: str) -> Iterator[Rota]:
    """An app whose store is empty and migrated."""
    with Rota(url) as app:
        app.migrate()
        yield app


@pytest.fixture
def hands(app: Rota) -> Hands:
    """Who takes the app's tasks and ends them."""
    return Hands(app)


@pytest.fixture
def clock() -> ManualClock:
    """A time that stands still until a test moves it."""
    return ManualClock()


@pytest.fixture
def still(url: str, clock: ManualClock) -> Iterator[Rota]:
    """An app whose time is `clock`."""

    class Still(Rota):
        def connect(self) -> Backend:
            return Engine(store_for(self.url), clock, new_rng(1))

    with Still(url) as app:
        app.migrate()
        yield app
