"""Every command works on a server as on a store: the same words, the same answers, the same codes.

Issue 6: HTTP for everything that Python can do already.
"""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.cli.credentials import Credentials
from tests.cli.conftest import Cli
from tests.cli.served import Served

pytestmark = pytest.mark.slow

KINDS = ("submit", "send_result", "student_id:=1", "--any-kind")


@pytest.fixture
def served(school: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server on a file of its own; it is set by `ROTA_URL`, with an admin's key."""
    (school / "rota.toml").unlink()
    served = Served(f"sqlite:///{school}/served.db")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(school / "config"))
    monkeypatch.delenv("ROTA_TOKEN_FILE", raising=False)
    monkeypatch.setenv("ROTA_URL", served.url)
    monkeypatch.setenv("ROTA_TOKEN", served.key())
    yield served
    served.close()


def test_tasks_are_submitted_found_explained_and_cancelled(cli: Cli, served: Served) -> None:
    task = cli.submit(*KINDS[1:], "--queue", "sms", "--delay", "1h", "--tag", "results")
    assert served.store.tasks.get(task).queue == "sms"
    assert [line.split("\t")[0] for line in cli("list", "--state", "scheduled").lines] == [task]
    assert cli("show", task[:18], "--json").json["tags"] == ["results"]
    assert cli("explain", task).code == 0
    assert cli("cancel", task).code == 0
    assert served.store.tasks.get(task).state == "cancelled"
    assert cli("show", "01234567-89ab-7def-8123-456789abcdef").code == 3
    assert cli("cancel", task).code == 5


def test_kinds_of_the_app_are_checked_here(
    cli: Cli, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTA_APP", "school:app")
    refused = cli("submit", "send_result", "student_id=x")
    assert refused.code == 2
    assert "student_id" in refused.err
    task = cli.submit("send_result", "student_id:=1")
    assert served.store.tasks.get(task).priority == 2


def test_schedules_queues_limits_and_dead_letters_are_looked_after(
    cli: Cli, served: Served
) -> None:
    made = cli("schedules", "create", "morning", "report", "0 9 * * *", "day=x", "--any-kind")
    assert made.code == 0, made.err
    assert cli("schedules", "show", "morning", "--json").json["name"] == "morning"
    assert cli("schedules", "pause", "morning").code == 0
    assert cli("schedules", "delete", "morning", "--yes").code == 0
    assert cli("schedules", "show", "morning").code == 3
    assert cli("queues", "pause", "sms", "--reason", "down").code == 0
    assert cli("queues", "show", "sms", "--json").json["paused"] is True
    assert cli("limits", "set", "--queue", "sms", "--max-running", "3").code == 0
    assert cli("limits", "list", "--json").json[0]["max_running"] == 3
    assert cli("tenants", "set", "board", "--weight", "2").code == 0
    assert cli("kinds", "pause", "report").code == 0
    assert cli("dead-letters", "list").code == 0
    assert cli("dead-letters", "groups").code == 0


def test_the_doctor_examines_a_server(cli: Cli, served: Served) -> None:
    answer = cli("doctor", "--json")
    assert answer.json["store"].startswith("SQLite ")
    assert answer.code == 0


def test_a_key_that_may_not_is_exit_4_and_nobody_there_is_exit_6(
    cli: Cli, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTA_TOKEN", served.key(["read"]))
    assert cli("list").code == 0
    refused = cli(*KINDS, "--json")
    assert refused.code == 4
    assert refused.problem["code"] == "forbidden"
    assert cli("doctor").code == 4
    monkeypatch.setenv("ROTA_URL", "http://127.0.0.1:1")
    assert cli("list").code == 6


def test_a_bound_key_sees_its_tenant_alone(
    cli: Cli, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2: foreign and missing look the same."""
    foreign = cli.submit(*KINDS[1:], "--tenant", "college")
    own = cli.submit(*KINDS[1:], "--tenant", "board")
    monkeypatch.setenv("ROTA_TOKEN", served.key(["read"], tenant="board"))
    assert [line.split("\t")[0] for line in cli("list").lines] == [own]
    assert cli("show", foreign).code == 3


def test_login_keeps_a_key_that_the_server_knows(
    cli: Cli, served: Served, school: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = served.key(["read"])
    monkeypatch.delenv("ROTA_TOKEN")
    assert cli("list").code == 4
    (school / "wrong.txt").write_text(served.key())
    done = cli("login", served.url, stdin=f"{token}\n")
    assert done.code == 0, done.err
    assert done.out == f"logged in to {served.url} as tests (read)\n"
    assert token[18:] not in done.out + done.err
    assert stat.S_IMODE(Credentials().path.stat().st_mode) == 0o600
    assert cli("list").code == 0
    (school / "rota.toml").write_text(f'url = "{served.url}"\n')
    monkeypatch.delenv("ROTA_URL")
    assert cli("list").code == 0, "a kept key goes with its own address, whoever names it"
    assert cli("logout", served.url).out == f"forgot the key for {served.url}\n"
    assert cli("list").code == 4


def test_login_refuses_what_the_server_does_not_know(cli: Cli, served: Served) -> None:
    made = served.store.keys.create("gone", roles=("read",))
    served.store.keys.revoke(made.key.id)
    refused = cli("login", served.url, stdin=made.text)
    assert refused.code == 4
    assert not Credentials().path.exists()
    assert cli("login", "http://127.0.0.1:1", stdin=made.text).code == 6
    assert cli("login", served.url, stdin="rota_x").code == 2
