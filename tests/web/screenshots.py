"""Makes the pictures of docs/images: `make screenshots`.

The same school every time, after the same hour; ids and times are those of the run.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, ViewportSize, sync_playwright

from rota.clock import SystemClock
from tests.support.factories import Make
from tests.support.places import Place
from tests.system.harness import ROOT, wait_until
from tests.web.browsing import NARROW, browsing, launch
from tests.web.dev import Dev
from tests.web.past import fail_for_a_day, give_past
from tests.web.school import app
from tests.web.seeding import seed
from tests.web.test_pages import address

FOLDER = ROOT / "docs/images"
WIDE: ViewportSize = {"width": 1280, "height": 800}
SHOWN = {
    "overview": "overview",
    "tasks": "tasks",
    "task": "task that failed",
    "why": "task that waits",
    "schedules": "schedules",
    "schedule": "schedule",
    "dead-letters": "dead letters",
    "tenants": "tenants",
    "workers": "workers",
    "keys": "keys",
    "audit": "audit",
    "alerts": "alerts",
}
"""Pictures by their names in docs/images, and the pages that they are of."""


def main() -> None:
    """Run a school and take a picture of every page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        dev = Dev(Path(folder))
        try:
            school = seed(dev)
            with app.at(dev.store) as store:
                give_past(store, Path(dev.store.removeprefix("sqlite:///")), SystemClock().now())
            asyncio.run(failures(dev))
            # A picture is no place for it.
            why = {"reason": "a test of the printer"}
            school.ask("POST", f"/v1/dead-letters/{school.tasks['refused']}/discard", why)
            wait_until(
                lambda: school.ask("GET", "/v1/stats/shares")["items"], 30, "the first statistics"
            )
            with sync_playwright() as playwright:
                browser = launch(playwright)
                with browsing(browser, school, "admin", viewport=WIDE) as seen:
                    for name, page in SHOWN.items():
                        seen.open(address(page, school))
                        take(seen.page, name)
                with browsing(browser, school, "admin", viewport=WIDE, theme="dark") as seen:
                    seen.open("/")
                    take(seen.page, "overview-dark")
                with browsing(browser, school, "admin", viewport=NARROW) as seen:
                    seen.open("/")
                    take(seen.page, "overview-narrow")
                browser.close()
        finally:
            dev.end()


async def failures(dev: Dev) -> None:
    """Let a day have passed on which something kept failing."""
    store = Place("sqlite", dev.store.removeprefix("sqlite:///")).store()
    await store.open()
    await fail_for_a_day(store, Make(7), SystemClock().now())
    await store.close()


def take(page: Page, name: str) -> None:
    """Write the picture of a page once what it shows is there."""
    page.wait_for_load_state("load")
    page.wait_for_timeout(1_000)
    page.screenshot(path=FOLDER / f"{name}.png", animations="disabled")


if __name__ == "__main__":
    main()
