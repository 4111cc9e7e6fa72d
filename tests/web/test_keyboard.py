"""Everything by keys, with the focus always to be seen (R9.2, point 37)."""

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Browse

pytestmark = [pytest.mark.slow, pytest.mark.paced]


def test_rows_are_walked_chosen_and_opened_by_keys(browse: Browse) -> None:
    """j, k, x, Escape, o: and the row in focus is the browser's own focus."""
    with browse("operate") as seen:
        page = seen.open("/tasks?queue=letters")
        rows = page.locator("tbody tr")
        expect(rows.first).to_be_visible()
        for key, row in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
            page.keyboard.press(key)
            expect(rows.nth(row)).to_be_focused()
        assert rows.nth(1).evaluate("row => getComputedStyle(row).outlineStyle") == "solid"
        page.keyboard.press("x")
        expect(page.get_by_text("1 task selected on this page")).to_be_visible()
        page.keyboard.press("Shift+J")
        expect(page.get_by_text("2 tasks selected on this page")).to_be_visible()
        page.keyboard.press("k")
        page.keyboard.press("Escape")
        expect(page.get_by_role("region", name="Selection")).to_have_count(0)
        task = rows.nth(1).get_attribute("data-id")
        page.keyboard.press("o")
        expect(page).to_have_url(re.compile(f"/tasks/{task}$"))


def test_keys_lead_to_pages_help_search_and_dialogs(browse: Browse) -> None:
    """g t, ?, Escape, /, Shift+A and c; nothing of it while one types."""
    with browse("operate") as seen:
        page = seen.open("/")
        # Two keys are one word if the second comes within a second of the page's time.
        for _ in range(3):
            page.keyboard.press("g")
            page.keyboard.press("t")
            if page.url.endswith("/tasks"):
                break
        expect(page).to_have_url(re.compile("/tasks$"))
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("Keys")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        # The page of before stays until the new one is there.
        expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()
        expect(page.locator("tbody tr").first).to_be_visible()
        page.keyboard.press("Shift+A")
        expect(page.get_by_text(re.compile("All .*that match are selected"))).to_be_visible()
        page.keyboard.press("c")
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Keep them")).to_be_focused()
        page.keyboard.press("Enter")  # on the way back, so nothing is done
        expect(dialog).to_have_count(0)
        page.keyboard.press("?")
        page.get_by_role("checkbox", name="Single keys").uncheck()
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.keyboard.press("o")
        expect(page).to_have_url(re.compile("/tasks$"))
        page.keyboard.press("?")
        page.get_by_role("checkbox", name="Single keys").check()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.keyboard.type("gtjx?")
        expect(page.get_by_role("searchbox")).to_have_value("gtjx?")
        expect(page).to_have_url(re.compile("/tasks$"))


def test_tab_reaches_everything_and_the_focus_is_seen(browse: Browse) -> None:
    """The first stops are the way past the bar, its links and its tools; each has an outline."""
    with browse("operate") as seen:
        page = seen.open("/")
        stops = []
        for _ in range(14):
            page.keyboard.press("Tab")
            stops.append(
                page.evaluate(
                    """() => {
                        const one = document.activeElement;
                        const { outlineStyle, outlineWidth } = getComputedStyle(one);
                        const seen = outlineStyle !== "none" && outlineWidth !== "0px";
                        return [one.textContent.trim(), seen];
                    }"""
                )
            )
        assert [name for name, outlined in stops if not outlined] == []
        names = [name for name, _ in stops]
        assert names[0] == "To the content"
        assert {"Overview", "Tasks", "Schedules"} <= set(names)
