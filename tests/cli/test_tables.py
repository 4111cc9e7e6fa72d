"""Every list with something in it: on terminals of any width, in pipes, and as JSON."""

import asyncio

import msgspec
import pytest
from rich.cells import cell_len

from rota import Rota
from rota.alerting import Alert, AlertMove
from rota.cli import COMMANDS
from rota.cli.problems import Exit
from rota.figures import Figure
from rota.model import State
from tests.cli.conftest import Cli
from tests.cli.steps import open_session, run_task

LISTS = {
    "list": (),
    "dead-letters list": (),
    "dead-letters groups": (),
    "schedules list": (),
    "schedules slots": ("morning",),
    "queues list": (),
    "tenants list": (),
    "kinds list": (),
    "limits list": (),
    "sessions list": (),
    "actions list": (),
    "keys list": (),
    "audit list": (),
    "alerts list": (),
    "alerts rules": (),
    "webhooks list": (),
    "config show": (),
    "doctor": (),
}
"""Every command that shows a table, and what it wants to be told."""

EMPTY = {"audit list", "actions list", "schedules slots"}
"""What only a server or time fills."""

LONG = "a-name-that-is-much-too-long-for-any-column-of-a-table-that-is-to-be-read"


@pytest.fixture
def full(rota: Cli, store: Rota) -> Cli:
    """A store with one of everything, and with names that are long or hold what is no text."""
    url = store.url
    failed = rota.submit("send_result", "student_id:=1", "--tenant", LONG)
    run_task(url, failed, "no \x1b[31manswer\x1b[0m\r\nat all", state=State.FAILED)
    running = rota.submit("send_result", "student_id:=2", "phone=日本語日本語")
    run_task(url, running, state=State.RUNNING)
    rota.submit("report", "day=1", "--delay", "1h")
    open_session(url, queues=("sms", "mail.*"))
    for words in (
        ("schedules", "create", "morning", "report", "0 7 * * *", "day=x"),
        ("tenants", "pause", LONG, "--reason", "dunning\nsince May"),
        ("queues", "set", "sms", "--max-depth", "9", "--new"),
        ("kinds", "pause", "report"),
        ("limits", "set", "--queue", "sms", "--rate", "500", "--max-running", "9"),
        ("keys", "create", LONG, "--role", "admin", "--queue", "sms"),
        ("webhooks", "create", f"https://hooks.example/{LONG}"),
        ("alerts", "set", "own", "--figure", "oldest_age", "--threshold", "60", "--queue", "*"),
        ("alerts", "set", "run_p99", "--off"),
    ):
        done = rota(*words)
        assert done.code == Exit.DONE, (words, done.err)
    for number, ends in enumerate((None, 5)):
        alert = Alert(
            id=f"0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a4{number}", rule="own", figure=Figure.OLDEST,
            queue=LONG, value=1234.5, threshold=60, since=1, fired_at=2, told_at=2, cleared_at=ends,
        )  # fmt: skip
        asyncio.run(_raised(store, alert))
    return rota


async def _raised(store: Rota, alert: Alert) -> None:
    backend = store.connect()
    await backend.open()
    assert await backend.store.move_alerts([AlertMove(alert=alert)], 5) == [True]  # type: ignore[attr-defined]
    await backend.close()


def test_every_command_that_lists_is_among_them() -> None:
    lists = {name for name in COMMANDS if name.split()[-1] in ("list", "groups", "rules", "slots")}
    assert lists <= {*LISTS}


def test_every_list_reads_well_everywhere(full: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Http-and-cli §9: it fits 120 columns, loses nothing in a pipe, and colour repeats a word."""
    for name, words in LISTS.items():
        command = (*name.split(), *words)
        plain = full(*command, "--quiet")
        assert plain.code == Exit.DONE, (name, plain.err)
        assert plain.lines or name in EMPTY, name
        assert "\x1b" not in plain.out
        assert "\r" not in plain.out
        for width in (10, 40, 80, 120, 300):
            seen = full.on_terminal(*command, width=width)
            assert seen.code == Exit.DONE, (name, width, seen.err)
            lines = seen.out.splitlines()
            assert len(lines) >= len(plain.lines), (name, width)
            if width >= 120 and name != "doctor":
                bare = full.on_terminal(*command, "--no-color", width=width)
                assert "\x1b" not in bare.out
                assert max(map(cell_len, bare.out.splitlines()), default=0) <= width, name
        told = full(*command, "--json")
        assert told.code == Exit.DONE
        assert isinstance(told.json, list | dict), name
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in full.on_terminal("list").out
    assert msgspec.json.decode(full("list", "--jsonl").lines[0])["kind"] == "report"
