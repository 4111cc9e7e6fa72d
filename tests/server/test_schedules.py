"""Schedules over HTTP: made, changed, paused (R6.8)."""

from typing import Any

import pytest

from rota.clock import ManualClock
from rota.engine import Engine
from rota.server.shapes.schedules import ListedSchedule, Schedule
from tests.support.asking import Asker
from tests.support.factories import Make
from tests.support.shapes import fits

NEW: dict[str, Any] = {
    "kind": "send_result",
    "name": "morning",
    "expression": "0 9 * * MON-FRI",
    "tz": "Europe/Berlin",
    "payload": {"student_id": 1},
}
NOBODY = "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"


@pytest.fixture
def morning(asker: Asker) -> Any:
    """Makes the schedule that most tests are about."""
    return lambda **said: asker.ask("POST", "/v1/schedules", {**NEW, **said})


async def test_a_schedule_is_made_and_found_by_its_name_and_its_id(
    asker: Asker, morning: Any
) -> None:
    """Creation: 201 with Location and ETag; what it says comes back in words (B014)."""
    made = await morning()
    assert (made.status, made.headers["etag"]) == (201, '"1"')
    shown = fits(made.json, Schedule)
    assert (shown.queue, shown.priority) == ("sms", 2)
    assert shown.words == "At 09:00 on Monday to Friday, Europe/Berlin"
    assert made.headers["location"] == f"/v1/schedules/{made.json['id']}"
    for name in ("morning", made.json["id"]):
        assert (await asker.ask("GET", f"/v1/schedules/{name}")).json == made.json


@pytest.mark.parametrize(
    ("said", "pointer"),
    [
        ({"expression": "61 9 * * *"}, "/expression"),
        ({"expression": "0 9 * *"}, "/expression"),
        ({"expression": "0 9 * * *\n* * * * *"}, "/expression"),
        ({"expression": "x" * 257}, "/expression"),
        ({"expression": "0 0 30 2 *"}, "/expression"),
        ({"expression": None}, "/expression"),
        ({"every": "90s"}, "/every"),
        ({"tz": "Mars/Olympus"}, "/tz"),
        ({"overlap": "queue(0)"}, "/overlap"),
        ({"jitter": "2d"}, "/jitter"),
        ({"starts_at": "2026-11-30T10:00:00"}, "/starts_at"),
        ({"payload": {}}, "/payload/student_id"),
        ({"retry": {"max_attempts": 0}}, "/retry"),
        ({"priority": 11}, "/priority"),
        ({"name": "a b"}, "/name"),
        ({"cron": "0 9 * * *"}, "/cron"),
        ({"missed": "never"}, "/missed"),
    ],
    ids=[
        "minute", "fields", "lines", "long", "never", "none", "both", "zone", "overlap", "jitter",
        "naive", "payload", "retry", "priority", "name", "unknown", "missed",
    ],
)  # fmt: skip
async def test_what_does_not_fit_is_named(
    asker: Asker, morning: Any, said: dict[str, Any], pointer: str
) -> None:
    """B179, R6.1: 422 with the field, and nothing is stored."""
    told = await morning(**said)
    assert (told.status, told.code) == (422, "validation_failed")
    assert told.json["errors"][0]["pointer"].startswith(pointer)
    assert (await asker.ask("GET", "/v1/schedules")).json["items"] == []


async def test_a_kind_that_nobody_knows_is_refused(
    engine: Engine, make: Make, clock: ManualClock, morning: Any
) -> None:
    """Known are those of the app and of live workers, who are asked for now and then."""
    told = await morning(kind="elsewhere")
    assert (told.status, told.code) == (422, "unknown_kind")
    await engine.open_session(make.session(kinds=("elsewhere",)))
    clock.advance(6)
    assert (await morning(kind="elsewhere")).status == 201


async def test_a_name_that_is_taken_is_refused_with_the_id_of_its_schedule(morning: Any) -> None:
    """Pitfall 11."""
    first = await morning()
    told = await morning(tz="UTC")
    assert (told.status, told.code, told.json["id"]) == (409, "schedule_exists", first.json["id"])


