"""Pages in a real browser that notice every fault: a test that left one behind fails."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    Request,
    ViewportSize,
    expect,
)

from tests.web.seeding import School

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
WIDE: ViewportSize = {"width": 1440, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
Theme = Literal["light", "dark"]
PATIENCE = 30_000
"""Milliseconds in which what is sure to show shows, also on a machine with much else to do."""
CALM, CALM_STEP = 300, 50
"""Milliseconds without a request after which a page has read all that it shows."""

# A policy that was broken is an event; told as an error so that it is heard like all others.
LISTEN = """addEventListener("securitypolicyviolation", (event) =>
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`))"""


def chromium() -> str | None:
    """Return where the system's browser is, None if it has none."""
    return shutil.which("chromium") or shutil.which("google-chrome")


def launch(playwright: Playwright) -> Browser:
    """Start the system's browser."""
    return playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)


class Watched:
    """A page and all that went wrong on it."""

    def __init__(self, page: Page, school: School) -> None:
        self.page = page
        self.school = school
        self.faults: list[str] = []
        self.requests: list[str] = []
        self._open: set[Request] = set()
        self._allowed: set[str] = set()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("requestfailed", self._failed)
        page.on("request", self._began)
        page.on("requestfinished", self._ended)

    def open(self, path: str) -> Page:
        """Show a page of the dashboard and wait until it has read what it shows."""
        self.page.goto(self.school.dev.url + path)
        self.settled()
        return self.page

    def settled(self) -> None:
        """Wait until the page is there; parts of it may still be read."""
        expect(self.page.locator("h1, .empty, [role=alert]").first).to_be_visible()

    def all_read(self) -> None:
        """Wait until no request but the stream has been under way for a while."""
        calm = 0
        while calm < CALM:
            self.page.wait_for_timeout(CALM_STEP)
            calm = 0 if self._open else calm + CALM_STEP

    def allow(self, *texts: str) -> None:
        """Let faults with these texts pass: the test brings them about."""
        self._allowed |= set(texts)

    @property
    def unexpected(self) -> list[str]:
        """What went wrong and was not to be expected."""
        return [one for one in self.faults if not any(text in one for text in self._allowed)]

    def _said(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    def _began(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.partition("?")[0].endswith("/v1/events"):
            self._open.add(request)

    def _ended(self, request: Request) -> None:
        self._open.discard(request)

    def _failed(self, request: Request) -> None:
        self._ended(request)
        # Leaving a page ends its requests; everything else that fails is a fault.
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"failed: {request.url} {request.failure}")


@contextmanager
def browsing(
    browser: Browser,
    school: School,
    role: str | None,
    *,
    viewport: ViewportSize = WIDE,
    theme: Theme = "light",
    **more: Any,
) -> Iterator[Watched]:
    """Hand out a page that is signed in with the key of a role, and look at it when it ends."""
    context = browser.new_context(
        viewport=viewport, color_scheme=theme, locale="en-GB", timezone_id="Europe/Berlin", **more
    )
    context.set_default_timeout(PATIENCE)
    context.add_init_script(LISTEN)
    if role is not None:
        name, value = school.dev.log_in(key=school.keys[role])
        context.add_cookies([{"name": name, "value": value, "url": school.dev.url}])
    watched = Watched(context.new_page(), school)
    try:
        yield watched
        assert watched.unexpected == [], watched.unexpected
    finally:
        context.close()


def more_tabs(context: BrowserContext, school: School, count: int) -> list[Watched]:
    """Open further tabs of the same browser, each watched."""
    return [Watched(context.new_page(), school) for _ in range(count)]
