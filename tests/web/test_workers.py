"""Workers: who is late, who is lost, whatever they call themselves (R3.1, R9.1)."""

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Browse
from tests.web.seeding import MARKED, School
from tests.web.test_pages import serious, too_wide

pytestmark = [pytest.mark.slow, pytest.mark.paced]

NAME = MARKED.replace("\u0007", "")
"""What the protocol lets through: everything but control characters."""


def worker(school: School, name: str, **about: object) -> str:
    """Open a session as a worker in another language does."""
    if "worker" not in school.keys:
        made = school.ask("POST", "/v1/keys", {"name": "workers", "roles": ["worker"]})
        school.keys["worker"] = made["key"]
    body = {"request_id": name[:60], "name": name, "host": "eu-3", "version": "1.4.0", "slots": 8}
    told = school.ask("POST", "/v1/sessions", body | {"lease": 600} | about, key="worker")
    return str(told["session"])


@pytest.mark.parametrize("width", [1440, 390])
def test_whatever_workers_call_themselves_is_text(
    browse: Browse, school: School, width: int
) -> None:
    """Point 23: name, host, version, queues and kinds; the layout whole, the policy unbroken."""
    long = f"{NAME}{'w' * 150}"
    queues = [long, *(f"queue-{number}" for number in range(40))]
    session = worker(
        school, f"{width} {long}", host=long, version=long, queues=queues, kinds=[long, "send"]
    )
    with browse("admin", viewport={"width": width, "height": 900}) as seen:
        for path in ("/workers", "/workers?show=all", f"/workers/{session}"):
            page = seen.open(path)
            expect(page.locator("main bdi").get_by_text("<img src=x").first).to_be_visible()
            assert page.locator("img[src=x]").count() == 0
            assert not re.search("[\u202e\u202c]", page.locator("main").inner_text())
            assert too_wide(page) == [], path
            assert serious(page) == [], path
        page.get_by_role("button", name="Drain…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("<img src=x")
        assert not re.search("[\u202e\u202c]", dialog.inner_text())


def test_a_worker_that_is_silent_is_late_then_lost_and_another_one_drains(
    browse: Browse, school: School
) -> None:
    """Point 33: the row stays where it is and says so; versions that differ are marked."""
    worker(school, "w-odd", version="1.3.9", queues=["odd=5"])
    # A third of it is when the row must be seen to be late.
    silent = worker(school, "w-silent", lease=12, queues=["odd"])
    drained = worker(school, "w-drained", queues=["odd"])
    with browse("operate") as seen:
        page = seen.open("/workers?queue=odd")
        row = page.locator(f"tr[data-id='{silent}']")
        expect(page.locator("tbody tr")).to_have_count(3)
        expect(row).to_contain_text("close to the end of its lease")
        expect(row).to_contain_text(re.compile("lost \\d\\d:\\d\\d:\\d\\d"))
        expect(page.get_by_role("heading", level=1)).to_contain_text("1 lost")
        drain = page.locator(f"tr[data-id='{drained}']").get_by_role("button", name="Drain…")
        drain.click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Let it work")).to_be_focused()
        dialog.get_by_role("button", name="Drain", exact=True).click()
        expect(page.locator(f"tr[data-id='{drained}']")).to_contain_text("draining, 0 left")
        page.get_by_label("Version").select_option("1.3.9")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody tr")).to_contain_text("differs from most")
        expect(page).to_have_url(re.compile("version=1.3.9"))
