"""Who may see and do what, and what becomes of a page whose sign-in ends (R8.5, R9.2)."""

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Browse
from tests.web.seeding import School

pytestmark = [pytest.mark.slow, pytest.mark.paced]


def test_a_viewer_cannot_act_and_is_told_why(browse: Browse, school: School) -> None:
    """R9.2, point 34: every button that changes something is off, with its reason."""
    with browse("read") as seen:
        page = seen.open("/")
        pause = page.locator("tr[data-id='letters']").get_by_role("button", name="Resume")
        expect(pause).to_be_disabled()
        expect(pause).to_have_attribute("title", "needs operate; this key has read")
        seen.open("/tasks?queue=letters")
        page.get_by_label("Select the rows of this page").check()
        for verb in ("Cancel", "Retry", "Reprioritise", "Move", "Delete"):
            button = page.get_by_role("button", name=f"{verb}…")
            expect(button).to_be_disabled()
            expect(button).to_have_attribute("title", re.compile("needs (operate|admin)"))
        seen.open(f"/tasks/{school.tasks['letter']}")
        for verb in ("Cancel…", "Run now…"):
            expect(page.get_by_role("button", name=verb)).to_be_disabled()
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.method))
        for key in ("c", "r", "e"):
            page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert set(sent) <= {"GET"}


def test_another_tenants_link_shows_nothing_not_even_that_it_is_there(
    browse: Browse, school: School
) -> None:
    """R8.5, point 35: the same words as for a task that never was."""
    said = []
    with browse("board") as seen:
        seen.allow("404")
        for task in (school.tasks["college"], "01a00000-0000-7000-8000-000000000000"):
            page = seen.open(f"/tasks/{task}")
            alert = page.get_by_role("alert").first
            expect(alert).to_contain_text("there is none that this key can see")
            said.append(re.sub(r"[0-9a-f]{4,}[0-9a-f…-]*", "ID", alert.inner_text()))
            expect(page.get_by_text("college")).to_have_count(0)
    assert said[0] == said[1]


def test_a_key_of_one_tenant_sees_its_own_only(browse: Browse, school: School) -> None:
    """R8.5: list, counts and pages."""
    with browse("board") as seen:
        page = seen.open("/tasks?state=all")
        expect(page.locator("tbody tr").first).to_be_visible()
        tenants = page.locator("td[data-title=Tenant]").all_inner_texts()
        assert {text.strip() for text in tenants} == {"board"}
        expect(page.locator(".chip.locked")).to_have_text("tenant board")
        expect(page.get_by_role("link", name="Workers")).to_have_count(0)


def test_one_signs_in_with_a_key_and_comes_to_the_page_one_wanted(
    browse: Browse, school: School
) -> None:
    """R8.5: and a wrong key is refused without a word too many."""
    wanted = f"/tasks/{school.tasks['letter']}"
    with browse(None) as seen:
        seen.allow("401")
        page = seen.open(wanted)
        expect(page).to_have_url(re.compile(r"/login\?next="))
        page.get_by_label("Key").fill("rota_wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_be_visible()
        page.get_by_label("Key").fill(school.keys["read"])
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(school.dev.url + wanted)
        expect(page.get_by_role("heading", name="send_letter")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page).to_have_url(re.compile("/login"))


def test_the_way_back_after_the_sign_in_stays_on_this_server(
    browse: Browse, school: School
) -> None:
    """R8.5: an address of somebody else's is not followed."""
    for wanted in ("//evil.example/", "https://evil.example/", "/\\evil.example"):
        with browse(None) as seen:
            seen.allow("401")
            page = seen.page
            page.goto(f"{school.dev.url}/login?next={wanted}")
            page.get_by_label("Key").fill(school.keys["read"])
            page.get_by_role("button", name="Sign in").click()
            expect(page).to_have_url(f"{school.dev.url}/")


def test_a_key_that_is_revoked_meanwhile_leads_to_the_login_and_back(
    browse: Browse, school: School
) -> None:
    """R9.2, point 36: at the next call, wherever one is."""
    made = school.ask("POST", "/v1/keys", {"name": "guest", "roles": ["read"]})
    school.keys["guest"] = made["key"]
    with browse("guest") as seen:
        seen.allow("401")
        page = seen.open("/tasks?queue=letters&state=all")
        expect(page.locator("tbody tr").first).to_be_visible()
        school.ask("DELETE", f"/v1/keys/{made['id']}")
        # Every server knows of it within 5 s, and the stream of the page ends with the key.
        expect(page).to_have_url(re.compile(r"/login\?next=.*queue"), timeout=15_000)
        page.get_by_label("Key").fill(school.keys["read"])
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(re.compile(r"/tasks\?queue=letters"))
