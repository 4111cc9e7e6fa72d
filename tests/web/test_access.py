"""Who may see and do what, and what becomes of a page whose sign-in ends (R8.5, R9.2)."""

import re

import pytest
from playwright.sync_api import expect

from tests.system.harness import wait_until
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


OFF = {
    "/schedules": ("New schedule", "Pause morning_report", "Run now… morning_report"),
    "/schedules/morning_report": ("Pause", "Run now…", "Backfill…", "Edit", "Delete…"),
    "/dead-letters": (re.compile("Replay all"), re.compile("^Replay… ")),
    "/workers": (re.compile("^Drain…"),),
    "/access/alerts": ("New rule…", re.compile("^Silence 1 h"), re.compile("^Edit…")),
}
"""What is off for who may only look, by pages."""


def test_a_viewer_sees_why_on_every_other_page_too(browse: Browse, school: School) -> None:
    """R9.2, point 34: buttons are off with their reason, keys do nothing, pages say so."""
    with browse("read") as seen:
        sent: list[str] = []
        seen.page.on("request", lambda request: sent.append(request.method))
        for path, names in OFF.items():
            page = seen.open(path)
            for name in names:
                button = page.get_by_role("button", name=name, exact=isinstance(name, str)).first
                expect(button, f"{path} {name}").to_be_disabled()
                expect(button).to_have_attribute(
                    "title", re.compile("needs (operate|admin); this key has read")
                )
            for key in ("j", "p", "r", "e", "c"):
                page.keyboard.press(key)
            expect(page.get_by_role("dialog")).to_have_count(0)
        for path in ("/access/keys", "/access/audit"):
            expect(seen.open(path).locator("main")).to_contain_text("need admin; this key has read")
        assert set(sent) == {"GET"}


def used(school: School, name: str) -> bool:
    """Say whether it is on record that a key was used."""
    keys = school.ask("GET", "/v1/keys")["items"]
    return any(key["name"] == name and key["last_used_at"] is not None for key in keys)


def test_a_key_is_shown_once_and_revoked_by_its_name_where_it_is_in_use(
    browse: Browse, school: School
) -> None:
    """R8.5, S12: and both are in the audit record with who did it."""
    with browse("admin") as seen:
        seen.allow("401")
        page = seen.open("/access/keys")
        page.get_by_role("button", name="New key…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("board-app")
        dialog.get_by_role("checkbox", name=re.compile("^read")).check()
        dialog.get_by_role("button", name="Make the key").click()
        once = page.get_by_role("status", name="Shown once: the key board-app")
        once.get_by_role("button", name="Show").click()
        key = once.locator("code.secret").inner_text()
        once.get_by_role("button", name="I have stored it").click()
        expect(page.locator("body")).not_to_contain_text(key)
        assert school.dev.ask("GET", "/v1/me", key=key).status == 200
        row = page.locator("tbody tr", has_text="board-app")
        expect(row).to_be_visible()
        wait_until(lambda: used(school, "board-app"), 20, "the note of its use")
        page.reload()
        row.get_by_role("button", name=re.compile("Revoke…")).click()
        button = dialog.get_by_role("button", name="Revoke it")
        expect(button).to_be_disabled()
        dialog.get_by_label("Type board-app").fill("board-app")
        button.click()
        expect(row).to_have_count(0)
        seen.open("/access/audit?action=key.revoke")
        expect(page.locator("tbody tr").first).to_contain_text("admin-key")
        expect(page.locator("tbody tr").first).to_contain_text("key.revoke")


NOBODY = "01a00000-0000-7000-8000-000000000000"
"""The id of nothing."""


def others(school: School) -> dict[str, tuple[str, str]]:
    """Addresses of what is not the board's, each beside that of what never was."""
    groups = school.ask("GET", "/v1/dead-letters/groups")["items"]
    group = next(one["group"] for one in groups if one["kind"] == "refuse")
    worker = school.ask("GET", "/v1/sessions")["items"][0]
    # With an Idempotency-Key it is kept, however little there is to do.
    little = {"do": "amend", "filter": {"tenant": "college", "kind": "send_letter"}}
    little |= {"set": {"priority": 4}}
    admin = school.keys["admin"]
    begun = school.dev.ask("POST", "/v1/actions", little, key=admin, idempotency_key="one")
    assert begun.status == 202, begun.json
    return {
        "task": (f"/tasks/{school.tasks['college']}", f"/tasks/{NOBODY}"),
        "schedule": ("/schedules/morning_report", "/schedules/evening_report"),
        "group": (f"/dead-letters/{group}", f"/dead-letters/{'0' * 16}"),
        "tenant": ("/tenants/college", "/tenants/village"),
        "worker": (f"/workers/{worker['id']}", f"/workers/{NOBODY}"),
        "operation": (f"/operations/{begun.json['id']}", f"/operations/{NOBODY}"),
    }


def test_another_tenants_link_shows_nothing_not_even_that_it_is_there(
    browse: Browse, school: School
) -> None:
    """R8.5, point 35: on every page the same words as for what never was."""
    differ = {}
    with browse("board") as seen:
        seen.allow("403", "404")
        for what, pair in others(school).items():
            said = []
            for address in pair:
                page = seen.open(address)
                seen.all_read()
                expect(page.locator("main [role=alert], main .empty").first).to_be_visible()
                name = address.rpartition("/")[2]
                text = page.locator("main").inner_text().replace(name, "ID")
                said.append(re.sub(r"[0-9a-f]{4,}[0-9a-f…-]*", "ID", text))
            if said[0] != said[1]:
                differ[what] = said
    assert differ == {}


def test_a_key_of_one_tenant_sees_its_own_only(browse: Browse, school: School) -> None:
    """R8.5: list, counts and pages."""
    with browse("board") as seen:
        page = seen.open("/tasks?state=all")
        expect(page.locator("tbody tr").first).to_be_visible()
        tenants = page.locator("td[data-title=Tenant]").all_inner_texts()
        assert {text.strip() for text in tenants} == {"board"}
        expect(page.locator(".chip.locked")).to_have_text("tenant board")
        expect(page.get_by_role("link", name="Workers")).to_have_count(0)
        page = seen.open("/tenants")
        chart = page.get_by_role("slider", name=re.compile("^Completed tasks in steps"))
        expect(chart).to_have_attribute("aria-valuetext", re.compile(r"^got: last \d"))
        expect(page.get_by_role("link", name="board", exact=True)).to_be_visible()
        expect(page.get_by_text("college")).to_have_count(0)


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
        expect(page).to_have_url(re.compile(r"/login\?next=.*queue"))
        page.get_by_label("Key").fill(school.keys["read"])
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(re.compile(r"/tasks\?queue=letters"))
