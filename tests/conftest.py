"""Fixtures that every folder of tests may ask for."""

import asyncio
from collections.abc import Iterator
from inspect import iscoroutinefunction, signature
from itertools import count

import pytest
from hypothesis import settings

from rota import Rota
from rota.contrib.embedded import EmbeddedPostgres
from tests.support.factories import Make

_databases = count(1)

# How long an example takes tells of the machine, not of the code; one that hangs hits the timeout.
settings.register_profile("rota", deadline=None)
settings.load_profile("rota")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async` test on the loop that its fixtures ran on."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = signature(pyfuncitem.obj).parameters
    test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted})
    runner = pyfuncitem.funcargs["runner"]
    assert isinstance(runner, asyncio.Runner)
    runner.run(test)
    return True


@pytest.fixture(autouse=True)
def runner() -> Iterator[asyncio.Runner]:
    """The event loop of this test and its fixtures."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedPostgres]:
    """One PostgreSQL server with its default durability for the whole run."""
    with EmbeddedPostgres() as server:
        yield server


@pytest.fixture(scope="session")
def migrated(postgres_server: EmbeddedPostgres) -> str:
    """The name of a database with the schema: a copy takes a tenth of the time of migrating."""
    with Rota(postgres_server.create_database("migrated")) as app:
        app.migrate()
    return "migrated"


@pytest.fixture
def postgres_url(postgres_server: EmbeddedPostgres, migrated: str) -> Iterator[str]:
    """The address of a database with the schema and no tasks, that only this test uses."""
    name = f"test_{next(_databases)}"
    yield postgres_server.create_database(name, template=migrated)
    postgres_server.drop_database(name)


@pytest.fixture
def bare_postgres_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """The address of an empty database that only this test uses."""
    name = f"test_{next(_databases)}"
    yield postgres_server.create_database(name)
    postgres_server.drop_database(name)


@pytest.fixture
def make() -> Make:
    """Makes this test's tasks and sessions."""
    return Make()
