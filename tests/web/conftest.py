"""A school that runs, and a browser to look at it with."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from rota.server.built import built
from tests.web.browsing import PATIENCE, Watched, browsing, chromium, launch
from tests.web.dev import Dev
from tests.web.seeding import School, seed

Browse = Callable[..., AbstractContextManager[Watched]]


@pytest.fixture(autouse=True)
def runner() -> None:
    """No event loop: the one of Playwright runs for as long as the browser does."""


@pytest.fixture(scope="package", autouse=True)
def looked_at() -> None:
    """Leave these tests out where there is no browser or no dashboard; fail there under CI."""
    lacks = [
        text
        for there, text in (
            (chromium(), "no Chromium: apt-get install chromium"),
            (built(), "the dashboard is not built: make dashboard"),
        )
        if not there
    ]
    if lacks and os.environ.get("CI"):
        pytest.fail("; ".join(lacks))
    if lacks:
        pytest.skip("; ".join(lacks))


@pytest.fixture(scope="package")
def school(looked_at: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[School]:
    """A running school that tests share: what one changes, no other looks at."""
    dev = Dev(tmp_path_factory.mktemp("school"))
    try:
        yield seed(dev)
    finally:
        dev.end()


# Not for the whole run: its event loop is taken for the one of every test beside it.
@pytest.fixture(scope="package")
def browser(school: School) -> Iterator[Browser]:
    """The system's browser."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def browse(browser: Browser, school: School) -> Browse:
    """Opens the dashboard as a role: `with browse("operate") as seen: seen.open("/tasks")`."""
    return partial(browsing, browser, school)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for a school of the test's own."""
    return tmp_path
