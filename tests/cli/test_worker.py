"""`rota worker`: its options become a worker's settings, and it works."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rota import Rota
from rota.cli.options import Common
from rota.cli.problems import Exit
from rota.cli.worker import child_options
from rota.config import SECOND
from rota.node.settings import WorkerSettings
from tests.cli.conftest import ROTA, Cli


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a worker would have been started with."""
    seen: dict[str, Any] = {}

    def run_here(registry: Any, connect: Any, settings: WorkerSettings, **others: Any) -> int:
        seen.update(kinds=registry.names, settings=settings, url=connect.__self__.url)
        seen.update(beside=others["beside"], watch=others["watch"])
        return 0

    monkeypatch.setattr("rota.node.process.run_here", run_here)
    return seen


def test_calls_of_urls_are_allowed_only_where_they_can_be_made(
    rota: Cli, started: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8.2: not found out at the first task."""
    monkeypatch.setattr("rota.cli.worker.find_spec", lambda name: None)
    answer = rota("worker", "school:app", "--allow-http")

    assert (answer.code, started) == (Exit.USAGE, {})
    assert "--allow-http needs aiohttp: pip install 'rota[http]'" in answer.err


def test_options_become_settings(rota: Cli, started: dict[str, Any]) -> None:
    answer = rota(
        "worker", "school:app", "--queue", "sms", "--queue", "mail", "--concurrency", "7",
        "--grace", "0", "--lease", "1m", "--name", "w1", "--pool", "3", "--no-stage",
        "--no-prune", "--url", "sqlite:///other.db",
    )  # fmt: skip

    assert answer.code == 0
    assert started["kinds"] == ("report", "send_result")
    assert started["url"] == "sqlite:///other.db"
    assert started["settings"] == WorkerSettings(
        queues=("sms", "mail"), concurrency=7, grace=0, lease=60 * SECOND, name="w1", stage=False,
        reap=True, prune=False, pool=3, app_path="school:app",
    )  # fmt: skip


def test_the_app_may_be_set_elsewhere(rota: Cli, started: dict[str, Any]) -> None:
    assert rota("worker").code == 0
    assert started["settings"] == WorkerSettings(app_path="school:app")
    assert started["url"] == "sqlite:///school.db"


def test_a_worker_stores_what_the_app_declares(
    rota: Cli, started: dict[str, Any], school: Path
) -> None:
    """R6.8: beside the worker, at the address where that works."""
    with (school / "school.py").open("a", encoding="utf-8") as file:
        file.write("app.schedule('@daily', payload={'day': 'today'})(report)\n")

    assert rota("worker", "school:app", "--url", "sqlite:///other.db").code == 0
    asyncio.run(started["beside"]())

    with Rota("sqlite:///other.db") as app:
        assert [(one.name, one.source) for one in app.schedules.list()] == [("report", "code:app")]


def test_a_lease_under_a_second_is_refused(rota: Cli, started: dict[str, Any]) -> None:
    answer = rota("worker", "--lease", "10ms")

    assert (answer.code, answer.err) == (2, "rota: a lease must be at least one second\n")
    assert started == {}


def test_children_are_started_with_the_same_options(
    rota: Cli, started: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def supervise(command: list[str], processes: int, *_: object) -> int:
        started.update(command=command, processes=processes)
        return 0

    monkeypatch.setattr("rota.node.supervisor.supervise", supervise)
    words = (
        "--queue",
        "sms",
        "--grace",
        "1500ms",
        "--lease",
        "1m",
        "--name",
        "w1",
        "--no-reap",
        "--pool",
        "3",
    )
    assert rota("worker", "school:app", *words).code == 0
    alone = started["settings"]

    assert rota("worker", "school:app", *words, "--processes", "3").code == 0

    assert started["processes"] == 3
    assert started["command"][:4] == [sys.executable, "-m", "rota", "worker"]
    assert rota(*started["command"][3:]).code == 0
    assert started["settings"] == alone


def test_each_child_has_a_port_for_its_metrics(
    rota: Cli, started: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R9.3: one shared port would answer for a random child."""
    ports: list[tuple[str, int]] = []
    monkeypatch.setattr("rota.node.endpoint.watching", lambda _, *where: ports.append(where))
    settings = WorkerSettings(metrics_port=9100, metrics_host="10.0.0.7")
    options = child_options(settings, Common())

    assert rota("worker").code == 0
    for child in ("0", "3"):
        monkeypatch.setenv("ROTA_CHILD", child)
        assert rota("worker", "school:app", *options).code == 0

    assert ports == [("10.0.0.7", 9100), ("10.0.0.7", 9103)]


def test_an_address_with_a_password_is_not_put_on_a_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ROTA_URL", "postgresql://rota:secret@db/rota")

    assert "--url" not in child_options(WorkerSettings(), Common())


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_runs_what_was_submitted_until_told_to_stop(
    rota: Cli, school: Path, processes: str
) -> None:
    """R8.2, R3.6."""
    task_id = rota.submit("send_result", "student_id:=1")
    process = subprocess.Popen(
        [*ROTA, "worker", "school:app", "--processes", processes],
        cwd=school,
        stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if not name.startswith("ROTA_")},
    )
    try:
        while rota("show", task_id, "--json").json["state"] != "completed":
            assert process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)

    assert process.returncode == Exit.DONE
    assert rota("show", task_id, "--json").json["result"] == "sent 1"
    assert b"draining" in errors
    assert b"Traceback" not in errors