async def test_a_change_leaves_alone_what_it_does_not_name(asker: Asker, morning: Any) -> None:
    """Pitfall 8: absent leaves, null is the default; what was read can be written back."""
    await morning(jitter="5m", tags=["a"], retry={"max_attempts": 2})
    first = await asker.ask("PATCH", "/v1/schedules/morning", {"overlap": "queue(5)"})
    assert (first.json["overlap"], first.json["max_pending"]) == ("queue", 5)
    assert (first.json["jitter"], first.json["tags"]) == (300, ["a"])
    assert first.json["retry"]["max_attempts"] == 2
    second = await asker.ask(
        "PATCH",
        "/v1/schedules/morning",
        {"tz": None, "jitter": None, "overlap": None, "retry": None, "tags": None},
    )
    shown = fits(second.json, Schedule)
    assert (shown.tz, shown.jitter, shown.overlap, shown.retry, shown.tags) == (
        "UTC", 0, "skip", None, [],
    )  # fmt: skip
    assert (shown.version, second.headers["etag"]) == (3, '"3"')


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_a_change_for_another_version_is_refused(
    asker: Asker, morning: Any, method: str
) -> None:
    await morning()
    body = {"tz": "UTC"} if method == "PATCH" else None
    path = "/v1/schedules/morning"
    told = await asker.ask(method, path, body, headers={"If-Match": '"7"'})
    assert (told.status, told.code, told.json["version"]) == (412, "version_mismatch", 1)
    assert (await asker.ask(method, path, body, headers={"If-Match": '"1"'})).status in (200, 204)


async def test_a_pause_holds_until_it_is_resumed(asker: Asker, morning: Any) -> None:
    await morning()
    told = await asker.ask("POST", "/v1/schedules/morning/pause", {"reason": "holidays"})
    assert (told.json["paused"], told.json["pause_reason"]) == (True, "holidays")
    assert not (await asker.ask("POST", "/v1/schedules/morning/resume")).json["paused"]


async def test_schedules_are_listed_by_name_filtered_and_page_by_page(
    asker: Asker, morning: Any
) -> None:
    for name in ("c", "a", "b"):
        await morning(name=name)
    await asker.ask("POST", "/v1/schedules/b/pause", {})
    first = await asker.ask("GET", "/v1/schedules?limit=2&kind=send_result")
    after = f"kind=send_result&cursor={first.json['next']}"
    second = await asker.ask("GET", f"/v1/schedules?{after}")
    names = [
        fits(one, ListedSchedule).name for told in (first, second) for one in told.json["items"]
    ]
    assert (names, second.json["next"]) == (["a", "b", "c"], None)
    paused = await asker.ask("GET", "/v1/schedules?paused=true")
    assert [one["name"] for one in paused.json["items"]] == ["b"]
    assert (await asker.ask("GET", "/v1/schedules?source=code:app")).json["items"] == []
    bent = await asker.ask("GET", f"/v1/schedules?kind=report&cursor={first.json['next']}")
    assert bent.code == "cursor_mismatch"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"),
        ("POST", "/run-now"), ("POST", "/backfill"), ("GET", "/preview"), ("GET", "/slots"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["nobody", NOBODY])
async def test_what_is_not_there_is_not_found(
    asker: Asker, method: str, path: str, name: str
) -> None:
    bodies: dict[str, Any] = {
        "/backfill": {"from": "2026-11-01T00:00:00Z", "to": "2026-11-02T00:00:00Z"},
    }
    body = bodies.get(path, {"tz": "UTC"} if method == "PATCH" else None)
    told = await asker.ask(method, f"/v1/schedules/{name}{path}", body)
    assert (told.status, told.code) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "key"),
    [
        ("GET", "", "submit"),
        ("POST", "", "read"),
        ("PATCH", "/x", "read"),
        ("DELETE", "/x", "read"),
        ("POST", "/x/pause", "read"),
        ("POST", "/x/resume", "read"),
        ("POST", "/x/run-now", "submit"),
        ("POST", "/x/backfill", "read"),
        ("POST", "/preview", "submit"),
    ],
)
async def test_each_deed_needs_its_role(asker: Asker, method: str, path: str, key: str) -> None:
    told = await asker.using(key).ask(method, f"/v1/schedules{path}", NEW)
    assert (told.status, told.code) == (403, "forbidden")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/run-now")],
)
async def test_what_belongs_to_another_tenant_is_not_found(
    asker: Asker, morning: Any, method: str, path: str
) -> None:
    """S2: as if it were not there, and in no list."""
    await morning(tenant="canary")
    bound = asker.using("operate@board")
    body = {"tz": "UTC"} if method == "PATCH" else None
    told = await bound.ask(method, f"/v1/schedules/morning{path}", body)
    assert (told.status, told.code) == (404, "not_found")
    assert (await bound.ask("GET", "/v1/schedules")).json["items"] == []
    taken = await bound.ask("POST", "/v1/schedules", {**NEW, "tenant": "board"})
    assert (taken.code, taken.json["id"]) == ("schedule_exists", None)


async def test_kinds_of_servers_themselves_are_made_by_nobody_else(
    engine: Engine, make: Make, morning: Any
) -> None:
    """Also while a server's own worker runs them."""
    await engine.open_session(make.session(kinds=("rota.webhook",)))
    told = await morning(kind="rota.webhook")
    assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/kind")
