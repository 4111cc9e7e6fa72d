"""Every page, in both themes, wide and narrow: whole, without faults, and for everyone (R9.1, R9.2;
points 24, 38 and 39 of the brief)."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Page, expect

from rota.clock import SystemClock
from rota.config import HOUR
from tests.support.factories import Make
from tests.support.places import Place
from tests.system.harness import ROOT
from tests.web.browsing import NARROW, WIDE, Theme
from tests.web.conftest import Browse
from tests.web.past import five_attempts
from tests.web.seeding import School

pytestmark = [pytest.mark.slow, pytest.mark.paced]

PAGES = {
    "overview": "/",
    "queue": "/queues/sms",
    "tasks": "/tasks",
    "failed tasks": "/tasks?state=failed",
    "task that waits": "/tasks/{letter}",
    "task that runs": "/tasks/{running}",
    "task that failed": "/tasks/{failed}",
    "task that is done": "/tasks/{done}",
    "schedules": "/schedules",
    "schedule": "/schedules/morning_report",
    "new schedule": "/schedules/new",
    "dead letters": "/dead-letters",
    "tenants": "/tenants",
    "tenant": "/tenants/board",
    "limits": "/limits",
    "workers": "/workers",
    "keys": "/access/keys",
    "audit": "/access/audit",
    "alerts": "/access/alerts",
}
LOOKS = {
    "light wide": ("light", WIDE),
    "dark wide": ("dark", WIDE),
    "light narrow": ("light", NARROW),
    "dark narrow": ("dark", NARROW),
}
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"


def address(page: str, school: School) -> str:
    """Return where a page is, with the school's own ids."""
    return PAGES[page].format_map(school.tasks)


def too_wide(page: Page) -> list[str]:
    """What makes the page scroll sideways."""
    found: list[str] = page.evaluate(
        """() => {
            const width = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= width) return [];
            return [...document.querySelectorAll("body *")]
                .filter((one) => one.getBoundingClientRect().right > width + 1)
                .map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 40)}`)
                .slice(0, 5);
        }"""
    )
    return found


def serious(page: Page) -> list[str]:
    """What axe finds that keeps somebody out."""
    # As text and not as a script of the page: its policy would not let that in, and stays on.
    page.evaluate(f"{AXE.read_text()}; undefined")
    found: list[str] = page.evaluate(
        """async () => {
            const { violations } = await axe.run(document, { resultTypes: ["violations"] });
            return violations
                .filter((one) => ["serious", "critical"].includes(one.impact))
                .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)}`));
        }"""
    )
    return found


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_whole_and_without_faults(browse: Browse, school: School, look: str) -> None:
    """R9.2, points 24 and 39: no error, no broken policy, nothing that scrolls sideways."""
    theme, viewport = LOOKS[look]
    wide = {}
    with browse("admin", theme=theme, viewport=viewport) as seen:
        for page in PAGES:
            seen.open(address(page, school))
            seen.page.wait_for_load_state("load")
            wide[page] = too_wide(seen.page)
            assert seen.unexpected == [], page
    assert {page: found for page, found in wide.items() if found} == {}


def test_a_narrow_page_has_four_places_and_more_at_its_foot(browse: Browse) -> None:
    """R9.2, point 39: nothing scrolls sideways; what is rarely wanted is one press away."""
    with browse("admin", viewport=NARROW) as seen:
        page = seen.open("/")
        below = page.get_by_role("navigation", name="Pages")
        expect(below.get_by_role("link")).to_have_text(
            ["Overview", "Tasks", "Schedules", "Dead letters"]
        )
        below.get_by_role("button", name="More").click()
        page.keyboard.press("Escape")
        expect(page.get_by_role("link", name="Workers", exact=True)).to_have_count(0)
        below.get_by_role("button", name="More").click()
        assert serious(page) == []
        page.get_by_role("link", name="Workers", exact=True).click()
        expect(page.get_by_role("heading", name=re.compile("Workers"))).to_be_visible()
        expect(page.get_by_role("link", name="Tenants", exact=True)).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browse: Browse, school: School, theme: Theme) -> None:
    """R9.2, point 38: labels, roles, contrast, order."""
    found = {}
    with browse("admin", theme=theme) as seen:
        for page in PAGES:
            seen.open(address(page, school))
            seen.page.wait_for_timeout(150)  # what is read last is there
            found[page] = serious(seen.page)
    assert {page: faults for page, faults in found.items() if faults} == {}


def test_attempts_a_lost_worker_and_a_snooze_are_told_apart(browse: Browse, school: School) -> None:
    """R9.1, point 20: five attempts failed; what spent none is counted beside them."""
    with ThreadPoolExecutor(1) as other:  # the loop of Playwright runs in this one
        task = other.submit(asyncio.run, _troubled(school)).result()
    with browse("read") as seen:
        page = seen.open(f"/tasks/{task}")
        attempts = page.get_by_role("region", name="Failed attempts 5")
        expect(attempts.locator("summary")).to_have_text(
            [re.compile(f"{n} ConnectionError: line") for n in (5, 4, 3, 2, 1)]
        )
        expect(attempts).to_contain_text(
            "Beside these 1 time its worker was lost, and 1 time it was put off by its handler"
        )
        why = page.get_by_role("region", name="How it ended")
        expect(why.get_by_role("link", name="All that failed like it")).to_be_visible()


async def _troubled(school: School) -> str:
    store = Place("sqlite", school.dev.store.removeprefix("sqlite:///")).store()
    await store.open()
    try:
        return await five_attempts(store, Make(20), SystemClock().now() - 2 * HOUR)
    finally:
        await store.close()
