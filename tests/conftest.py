"""Fixtures that every folder of tests may ask for."""

from collections.abc import Iterator
from itertools import count

import pytest

from rota.contrib.embedded import EmbeddedPostgres

_databases = count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedPostgres]:
    """One PostgreSQL server with its default durability for the whole run."""
    with EmbeddedPostgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """The address of an empty database that only this test uses."""
    name = f"test_{next(_databases)}"
    yield postgres_server.create_database(name)
    postgres_server.drop_database(name)
