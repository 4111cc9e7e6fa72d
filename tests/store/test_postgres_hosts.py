"""Where PostgreSQL is, how it is reached, and what of that is told (R3.7, S1)."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import asyncpg
import pytest

from rota.contrib.embedded import EmbeddedPostgres
from rota.errors import ConfigurationError, RotaError, StoreUnavailable
from rota.model import Accepted
from rota.store.postgres import PostgresStore, address
from rota.store.postgres.address import Address
from rota.store.postgres.connections import Lines, Role
from rota.store.postgres.statements import Connection
from tests.conformance.steps import one
from tests.support.factories import NOW, Make


@pytest.fixture(scope="module")
def spare() -> Iterator[EmbeddedPostgres]:
    """A second server."""
    with EmbeddedPostgres({"fsync": "off"}) as server:
        yield server


@pytest.fixture
def both(
    spare: EmbeddedPostgres, postgres_server: EmbeddedPostgres, postgres_url: str
) -> Iterator[str]:
    """An address with the spare server first; each has a database of that name."""
    name = postgres_url.rpartition("/")[2]
    spare.create_database(name)
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in (spare, postgres_server))
    yield f"postgresql://postgres@{hosts}/{name}"
    spare.drop_database(name)


class TestHosts:
    """Several in one address: a machine may be off, refuse, or only read."""

    async def port(self, url: str, **settings: str) -> int:
        """The port of the server that an address leads to."""
        connection = await Address(url).connect(settings)
        try:
            return int(await connection.fetchval("select inet_server_port()"))
        finally:
            await connection.close()

    async def test_the_first_that_answers_is_taken(
        self, spare: EmbeddedPostgres, both: str
    ) -> None:
        assert await self.port(both) == spare.port

    async def test_a_host_that_refuses_is_passed_over(
        self, postgres_server: EmbeddedPostgres, both: str
    ) -> None:
        """R3.7."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            nobody = taken.getsockname()[1]
            url = f"postgresql://postgres@127.0.0.1:{nobody},127.0.0.1:{postgres_server.port}/"
            assert await self.port(url + both.rpartition("/")[2]) == postgres_server.port

    async def test_a_host_that_is_silent_is_passed_over(
        self,
        postgres_server: EmbeddedPostgres,
        both: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """R3.7: a machine that is off answers nothing; it is not asked first again."""
        monkeypatch.setattr(address, "CONNECT_SECONDS", 1.0)
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            port = silent.getsockname()[1]
            hosts = f"127.0.0.1:{port},127.0.0.1:{postgres_server.port}"
            where = Address(f"postgresql://postgres@{hosts}/{both.rpartition('/')[2]}")
            await (await where.connect({})).close()
            asked: list[str] = []
            monkeypatch.setattr(asyncpg, "connect", _noting(asked))
            await (await where.connect({})).close()

        assert [dsn.rpartition("@")[2].partition("/")[0] for dsn in asked] == [
            f"127.0.0.1:{postgres_server.port}"
        ]

    async def test_a_server_that_only_reads_is_passed_over_and_taken_when_it_writes(
        self, spare: EmbeddedPostgres, postgres_server: EmbeddedPostgres, both: str, make: Make
    ) -> None:
        """F17: after a failover the store goes on with the new primary."""
        url = f"{both}?target_session_attrs=read-write"
        for server in (spare, postgres_server):
            store = PostgresStore(server.database_url(both.rpartition("/")[2]))
            await store.migrate()
            await store.close()
        await only_reads(spare, both, "on")
        assert await self.port(url) == postgres_server.port
        store = PostgresStore(url)
        await store.open()
        first, second = make.tasks(2)
        assert await store.submit([first], NOW) == [Accepted(first.id)]

        await only_reads(spare, both, "off")
        await only_reads(postgres_server, both, "on")
        with suppress(StoreUnavailable):  # unless the line was seen to be closed before
            await store.submit([second], NOW)
        assert await store.submit([second], NOW) == [Accepted(second.id)]
        assert await store.get([first.id, second.id]) == [None, await one(store, second.id)]
        await store.close()

        await only_reads(spare, both, "on")
        with pytest.raises(StoreUnavailable, match="read-write"):
            await PostgresStore(url).open()
        await only_reads(postgres_server, both, "off")


def _noting(asked: list[str]) -> Any:
    """Connect as the driver does, and note the addresses."""
    connect = asyncpg.connect

    async def noting(dsn: str, **options: Any) -> Any:
        asked.append(dsn)
        return await connect(dsn, **options)

    return noting


async def only_reads(server: EmbeddedPostgres, url: str, state: str) -> None:
    """Make a database one that only reads, as after a demotion, or one that writes again."""
    name = url.rpartition("/")[2]
    connection = await asyncpg.connect(server.url)
    await connection.execute(f'alter database "{name}" set default_transaction_read_only = {state}')
    await connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name
    )
    await connection.close()


class TestOptions:
    async def test_what_is_said_of_tls_reaches_the_driver(self, postgres_url: str) -> None:
        """The embedded server has none, so asking for it must fail."""
        await (await Address(f"{postgres_url}?sslmode=prefer").connect({})).close()
        with pytest.raises(StoreUnavailable, match="SSL"):
            await PostgresStore(f"{postgres_url}?sslmode=require").open()
        with pytest.raises(ConfigurationError, match=r"/nowhere/root\.crt"):
            await PostgresStore(
                f"{postgres_url}?sslmode=verify-full&sslrootcert=/nowhere/root.crt"
            ).open()

    async def test_every_line_has_time_outs(self, postgres_url: str) -> None:
        """R3.7: no statement and no open transaction of ours stays for long."""
        lines = Lines(Address(postgres_url))
        found = {role: await lines.run(role, self.time_outs) for role in Role}
        await lines.close()
        assert found == dict.fromkeys(Role, ("30s", "30s"))

    async def time_outs(self, connection: Connection) -> tuple[str, str]:
        return (
            await connection.fetchval("show statement_timeout"),
            await connection.fetchval("show idle_in_transaction_session_timeout"),
        )

    async def test_a_pulse_gives_up_sooner(self, postgres_url: str) -> None:
        """B130: there must be time for another try within the lease."""
        pulse = PostgresStore(postgres_url).pulse()
        await asyncio.to_thread(pulse.clock)
        connection = await asyncpg.connect(postgres_url)
        # What a backend was started with is known to itself alone; its name shows whose it is.
        assert await connection.fetchval("""
            select count(*) from pg_stat_activity where application_name = 'rota pulse'
        """)
        await connection.close()
        await asyncio.to_thread(pulse.close)


class TestSecrets:
    async def test_no_log_has_the_password(
        self, postgres_url: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """S1: at whatever level."""
        caplog.set_level(logging.DEBUG)
        right = postgres_url.replace("postgres@", "postgres:s3cret@")
        for url in (right, right.replace("127.0.0.1:", "127.0.0.1:1,127.0.0.1:"), f"{right}x"):
            store = PostgresStore(url)
            try:
                await store.migrate()
                await store.open()
            except RotaError as error:
                logging.getLogger().error("%r", error)
            await store.close()
        assert "database" in caplog.text
        assert "s3cret" not in caplog.text
