"""Alert rules, silence and webhooks, and what the audit record says of them (R4.5, R9.2, S17)."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Browse
from tests.web.seeding import School

pytestmark = [pytest.mark.slow, pytest.mark.paced]

HOOK = "https://hooks.invalid/rota"
"""An address that no name server knows, ever."""


def entry(page: Page, action: str) -> str:
    """The newest entry of an action, in the audit record that is shown."""
    row = page.locator("tbody tr", has_text=action).first
    expect(row).to_be_visible()
    return " ".join(row.inner_text().split())


def make_rule(page: Page) -> Locator:
    """Make a rule after one that does not fit was refused; return its row."""
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="New rule…").click()
    dialog.get_by_label("Name").fill("too-many-lost")
    dialog.get_by_label("Figure").select_option(label="dead letters")
    threshold = dialog.get_by_label(re.compile("^Fires from, in tasks"))
    make = dialog.get_by_role("button", name="Make the rule")
    expect(make).to_be_disabled()
    for wrong, why in (("0", "must be a number above 0"), ("900000", "10,000 at most")):
        threshold.fill(wrong)
        make.click()
        expect(dialog).to_contain_text(why)
        expect(threshold).to_have_attribute("aria-invalid", "true")
    expect(dialog.get_by_label("Name")).to_have_value("too-many-lost")
    threshold.fill("900")
    make.click()
    row = page.get_by_role("table", name="Alert rules").locator("tr", has_text="too-many-lost")
    expect(row).to_contain_text("900")
    return row


def change_rule(page: Page, row: Locator) -> None:
    """Change the rule, and silence it for a moment."""
    dialog = page.get_by_role("dialog")
    row.get_by_role("button", name=re.compile("^Edit…")).click()
    threshold = dialog.get_by_label(re.compile("^Fires from, in tasks"))
    expect(threshold).to_have_value("900")
    threshold.fill("950")
    dialog.get_by_label(re.compile("^When it has been so for")).fill("5m")
    dialog.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("950")
    expect(row).to_contain_text("for 5 min")
    row.get_by_role("button", name=re.compile("^Silence 1 h")).click()
    expect(row).to_contain_text("silent until")
    row.get_by_role("button", name=re.compile("^End")).click()
    expect(row.get_by_role("button", name=re.compile("^Silence 1 h"))).to_be_visible()


def try_webhook(page: Page) -> Locator:
    """Make a webhook that leads nowhere and try it; return its row."""
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="New webhook…").click()
    dialog.get_by_label("Address").fill(HOOK)
    dialog.get_by_role("button", name="Make the webhook").click()
    page.get_by_role("button", name="I have stored it").click()
    row = page.get_by_role("table", name="Webhooks").locator("tr", has_text=HOOK)
    row.get_by_role("button", name=re.compile("^Test")).click()
    expect(row.get_by_role("status")).to_contain_text("not delivered, no answer")
    return row


def test_a_rule_is_made_changed_and_silenced_a_webhook_is_tried_and_all_of_it_is_on_record(
    browse: Browse, school: School
) -> None:
    """R4.5, S17: what does not fit is refused at its field, and nothing typed is lost."""
    with browse("admin") as seen:
        seen.allow("422")
        page = seen.open("/access/alerts")
        rule = make_rule(page)
        change_rule(page, rule)
        for row, typed in ((try_webhook(page), "hooks.invalid"), (rule, None)):
            row.get_by_role("button", name=re.compile("^Delete…")).click()
            if typed is not None:
                page.get_by_label(f"Type {typed}").fill(typed)
            page.get_by_role("dialog").get_by_role("button", name="Delete it").click()
            expect(row).to_have_count(0)

        seen.open("/access/audit")
        changed = entry(page, "alert_rule.update")
        assert "threshold 900 → 950" in changed, changed
        assert "hold 60 → 300" in changed, changed
        made = entry(page, "alert_rule.create")
        assert "threshold 900" in made, made
        assert "→" not in made, made
        assert "too-many-lost" in entry(page, "alert_rule.silence")
        assert "admin-key" in entry(page, "webhook.test")
        assert "whsec_" not in page.locator("main").inner_text()


def test_run_now_makes_a_task_and_shows_it(browse: Browse, school: School) -> None:
    """R6.8: besides the slots; a second one while the first waits is asked about."""
    letter = {"kind": "send_letter", "payload": {"student_id": 1}, "queue": "letters"}
    school.ask("POST", "/v1/schedules", letter | {"name": "by-hand", "expression": "0 0 1 1 *"})
    with browse("operate") as seen:
        seen.allow("409")
        for again in (False, True):
            page = seen.open("/schedules/by-hand")
            page.get_by_role("button", name="Run now…").click()
            dialog = page.get_by_role("dialog")
            dialog.get_by_role("button", name="Run now").click()
            if again:
                expect(dialog.get_by_role("alert")).to_contain_text("An earlier run is not over")
                dialog.get_by_role("button", name="Run it after that").click()
            expect(page).to_have_url(re.compile(r"/tasks/[0-9a-f-]{36}$"))
            expect(page.get_by_role("heading", name="send_letter")).to_be_visible()
