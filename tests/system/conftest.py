"""A site for each kind of store: the store, and the worker processes that a test starts on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import DIALECTS, Place
from tests.system.harness import Site

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder: they start processes and watch them by the real clock."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)
            if item.get_closest_marker("alone") is None:
                item.add_marker(pytest.mark.paced)


@pytest.fixture(params=DIALECTS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place for a store."""
    if request.param == "sqlite":
        return Place("sqlite", str(tmp_path / "rota.db"))
    return Place("postgres", request.getfixturevalue("postgres_url"))


@pytest.fixture
def site(place: Place, tmp_path: Path) -> Iterator[Site]:
    """A store with its workers, which end with the test."""
    site = Site(place, tmp_path)
    yield site
    site.close()


@pytest.fixture
def sqlite_site(tmp_path: Path) -> Iterator[Site]:
    """A site on a SQLite file."""
    site = Site(Place("sqlite", str(tmp_path / "rota.db")), tmp_path)
    yield site
    site.close()
