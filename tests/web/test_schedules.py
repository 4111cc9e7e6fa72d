"""Schedules: when exactly, what was left out and why, what one does to them (R6.8, R9.1)."""

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.system.harness import wait_until
from tests.web.conftest import Browse
from tests.web.seeding import School

pytestmark = [pytest.mark.slow, pytest.mark.paced]

ZONES = {
    "Europe/Berlin": ("30 2 * * *", ("2027-03", "23 h day"), ("2027-10", "25 h day")),
    "America/New_York": ("30 2 * * *", ("2027-03", "23 h day"), ("2027-11", "25 h day")),
    "Australia/Lord_Howe": ("15 2 * * *", ("2027-04", "24.5 h day"), ("2027-10", "23.5 h day")),
}
"""An expression whose time is in the change; two months, and what marks the day in them."""
LETTER = {"kind": "send_letter", "payload": {"student_id": 1}, "queue": "letters"}


def made(school: School, name: str, **about: Any) -> str:
    """Make a schedule of letters, which wait, and return its id."""
    return str(school.ask("POST", "/v1/schedules", LETTER | {"name": name} | about)["id"])


def shown(page: Page) -> list[str]:
    """The times of a month's calendar, local and UTC, in order."""
    firings = page.locator("table[aria-label='Firings by day'] p.firing")
    return [" ".join(text.split()) for text in firings.all_inner_texts()]


@pytest.mark.parametrize("zone", ZONES)
def test_the_calendar_says_what_the_preview_says_and_marks_both_days(
    browse: Browse, school: School, zone: str
) -> None:
    """Point 25: local time and UTC; that this is what fires, tests/server holds."""
    expression, *months = ZONES[zone]
    made(school, f"nightly-{zone[-4:]}", expression=expression, tz=zone)
    with browse("read") as seen:
        for month, mark in months:
            page = seen.open(f"/schedules/nightly-{zone[-4:]}?month={month}")
            expect(page.locator("td.marked")).to_contain_text(mark)
            after = f"{month}-01T00:00:00"
            query = f"after={int(month[:4])}-{int(month[5:]) - 1:02}-28T00:00:00Z&count=50"
            ahead = school.ask("GET", f"/v1/schedules/nightly-{zone[-4:]}/preview?{query}")
            inside = [one for one in ahead["items"] if one["local"].startswith(after[:7])]
            wanted = [f"{one['local'][11:16]} {one['utc'][11:16]}Z" for one in inside]
            expect(page.locator("p.firing")).to_have_count(len(wanted))
            assert shown(page) == wanted
        page = seen.open(f"/schedules/nightly-{zone[-4:]}?month={months[0][0]}&zone=utc")
        expect(page.locator("p.firing").first).to_contain_text(re.compile(r"[+-]\d\d:\d\d$"))


def test_a_rule_is_refused_while_it_is_typed_and_made_and_changed_once_it_is_right(
    browse: Browse, school: School
) -> None:
    """Point 26: `30 2 31 2 *` never comes; then words, a look ahead, the schedule, and an edit."""
    with browse("operate") as seen:
        seen.allow("422")
        page = seen.open("/schedules/new")
        page.get_by_label("Kind of task").fill("send_letter")
        page.get_by_label("Name", exact=True).fill("typed")
        page.get_by_label("Payload, as JSON").fill('{"student_id": 9007199254740993}')
        page.get_by_role("textbox", name="Expression").fill("30 2 31 2 *")
        said = page.locator("#expression-said")
        expect(said).to_have_class(re.compile("bad"))
        expect(said).to_contain_text(re.compile("never|no such day|does not", re.IGNORECASE))
        expect(page.get_by_role("textbox", name="Expression")).to_have_attribute(
            "aria-invalid", "true"
        )
        page.get_by_role("textbox", name="Expression").fill("30 2 * * *")
        page.get_by_label("Time zone").fill("Europe/Berlin")
        expect(said).to_contain_text("At 02:30 every day")
        expect(page.get_by_role("region", name="It would run").locator("li")).to_have_count(6)
        page.get_by_role("button", name="Make the schedule").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("typed")
        expect(page.locator("main")).to_contain_text("9007199254740993")
        page.keyboard.press("e")
        expect(page).to_have_url(re.compile("/edit$"))
        page.get_by_role("textbox", name="Expression").fill("45 2 * * *")
        expect(said).to_contain_text("02:45")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("typed")
    assert school.ask("GET", "/v1/schedules/typed")["expression"] == "45 2 * * *"


def test_what_was_left_out_says_why_and_what_is_made_up_for_is_listed_first(
    browse: Browse, school: School
) -> None:
    """Points 27 and 28; then it is paused with a way back, run now, and deleted by its name."""
    name = made(school, "often", every="1s", overlap="skip")
    wait_until(lambda: school.ask("GET", f"/v1/schedules/{name}")["skipped"] > 0, what="a skip")
    school.ask("POST", f"/v1/schedules/{name}/pause", {})
    hour = f"{(time.gmtime().tm_hour + 12) % 24:02}"  # far from now: it comes only by hand
    daily = made(school, "daily", expression=f"0 {int(hour)} * * *")
    with browse("operate") as seen:
        seen.allow("409")
        page = seen.open("/schedules/often?slots=skipped")
        expect(page.get_by_role("region", name="Slots")).to_contain_text(
            "left out: an earlier run was not over"
        )
        page = seen.open("/schedules/daily")
        page.get_by_role("button", name="Backfill…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Make tasks")).to_be_disabled()
        dialog.get_by_label("From").fill("2026-01-01T00:00")
        dialog.get_by_label("To, not with it").fill("2026-01-04T00:00")
        dialog.get_by_role("button", name="Dry run").click()
        expect(dialog.get_by_role("status")).to_contain_text("3 slots: 3 would run")
        expect(dialog.get_by_role("listitem")).to_contain_text(
            [f"2026-01-0{day} {hour}:00" for day in (1, 2, 3)]
        )
        assert school.ask("GET", f"/v1/tasks?schedule={daily}")["items"] == []
        dialog.get_by_role("button", name="Make 3 tasks").click()
        expect(page.locator(".toast")).to_contain_text("Made 3 tasks of daily")
        expect(page.get_by_role("region", name="Slots")).to_contain_text("made up for later")
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(page.locator("main")).to_contain_text("Nothing fires until it is resumed")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
        page.get_by_role("button", name="Delete…").click()
        gone = page.get_by_role("dialog")
        expect(gone.get_by_role("button", name="Delete", exact=True)).to_be_disabled()
        gone.get_by_label("Type daily").fill("daily")
        gone.get_by_role("button", name="Delete", exact=True).click()
        expect(page).to_have_url(f"{school.dev.url}/schedules")
        expect(page.locator("tbody")).not_to_contain_text("daily")
