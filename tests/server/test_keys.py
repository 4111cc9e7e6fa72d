"""Keys, the audit record and who is calling, over HTTP (R8.5, S11, S12, S17)."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import rota
from rota import Rota, key_text
from rota.access import EVERYTHING, Role
from rota.clock import ManualClock
from rota.engine import Engine
from rota.errors import ConfigurationError
from rota.server.first_key import check_listening
from rota.server.shapes.audit import AuditPage
from rota.server.shapes.keys import Key, KeyPage, NewKey
from rota.server.shapes.me import LoggedIn, Me
from tests.server.doors import ON_SQLITE, Door
from tests.support.factories import Make


@pytest.fixture
def door(app: Rota, engine: Engine) -> Door:
    return Door(app, engine)


NEW = {
    "name": "board-app", "roles": ["submit", "read"], "tenant": "board", "queues": ["sms"],
    "payloads": False, "expires": "90d",
}  # fmt: skip


async def test_a_key_is_shown_once_and_works(door: Door, clock: ManualClock) -> None:
    """S12: its text is in this one answer; the store and the record have none of it."""
    boss = await door.make(Role.ADMIN, name="boss")
    told = await door.using(boss.text).ask("POST", "/v1/keys", NEW)

    assert told.status == 201
    text, id_ = told.json["key"], told.json["id"]
    assert told.headers["location"] == f"/v1/keys/{id_}"
    assert told.json["created_by"] == boss.key.id
    assert told.json["expires_at"] == "2027-04-15T08:00:00.000000Z"
    me = await door.using(text).ask("GET", "/v1/me")
    assert (me.json["tenant"], me.json["queues"]) == ("board", ["sms"])
    assert (me.json["roles"], me.json["payloads"]) == (["read", "submit"], False)

    secret = text[18:61]
    written = key_text.read(text)
    assert written is not None
    assert written.secret == secret
    seen = [await door.using(boss.text).ask("GET", f"/v1/{path}") for path in PATHS]
    for body in (*[told.body for told in seen], repr(await door.audit()).encode()):
        assert secret.encode() not in body
        assert written.secret_hash.hex().encode() not in body


PATHS = ("keys", "audit", "me")

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a role that is none": ({"roles": ["god"]}, "/roles"),
    "no role": ({"roles": []}, "/roles"),
    "no queue": ({"queues": []}, "/queues"),
    "a queue that is none": ({"queues": ["a/b"]}, "/queues"),
    "a name that is none": ({"name": "a b"}, "/name"),
    "an expiry in the past": ({"expires": "2020-01-01T00:00:00Z"}, "/expires"),
    "an expiry at once": ({"expires": 0}, "/expires"),
    "an expiry that is none": ({"expires": "soon"}, "/expires"),
    "a field that is none": ({"scope": "all"}, "/scope"),
}


@ON_SQLITE
@pytest.mark.parametrize(("change", "pointer"), WRONG.values(), ids=WRONG)
async def test_what_cannot_be_is_refused_by_its_name(
    door: Door, change: dict[str, Any], pointer: str
) -> None:
    """R1.6."""
    asker = await door.asker(Role.ADMIN)

    told = await asker.ask("POST", "/v1/keys", NEW | change)

    assert told.status == 422
    assert told.json["errors"][0]["pointer"] == pointer
    assert len(await door.engine.keys()) == 1


async def test_a_key_is_revoked_for_good(door: Door, clock: ManualClock) -> None:
    """S12: twice is like once; here it bites at once for whoever comes anew."""
    asker = await door.asker(Role.ADMIN)
    made = await door.make(Role.READ)
    path = f"/v1/keys/{made.key.id}"

    assert [(await asker.ask("DELETE", path)).status for _ in range(2)] == [204, 204]
    assert (await door.using(made.text).ask("GET", "/v1/me")).status == 401
    assert (await asker.ask("GET", path)).json["state"] == "revoked"
    assert (await asker.ask("DELETE", "/v1/keys/nobody")).code == "not_found"


async def test_the_last_admin_stays(door: Door) -> None:
    """R8.5."""
    made = await door.make(Role.ADMIN)
    told = await door.using(made.text).ask("DELETE", f"/v1/keys/{made.key.id}")

    assert (told.status, told.code) == (409, "last_admin")


@ON_SQLITE
async def test_an_admin_of_one_tenant_makes_no_keys(door: Door) -> None:
    """S2: it could make one for another tenant."""
    asker = await door.asker(Role.ADMIN, tenant="board")
    for method, path, body in (
        ("GET", "/v1/keys", None),
        ("POST", "/v1/keys", NEW),
        ("DELETE", "/v1/keys/x", None),
        ("GET", "/v1/audit", None),
    ):
        assert (await asker.ask(method, path, body)).status == 403


async def test_the_audit_record_is_listed_page_by_page(door: Door, clock: ManualClock) -> None:
    """S17: by signed cursors; who made the keys, and which."""
    asker = await door.asker(Role.ADMIN, name="boss")
    ids = []
    for n in range(5):
        clock.advance(1)
        told = await asker.ask("POST", "/v1/keys", NEW | {"name": f"app-{n}"})
        ids.append(told.json["id"])

    found: list[Any] = []
    path = "/v1/audit?action=key.create&limit=2"
    cursor = ""
    while True:
        page = (await asker.ask("GET", path + cursor)).json
        found += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"

    assert [one["target"] for one in found] == ids[::-1]
    assert {one["actor"]["name"] for one in found} == {"boss"}
    assert found[0]["change"]["tenant"] == "board"
    assert (await asker.ask("GET", f"{path}&cursor=x")).code == "cursor_invalid"
    other = await asker.ask("GET", f"/v1/audit?limit=2{cursor}")
    assert other.code == "cursor_mismatch"


FILTERS = {
    "?action=key.revoke": 1,
    "?via=key": 2,
    "?via=session": 0,
    "?outcome=refused": 1,
    "?from=2027-01-15T08:00:01Z": 1,
    "?to=2027-01-15T08:00:01Z": 1,
    "?tenant=board": 0,
}


@pytest.mark.parametrize(("query", "count"), FILTERS.items(), ids=FILTERS)
async def test_the_audit_record_is_searched(
    door: Door, clock: ManualClock, query: str, count: int
) -> None:
    """S17: also what was refused is on record."""
    made = await door.make(Role.ADMIN)
    asker = door.using(made.text)
    await asker.ask("POST", "/v1/keys", NEW)
    clock.advance(1)
    assert (await asker.ask("DELETE", f"/v1/keys/{made.key.id}")).status == 409

    told = await asker.ask("GET", f"/v1/audit{query}")
    assert len(told.json["items"]) == count


@ON_SQLITE
async def test_answers_have_the_shapes_that_are_documented(door: Door) -> None:
    """R8.5: view and shape cannot drift apart."""
    made = await door.make(Role.ADMIN)
    asker = door.using(made.text)
    tries: list[tuple[str, str, Any, type[Any]]] = [
        ("POST", "/v1/keys", NEW, NewKey),
        ("GET", f"/v1/keys/{made.key.id}", None, Key),
        ("GET", "/v1/keys", None, KeyPage),
        ("GET", "/v1/audit", None, AuditPage),
        ("GET", "/v1/me", None, Me),
    ]
    for method, path, body, shape in tries:
        told = await asker.ask(method, path, body)
        assert msgspec.to_builtins(msgspec.convert(told.json, shape)) == told.json
    login = await door.log_in({"key": made.text})
    assert msgspec.to_builtins(msgspec.convert(login.json, LoggedIn)) == login.json


# -- the first key --------------------------------------------------------------------------------


@ON_SQLITE
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "tasks.example"])  # noqa: S104
async def test_without_a_key_a_server_stays_on_loopback(door: Door, host: str) -> None:
    """S1, B182: and says how to make the first one."""
    with pytest.raises(ConfigurationError, match="rota keys create first --role admin"):
        await check_listening(door.engine, host)

    for loopback in ("127.0.0.1", "::1", "localhost"):
        advice = await check_listening(door.engine, loopback)
        assert advice is not None
        assert "rota keys create" in advice

    await door.make(Role.ADMIN)
    assert await check_listening(door.engine, host) is None


async def test_keys_that_open_nothing_are_no_keys(door: Door, clock: ManualClock) -> None:
    """S1: expired or revoked."""
    await door.make(Role.ADMIN, expires="1m")
    clock.advance(60)
    with pytest.raises(ConfigurationError):
        await check_listening(door.engine, "tasks.example")


@ON_SQLITE
async def test_there_is_no_default_key(door: Door) -> None:
    """S12: a store that was just made opens nothing."""
    assert await door.place.faces(EVERYTHING).keys.alist() == []
    for guess in ("", "rota", "admin", "default_token", key_text.write(bytes(41)).text):
        assert (await door.using(guess).ask("GET", "/v1/me")).status == 401


# -- data is data ---------------------------------------------------------------------------------

REVIVING = re.compile(
    r"^\s*(?:import|from)\s+(?:pickle|marshal|shelve|dill|yaml|jsonpickle)\b"
    r"|\beval\(|\bexec\(|\byaml\.load\b|\bpickle\.loads?\b",
    re.MULTILINE,
)


def test_nothing_in_rota_can_turn_data_into_code() -> None:
    """B175, B176, S3: no pickle and its like anywhere, in worker and server alike."""
    sources = sorted(Path(rota.__file__).parent.rglob("*.py"))
    assert len(sources) > 100
    assert [path.name for path in sources if REVIVING.search(path.read_text("utf-8"))] == []


@ON_SQLITE
@pytest.mark.parametrize("kind", ["os.system", "rota.cli:main", "builtins.eval", "__import__"])
async def test_data_never_names_code(door: Door, kind: str) -> None:
    """B176: a kind is one that somebody registered, and is looked up, never imported."""
    asker = await door.asker(Role.SUBMIT)

    told = await asker.ask("POST", "/v1/tasks", {"kind": kind, "payload": {}})
    assert (told.status, told.code in ("unknown_kind", "validation_failed")) == (422, True)


@ON_SQLITE
async def test_what_looks_like_an_object_stays_data(door: Door) -> None:
    """B175, B176: it comes back as it was sent."""
    odd = {"py/object": "os.system", "__class__": "Evil", "$type": "x", "!!python/object": "y"}
    asker = await door.asker(Role.SUBMIT, Role.READ)

    told = await asker.ask(
        "POST", "/v1/tasks", {"kind": "send_result", "payload": {"student_id": 1} | {"phone": ""}}
    )
    refused = await asker.ask("POST", "/v1/tasks", {"kind": "send_result", "payload": odd})

    assert told.status == 201
    assert refused.code == "validation_failed"
    nested = {"kind": "report", "payload": {"day": odd}}
    assert (await asker.ask("POST", "/v1/tasks", nested)).status in (201, 422)


# -- a tenant's own -------------------------------------------------------------------------------


async def test_a_tenant_is_told_why_its_task_waits(door: Door) -> None:
    """R7.8, S2: what it waits for, not who works for others."""
    make = Make()
    await door.engine.open_session(make.session(name="canary", host="canary"))
    task = make.task(tenant="board")
    await door.engine.submit([task])

    told = await (await door.asker(Role.READ, tenant="board")).ask(
        "GET", f"/v1/tasks/{task.id}/explain"
    )
    assert [reason["code"] for reason in told.json["reasons"]] == ["in_turn"]
    assert b"canary" not in told.body
