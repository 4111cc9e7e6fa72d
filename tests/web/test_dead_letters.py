"""Dead letters: looked at, mended, replayed, set aside and taken back (R4.4, R9.1)."""

import re
from functools import partial
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.system.harness import wait_until
from tests.web.conftest import Browse
from tests.web.seeding import School

pytestmark = [pytest.mark.slow, pytest.mark.paced]

MANY = 12


def failed(school: School, kind: str, count: int, **payload: object) -> tuple[str, list[str]]:
    """Submit tasks that fail; return the id of their group and their own."""
    one = {"kind": kind, "payload": payload, "tenant": "college"}
    ids = [str(school.ask("POST", "/v1/tasks", one)["id"]) for _ in range(count)]
    for task in ids:
        wait_until(partial(has_failed, school, task), what="a dead letter")
    return str(school.ask("GET", f"/v1/dead-letters/{ids[0]}")["error_group"]), ids


def has_failed(school: School, task: str) -> bool:
    """Say whether a task has failed for good."""
    return bool(school.ask("GET", f"/v1/tasks/{task}")["state"] == "failed")


def test_some_of_a_group_are_tried_first_and_what_fails_again_comes_back(
    browse: Browse, school: School
) -> None:
    """Point 29: five, then the rest at a rate, with progress; the group is as large as before."""
    group, _ = failed(school, "refuse", MANY, message="the bus broke down")
    with browse("operate") as seen:
        page = seen.open(f"/dead-letters?q={quote('the bus')}")
        row = page.locator("tbody tr")
        expect(row).to_have_count(1)
        expect(row).to_contain_text(str(MANY))
        expect(row).to_contain_text(f"college {MANY}")
        day = re.compile(f"^{MANY} failed in the last 24 hours")
        expect(row.get_by_role("img", name=day)).to_be_visible()
        row.get_by_role("link").click()
        expect(page).to_have_url(re.compile(f"/dead-letters/{group}$"))
        page.get_by_role("button", name=re.compile("Replay all")).click()
        panel = page.get_by_role("region", name="Replay")
        expect(panel).to_contain_text(f"{MANY} match")
        panel.get_by_role("button", name="Replay 5 first").click()
        expect(panel).to_contain_text("5 replayed first: 5 failed again")
        panel.get_by_label("Replays a second").fill("50")
        panel.get_by_role("button", name="Replay the others").click()
        expect(panel).to_contain_text(re.compile("completed: \\d+ replayed"))
        expect(page.locator("main")).to_contain_text(f"{MANY} to be dealt with")
        page.get_by_role("button", name=re.compile("new ones? ↻")).click()
        expect(page.locator("tbody")).to_contain_text("failed again, a replay of")


def test_a_payload_is_mended_refused_at_its_field_and_replayed(
    browse: Browse, school: School
) -> None:
    """Point 30: what was typed stays; what changes is shown before it is stored."""
    group, (task,) = failed(school, "send_result", 1, student_id=34)
    with browse("operate") as seen:
        seen.allow("422")
        page = seen.open(f"/dead-letters/{group}?peek={task}")
        letter = page.get_by_role("region", name="The dead letter that is chosen")
        letter.get_by_role("button", name="Edit the payload").click()
        text = letter.get_by_label("Payload, as JSON")
        text.fill('{"student_id": 35,}')
        expect(letter.locator("#payload-said")).to_contain_text("line 1")
        expect(letter.get_by_role("button", name="Save")).to_be_disabled()
        text.fill('{"student_id": "thirty-five"}')
        letter.get_by_role("button", name="Save").click()
        expect(letter.locator("#payload-said.bad")).to_contain_text("student_id")
        expect(text).to_have_value('{"student_id": "thirty-five"}')
        text.fill('{"student_id": 35}')
        changes = letter.get_by_role("region", name="What changes")
        expect(changes).to_contain_text(re.compile("removed: .*34.*added: .*35"))
        letter.get_by_role("button", name="Save").click()
        expect(page.locator(".toast")).to_contain_text("Saved")
        letter.get_by_role("button", name="Replay this one").click()
        expect(letter).to_contain_text("replayed as")
    copy = school.ask("GET", f"/v1/dead-letters/{task}")["replayed_as"]
    wait_until(
        lambda: school.ask("GET", f"/v1/tasks/{copy}")["state"] == "completed", what="its copy"
    )


def test_what_is_set_aside_has_a_reason_and_a_way_back(browse: Browse, school: School) -> None:
    """R4.4: one by its reason, all by their number typed as well; restored from the list."""
    group, _ = failed(school, "refuse", 2, message="the hall is closed")
    with browse("operate") as seen:
        page = seen.open(f"/dead-letters/{group}")
        page.get_by_role("button", name="Discard all…").click()
        dialog = page.get_by_role("dialog")
        button = dialog.get_by_role("button", name="Discard 2")
        dialog.get_by_label("Type 2").fill("2")
        expect(button).to_be_disabled()
        dialog.get_by_label("Reason").fill("<img src=x onerror=alert(1)>")
        button.click()
        expect(page.get_by_text("2 discarded")).to_be_visible()
        page.get_by_role("link", name="Discarded").click()
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("<img src=x onerror=alert(1)>")
        rows.first.get_by_role("button", name="Restore").click()
        expect(page.locator(".toast").last).to_contain_text("1 restored")
    counted = school.ask("GET", f"/v1/dead-letters?error_group={group}")["items"]
    assert len(counted) == 1
