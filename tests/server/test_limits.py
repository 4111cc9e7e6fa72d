"""Limits over HTTP: made, changed, removed, and shown with their use (R7.4, R7.5)."""

import pytest

from rota.server.shapes.limits import Limit, LimitUse
from tests.support.asking import Asker
from tests.support.shapes import fits

CAP = {"queue": "sms", "tenant": "board", "max_running": 200}


async def test_a_limit_is_made_shown_changed_and_removed(asker: Asker) -> None:
    made = await asker.ask("POST", "/v1/limits", {**CAP, "rate": "500/s"})
    assert (made.status, made.headers["etag"]) == (201, '"1"')
    fits(made.json, Limit)
    at = made.headers["location"]
    assert at == f"/v1/limits/{made.json['id']}"

    changed = await asker.ask("PATCH", at, {"rate": None}, headers={"If-Match": '"1"'})
    assert (changed.json["rate"], changed.json["max_running"]) == (None, 200)
    shown = await asker.ask("GET", at)
    assert (fits(shown.json, LimitUse).running, shown.headers["etag"]) == (0, '"2"')
    listed = await asker.ask("GET", "/v1/limits?queue=sms")
    assert [fits(one, LimitUse).id for one in listed.json["items"]] == [made.json["id"]]
    assert (await asker.ask("GET", "/v1/limits?queue=mail")).json["items"] == []

    assert (await asker.ask("DELETE", at)).status == 204
    assert (await asker.ask("GET", at)).code == "not_found"


async def test_a_second_limit_for_the_same_is_refused_with_the_id_of_the_first(
    asker: Asker,
) -> None:
    """Pitfall 11."""
    first = await asker.ask("POST", "/v1/limits", CAP)
    told = await asker.ask("POST", "/v1/limits", {**CAP, "max_running": 3})
    assert (told.status, told.code, told.json["id"]) == (409, "scope_taken", first.json["id"])
    shown = await asker.ask("GET", f"/v1/limits/{first.json['id']}")
    assert shown.json["max_running"] == 200


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"max_running": 3}, "/queue"),
        ({"queue": "sms"}, "/max_running"),
        ({"queue": "sms", "max_running": 0}, "/max_running"),
        ({"queue": "sms", "rate": "often"}, "/rate"),
        ({"queue": "sms", "burst": 3}, "/burst"),
        ({"queue": "sms", "max_runing": 3}, "/max_runing"),
        ({"queue": "'; drop table ready; --", "max_running": 3}, "/queue"),
    ],
    ids=["no scope", "nothing", "none", "rate", "burst", "unknown", "sql"],
)
async def test_what_does_not_fit_is_named(asker: Asker, body: object, pointer: str) -> None:
    told = await asker.ask("POST", "/v1/limits", body)
    assert (told.status, told.code) == (422, "validation_failed")
    assert told.json["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
@pytest.mark.parametrize("name", ["0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", "sms"])
async def test_what_is_not_there_is_not_found(asker: Asker, method: str, name: str) -> None:
    """Absent and malformed ids look the same."""
    body = {"max_running": 3} if method == "PATCH" else None
    told = await asker.ask(method, f"/v1/limits/{name}", body)
    assert (told.status, told.code) == (404, "not_found")


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_a_change_for_another_version_is_refused(asker: Asker, method: str) -> None:
    made = await asker.ask("POST", "/v1/limits", CAP)
    body = {"max_running": 3} if method == "PATCH" else None
    told = await asker.ask(method, made.headers["location"], body, headers={"If-Match": '"2"'})
    assert (told.status, told.code, told.json["version"]) == (412, "version_mismatch", 1)


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("GET", "", "submit"),
        ("POST", "", "operate"),
        ("PATCH", "/x", "operate"),
        ("DELETE", "/x", "operate"),
    ],
    ids=["list", "make", "change", "remove"],
)
async def test_each_deed_needs_its_role(asker: Asker, method: str, path: str, role: str) -> None:
    told = await asker.using(role).ask(method, f"/v1/limits{path}", CAP)
    assert (told.status, told.code) == (403, "forbidden")
