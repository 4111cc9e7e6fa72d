"""What a person does to tasks: counted, asked, done once, and told exactly (R9.1, R9.2)."""

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Browse
from tests.web.seeding import School

pytestmark = [pytest.mark.slow, pytest.mark.paced]

MANY = 104
"""More than a page."""


def letters(school: School, tag: str, count: int) -> list[str]:
    """Submit letters with a tag of the test's own; they wait."""
    one = {"kind": "send_letter", "payload": {"student_id": 7}, "queue": "letters", "tags": [tag]}
    return [school.ask("POST", "/v1/tasks", one)["id"] for _ in range(count)]


def states(school: School, tag: str) -> dict[str, int]:
    """Count the tasks with a tag by state, without the states that none is in."""
    counted = school.ask("GET", f"/v1/tasks/count?tag={tag}")["states"]
    return {state: number for state, number in counted.items() if number}


def test_all_that_match_are_counted_and_cancelled_and_nothing_else(
    browse: Browse, school: School
) -> None:
    """R9.1, point 13: not only the page; the outcome has the exact number."""
    letters(school, "class-5a", MANY)
    letters(school, "class-5b", 1)
    with browse("operate") as seen:
        page = seen.open("/tasks?tag=class-5a")
        page.get_by_label("Select the rows of this page").check()
        expect(page.get_by_text("100 tasks selected on this page")).to_be_visible()
        page.get_by_role("button", name=f"Select all {MANY} that match").click()
        page.get_by_role("button", name="Cancel…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("heading")).to_have_text(f"Cancel {MANY} tasks?")
        expect(dialog.get_by_role("button", name="Keep them")).to_be_focused()
        dialog.get_by_label("Reason").fill("the class is on a trip")
        dialog.get_by_role("button", name=f"Cancel {MANY}").click()
        expect(page.locator(".toast")).to_contain_text(f"{MANY} cancelled")
    assert states(school, "class-5a") == {"cancelled": MANY}
    assert states(school, "class-5b") == {"ready": 1}


def test_more_than_a_thousand_go_on_by_themselves_on_a_page_of_their_own(
    browse: Browse, school: School
) -> None:
    """R9.1, point 14: the number is typed, the page says how far it is and what came of it."""
    one = {"kind": "send_letter", "payload": {"student_id": 7}, "queue": "letters"}
    school.ask("POST", "/v1/tasks/batch", [one | {"tags": ["class-1a"]}] * 1_200)
    with browse("operate") as seen:
        page = seen.open("/tasks?tag=class-1a")
        expect(page.locator("tbody tr").first).to_be_visible()
        page.keyboard.press("Shift+A")
        page.get_by_role("button", name="Cancel…").click()
        act = page.get_by_role("button", name="Cancel 1,200")
        expect(act).to_be_disabled()
        page.get_by_label("Type 1200").fill("1200")
        act.click()
        expect(page).to_have_url(re.compile("/operations/"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Cancel 1,200 tasks")
        expect(page.locator("main")).to_contain_text("completed")
        expect(page.locator(".outcome")).to_have_text("1,200 cancelled or asked to stop.")
    assert states(school, "class-1a") == {"cancelled": 1_200}


def test_an_operation_is_stopped_half_way_and_says_exactly_what_it_did(
    browse: Browse, school: School
) -> None:
    """R9.1, point 14: the numbers on the page are those of the store, to the last task."""
    one = {"kind": "send_letter", "payload": {"student_id": 7}, "queue": "letters"}
    school.ask("POST", "/v1/tasks/batch", [one | {"tags": ["class-2a"]}] * 600)
    asked = {"do": "cancel", "filter": {"tag": "class-2a"}, "rate": 20, "reason": "a trip"}
    begun = school.ask("POST", "/v1/actions", asked)
    with browse("operate") as seen:
        page = seen.open(f"/operations/{begun['id']}")
        expect(page.get_by_text(re.compile(r"[1-9]\d* of 600"))).to_be_visible()
        page.get_by_role("button", name="Stop…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Let it go on")).to_be_focused()
        dialog.get_by_role("button", name="Stop", exact=True).click()
        expect(page.locator("main")).to_contain_text("stopped")
        expect(page.get_by_role("button", name="Stop…")).to_have_count(0)
        told = re.fullmatch(
            r"(\d+) cancelled or asked to stop, (\d+) left as they were\.",
            page.locator(".outcome").inner_text(),
        )
    assert told is not None
    assert states(school, "class-2a") == {"cancelled": int(told[1]), "ready": int(told[2])}


def test_what_came_after_the_count_is_refused_rather_than_taken_along(
    browse: Browse, school: School
) -> None:
    """Point 13: more match than were counted, so nothing is done and it says so."""
    letters(school, "class-6a", 2)
    with browse("operate") as seen:
        seen.allow("409", "422", "412")
        page = seen.open("/tasks?tag=class-6a")
        page.get_by_label("Select the rows of this page").check()
        page.get_by_role("button", name=re.compile("^Select all")).click()
        page.get_by_role("button", name="Cancel…").click()
        expect(page.get_by_role("dialog").get_by_role("heading")).to_have_text("Cancel 2 tasks?")
        letters(school, "class-6a", 3)
        page.get_by_role("button", name="Cancel 2").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    assert states(school, "class-6a") == {"ready": 5}


def test_pressed_twice_is_done_once(browse: Browse, school: School) -> None:
    """R9.2, point 15: the button is busy at once, and a write carries a key."""
    letters(school, "class-7a", 3)
    with browse("operate") as seen:
        page = seen.open("/tasks?tag=class-7a")
        page.get_by_label("Select the rows of this page").check()
        page.get_by_role("button", name="Reprioritise…").click()
        button = page.get_by_role("button", name="Reprioritise 3")
        expect(button).to_be_enabled()
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.post_data or ""))
        button.evaluate("button => { button.click(); button.click(); button.click(); }")
        expect(page.locator(".toast")).to_contain_text("3 changed")
        assert len([body for body in sent if '"do"' in body]) == 1
    expect_priority = school.ask("GET", "/v1/tasks?tag=class-7a")["items"]
    assert {task["priority"] for task in expect_priority} == {5}


