"""An app against each kind of store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rota import Rota
from tests.support.places import DIALECTS


@pytest.fixture(params=DIALECTS)
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rota]:
    """An app whose store is empty and migrated."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'rota.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
    with Rota(url) as app:
        app.migrate()
        yield app
