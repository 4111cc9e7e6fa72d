"""The commands that the dashboard shows where there is nothing to see (R9.2, point 40)."""

import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.cli.problems import Exit
from tests.cli.conftest import ROTA, SCHOOL, Cli
from tests.system.harness import ROOT, wait_until

PAGES = ROOT / "web/src"
OFFERED = re.compile(r"""\bcommand(?:=|: )(?:"([^"]*)"|\{`(.*?)`\})""")
FILLED = {
    "{kind}": "send_result student_id:=1",  # the words beside it say that arguments follow
    "{quoted(name)}": "sms",
    "/etc/crontab": "crontab",  # not every machine has one
}
CRONTAB = "0 3 * * * root /usr/bin/backup\n"


def offered() -> list[str]:
    """Every command that a page offers, with names where a page puts its own."""
    pages = sorted(PAGES.rglob("*.svelte"))
    found = [one for page in pages for one in OFFERED.findall(page.read_text(encoding="utf-8"))]
    return list(dict.fromkeys(filled("".join(one)) for one in found))


def filled(command: str) -> str:
    """Put words into the holes of a command."""
    for hole, word in FILLED.items():
        command = command.replace(hole, word)
    return re.sub(r"\$\{[^}]*\}", "board", command)


@pytest.fixture
def empty(cli: Cli, folder: Path) -> Iterator[Cli]:
    """The command line beside an app with the name that pages use, and an empty store."""
    (folder / "app.py").write_text(SCHOOL)
    (folder / "rota.toml").write_text('app = "app:app"\n')
    (folder / "crontab").write_text(CRONTAB)
    importlib.invalidate_caches()
    assert cli("migrate").code == Exit.DONE
    yield cli
    sys.modules.pop("app", None)


def test_pages_offer_what_they_are_about() -> None:
    """A command that is written in another way than these would be tried by nobody."""
    assert {command.split()[1] for command in offered()} == {
        "audit", "keys", "limits", "schedules", "submit", "tenants", "webhooks", "worker",
    }  # fmt: skip


@pytest.mark.parametrize("command", [one for one in offered() if " worker " not in one])
def test_what_a_page_offers_works_at_once_in_an_empty_store(empty: Cli, command: str) -> None:
    """Point 40: copied as it is, it does what it says."""
    name, *words = shlex.split(command)
    assert name == "rota"
    answer = empty(*words)
    assert answer.code == Exit.DONE, answer.err


def test_a_worker_that_a_page_offers_works(empty: Cli, folder: Path) -> None:
    """Point 40: it takes what waits, until it is told to stop."""
    for command in (one for one in offered() if " worker " in one):
        task = empty.submit("send_result", "student_id:=1")
        worker = subprocess.Popen(
            [*ROTA, *shlex.split(command)[1:]], cwd=folder, stderr=subprocess.DEVNULL
        )
        try:
            wait_until(
                lambda task=task: empty("show", task, "--json").json["state"] == "completed",  # type: ignore[misc]
                what=command,
            )
        finally:
            worker.terminate()
            assert worker.wait(60) == Exit.DONE
