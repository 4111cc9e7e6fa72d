"""Tenants over HTTP: shown, changed, paused (R7.3)."""

import pytest

from rota.engine import Engine
from rota.server.shapes.tenants import Tenant, TenantSettings
from tests.support.asking import Asker
from tests.support.factories import Make
from tests.support.shapes import fits


async def test_a_tenant_is_set_up_and_shown_with_what_waits(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """PATCH merges; the list shows those that have settings."""
    await engine.submit(make.tasks(2, tenant="board"))
    await asker.ask("PATCH", "/v1/tenants/board", {"weight": 3})
    changed = await asker.ask("PATCH", "/v1/tenants/board", {"max_depth": 9})
    assert (changed.json["weight"], changed.json["max_depth"]) == (3, 9)
    fits(changed.json, TenantSettings)
    told = await asker.ask("GET", "/v1/tenants/board")
    assert (told.json["waiting"], told.headers["etag"]) == (2, '"2"')
    fits(told.json, Tenant)
    listed = await asker.ask("GET", "/v1/tenants")
    assert [fits(tenant, Tenant).name for tenant in listed.json["items"]] == ["board"]


async def test_who_has_no_name_is_written_as_a_dash(asker: Asker) -> None:
    """§2: the empty tenant in a path."""
    await asker.ask("PATCH", "/v1/tenants/-", {"weight": 2})
    assert (await asker.ask("GET", "/v1/tenants/-")).json["name"] == ""


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({"weight": 0}, "/weight"), ({"max_depth": -1}, "/max_depth"), ({"wait": 1}, "/wait")],
    ids=["weight", "depth", "unknown"],
)
async def test_what_does_not_fit_is_named(asker: Asker, body: object, pointer: str) -> None:
    told = await asker.ask("PATCH", "/v1/tenants/board", body)
    assert (told.status, told.json["errors"][0]["pointer"]) == (422, pointer)


@pytest.mark.parametrize(
    ("method", "body"), [("PATCH", {"weight": 3}), ("DELETE", None)], ids=["change", "reset"]
)
async def test_a_change_for_another_version_is_refused(
    asker: Asker, method: str, body: object
) -> None:
    await asker.ask("PATCH", "/v1/tenants/board", {"weight": 7})
    told = await asker.ask(method, "/v1/tenants/board", body, headers={"If-Match": '"4"'})
    assert (told.status, told.code, told.json["version"]) == (412, "version_mismatch", 1)
    assert (await asker.ask(method, "/v1/tenants/board", body)).status in (200, 204)


async def test_null_is_the_default(asker: Asker) -> None:
    await asker.ask("PATCH", "/v1/tenants/board", {"weight": 7, "max_depth": 5})
    told = await asker.ask("PATCH", "/v1/tenants/board", {"weight": None, "max_depth": None})
    assert (told.json["weight"], told.json["max_depth"]) == (1, None)


async def test_a_pause_holds_until_it_is_resumed(asker: Asker) -> None:
    """R7.7."""
    told = await asker.ask("POST", "/v1/tenants/board/pause", {"reason": "unpaid"})
    assert (told.json["paused"], told.json["pause_reason"]) == (True, "unpaid")
    assert (await asker.ask("GET", "/v1/tenants?paused=true")).json["items"][0]["name"] == "board"
    assert not (await asker.ask("POST", "/v1/tenants/board/resume")).json["paused"]


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("GET", "", "submit"),
        ("PATCH", "/board", "operate"),
        ("DELETE", "/board", "operate"),
        ("POST", "/board/pause", "read"),
        ("POST", "/board/resume", "read"),
    ],
    ids=["list", "change", "reset", "pause", "resume"],
)
async def test_each_deed_needs_its_role(asker: Asker, method: str, path: str, role: str) -> None:
    told = await asker.using(role).ask(method, f"/v1/tenants{path}", {})
    assert (told.status, told.code) == (403, "forbidden")
