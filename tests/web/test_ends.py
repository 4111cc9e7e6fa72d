"""A server that goes away and comes back, and a school where nothing has happened yet (R9.2)."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.system.harness import ROOT
from tests.web.browsing import browsing
from tests.web.dev import APP, Dev
from tests.web.seeding import School

pytestmark = [pytest.mark.slow, pytest.mark.paced]


HINTS = {
    "/": "Submit the first one",
    "/tasks": "Submit one",
    "/tasks?state=failed": "No task is failed",
    "/dead-letters": "",
    "/tenants": "",
    "/limits": "rota limits",
    "/workers": "",
    "/access/keys": "",
    "/access/audit": "",
    "/access/alerts": "",
}
"""What each page says to do where there is nothing to see; "" for any words of its own."""


@pytest.fixture
def empty(browser: Browser, folder: Path) -> Iterator[School]:
    """A server that was just started for the first time."""
    dev = Dev(folder)
    try:
        yield School(dev, {}, {})
    finally:
        dev.end()


def test_an_empty_install_says_what_to_do_and_outlives_a_restart(
    browser: Browser, empty: School
) -> None:
    """Points 8 and 40: every page has a next step; a stop is told, kept over, and got over."""
    with browsing(browser, empty, None) as seen:
        seen.allow("401")
        page = seen.open(f"/#code={empty.dev.code}")
        # The code is taken out of the address as soon as it has done its work.
        expect(page).to_have_url(f"{empty.dev.url}/")
        for path, hint in HINTS.items():
            seen.open(path)
            expect(page.locator("main h1")).to_be_visible()
            expect(page.locator("main")).to_contain_text(hint)
        seen.open("/tasks")
        command = page.locator(".command code").inner_text()
        assert rota(*shlex.split(command)[1:], "--app", APP, "--url", empty.dev.store)
        page.get_by_role("button", name="Sign out").click()
        made = rota("keys", "create", "me", "--role", "admin", "--url", empty.dev.store)
        empty.keys["me"] = made
        page.get_by_label("Key").fill(empty.keys["me"])
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{empty.dev.url}/")
        seen.open("/tasks")
        expect(page.get_by_role("button", name="live", exact=True)).to_be_visible()
        # A browser tells of every call that finds nobody.
        seen.allow("ERR_CONNECTION", "ERR_INCOMPLETE_CHUNKED", "ERR_EMPTY_RESPONSE", "ERR_SOCKET")
        seen.allow("503")  # or finds it while it stops or begins
        empty.dev.end()
        expect(page.get_by_role("button", name="reconnecting")).to_be_visible()
        expect(page.get_by_role("heading", name="Tasks")).to_be_visible()
        empty.dev.start()
        expect(page.get_by_role("button", name="live", exact=True)).to_be_visible()
        letter = {"kind": "send_letter", "payload": {"student_id": 1}, "delay": 3600}
        empty.ask("POST", "/v1/tasks", letter, key="me")
        expect(page.get_by_text("send_letter").first).to_be_visible()


def rota(*arguments: str) -> str:
    """Run a command as one does in a terminal and return what it printed; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "rota", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