def test_too_late_says_so_and_loses_nothing(browse: Browse, school: School) -> None:
    """R9.2, point 16: it ended between the look and the press."""
    (task,) = letters(school, "class-8a", 1)
    with browse("operate") as seen:
        page = seen.open(f"/tasks/{task}")
        page.keyboard.press("l")  # so that the page does not learn of it by itself
        page.get_by_role("button", name="Cancel…").click()
        school.ask("POST", f"/v1/tasks/{task}/cancel", {})
        page.get_by_role("button", name="Cancel it").click()
        expect(page.locator(".toast")).to_contain_text(re.compile("Too late|Cancelled"))


def test_a_failed_task_runs_again(browse: Browse, school: School) -> None:
    """R9.1: retry, and the page shows what became of it."""
    with browse("operate") as seen:
        page = seen.open(f"/tasks/{school.tasks['failed']}")
        expect(page.get_by_text("ConnectionError").first).to_be_visible()
        page.get_by_role("button", name="Run now…").click()
        page.get_by_role("button", name="Run it").click()
        expect(page.locator(".toast")).to_contain_text("runs as soon as there is room")


def test_a_queue_is_paused_at_once_and_let_go_again_by_undo(browse: Browse, school: School) -> None:
    """R9.1: one click, a way back, and who looks later sees it."""
    with browse("operate") as seen:
        page = seen.open("/")
        row = page.locator("tr[data-id='reports']")
        row.get_by_role("button", name="Pause").click()
        expect(row).to_contain_text("paused")
        assert school.ask("GET", "/v1/queues/reports")["paused"] is True
        page.get_by_role("button", name="Undo").click()
        expect(row.get_by_role("button", name="Pause")).to_be_visible()
        assert school.ask("GET", "/v1/queues/reports")["paused"] is False


def test_weight_cap_and_rate_are_changed_where_they_stand(browse: Browse, school: School) -> None:
    """R9.2, point 31: the effect is said before it is saved, and the gauges show what was."""
    bounds = {"tenant": "north", "max_running": 180, "rate": 3, "burst": 50}
    limit = school.ask("POST", "/v1/limits", bounds)["id"]
    school.ask("PATCH", "/v1/tenants/north", {"weight": 2})
    with browse("admin") as seen:
        page = seen.open("/tenants")
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name="north"))
        expect(row).to_contain_text("0/180")
        expect(row).to_contain_text("50/50")
        for label, value, said in (
            ("Cap", "150", "0 of 150 would be in use now."),
            ("Starts a second", "5", "At most 5 a second start: 300 a minute."),
            ("Weight of north", "3", "Weight 3 of"),
        ):
            row.get_by_role("button", name=label).click()
            field = row.get_by_label(label, exact=True)
            field.fill(value)
            expect(row.locator("form")).to_contain_text(said)
            field.press("Enter")
            expect(row.locator("form")).to_have_count(0)
        expect(row).to_contain_text("0/150")
        expect(row).to_contain_text("+5/s")
    after = school.ask("GET", f"/v1/limits/{limit}")
    assert (after["max_running"], after["rate"]) == (150, 5)
    assert school.ask("GET", "/v1/tenants/north")["weight"] == 3


def test_the_cause_is_named_and_once_it_is_gone_the_page_shows_it(
    browse: Browse, school: School
) -> None:
    """R7.8, points 17 and 18: why it waits in words; then it starts."""
    body = {"kind": "morning_report", "payload": {}, "queue": "reports"}
    school.ask("POST", "/v1/queues/reports/pause", {"reason": "the marks are not in"})
    task = school.ask("POST", "/v1/tasks", body)["id"]
    with browse("operate") as seen:
        page = seen.open(f"/tasks/{task}")
        why = page.get_by_role("region", name=re.compile("Why it waits"))
        expect(why).to_contain_text("paused")
        school.ask("POST", "/v1/queues/reports/resume", {})
        expect(page.locator(".head .state")).to_have_text(re.compile("completed"))
