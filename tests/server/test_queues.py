"""Queues over HTTP: shown, changed, paused (R7, R1.7)."""

import pytest

from rota.engine import Engine
from rota.server.shapes.queues import Queue, QueueSettings
from tests.support.asking import Asker
from tests.support.factories import NOW, Make
from tests.support.shapes import fits


async def test_a_queue_that_nobody_set_up_has_the_defaults(asker: Asker) -> None:
    """R7.1: 50:30:15:5."""
    told = await asker.ask("GET", "/v1/queues/sms")
    assert (told.status, told.headers["etag"]) == (200, '"0"')
    assert told.json["weights"] == {"critical": 50, "high": 30, "normal": 15, "low": 5}
    fits(told.json, Queue)


async def test_a_change_leaves_alone_what_it_does_not_name(asker: Asker) -> None:
    """Pitfall 8: absent leaves, null is the default."""
    first = await asker.ask("PATCH", "/v1/queues/sms", {"max_depth": 7, "aging": "5m"})
    second = await asker.ask("PATCH", "/v1/queues/sms", {"weights": {"low": 9}})
    third = await asker.ask("PATCH", "/v1/queues/sms", {"aging": None, "weights": None})
    fits(first.json, QueueSettings)
    assert (first.json["max_depth"], first.json["aging"]) == (7, 300)
    assert (second.json["max_depth"], second.json["weights"]["low"]) == (7, 9)
    assert (third.json["max_depth"], third.json["aging"]) == (7, 600)
    assert third.json["weights"]["low"] == 5
    assert [told.headers["etag"] for told in (first, second, third)] == ['"1"', '"2"', '"3"']


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"max_depth": 0}, "/max_depth"),
        ({"aging": "soon"}, "/aging"),
        ({"weights": {"urgent": 1}}, "/weights/urgent"),
        ({"fair_by": "size"}, "/fair_by"),
        ({"depth": 3}, "/depth"),
    ],
    ids=["depth", "aging", "class", "fair_by", "unknown"],
)
async def test_what_does_not_fit_is_named(asker: Asker, body: object, pointer: str) -> None:
    """R1.6: 422 with the field."""
    told = await asker.ask("PATCH", "/v1/queues/sms", body)
    assert (told.status, told.code) == (422, "validation_failed")
    assert told.json["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("method", "body"), [("PATCH", {"max_depth": 3}), ("DELETE", None)], ids=["change", "reset"]
)
async def test_a_change_for_another_version_is_refused(
    asker: Asker, method: str, body: object
) -> None:
    """412 with the present version; the change is not made."""
    await asker.ask("PATCH", "/v1/queues/sms", {"max_depth": 7})
    told = await asker.ask(method, "/v1/queues/sms", body, headers={"If-Match": '"0"'})
    assert (told.status, told.code, told.json["version"]) == (412, "version_mismatch", 1)
    assert (await asker.ask("GET", "/v1/queues/sms")).json["max_depth"] == 7
    told = await asker.ask(method, "/v1/queues/sms", body, headers={"If-Match": '"1"'})
    assert told.status in (200, 204)


async def test_a_version_that_is_none_is_refused(asker: Asker) -> None:
    told = await asker.ask("DELETE", "/v1/queues/sms", headers={"If-Match": "new"})
    assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/If-Match")


async def test_a_pause_holds_until_it_is_resumed(asker: Asker) -> None:
    """R7.7."""
    paused = await asker.ask("POST", "/v1/queues/sms/pause", {"reason": "provider down"})
    assert (paused.json["paused"], paused.json["pause_reason"]) == (True, "provider down")
    resumed = await asker.ask("POST", "/v1/queues/sms/resume")
    assert (resumed.json["paused"], resumed.json["pause_reason"]) == (False, None)


async def test_settings_can_be_forgotten(asker: Asker) -> None:
    await asker.ask("PATCH", "/v1/queues/sms", {"max_depth": 7})
    assert (await asker.ask("DELETE", "/v1/queues/sms")).status == 204
    assert (await asker.ask("GET", "/v1/queues/sms")).json["max_depth"] is None


async def test_all_queues_with_work_settings_kinds_or_workers_are_listed(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """With what waits, and the slots of those that take it."""
    await engine.submit([make.task(queue="mail", run_at=NOW) for _ in range(3)])
    await engine.open_session(make.session(queues=("bulk", "m*"), slots=4, lease_until=NOW + 9))
    await asker.ask("PATCH", "/v1/queues/quiet", {"max_depth": 7})
    told = await asker.ask("GET", "/v1/queues")
    assert told.json["next"] is None
    shown = {queue["name"]: queue for queue in told.json["items"]}
    assert list(shown) == ["bulk", "default", "mail", "quiet", "sms"]
    assert (shown["mail"]["waiting"], shown["mail"]["slots"]) == (3, 4)
    for queue in told.json["items"]:
        fits(queue, Queue)


async def test_a_list_is_read_page_by_page(asker: Asker) -> None:
    for name in "abc":
        await asker.ask("PATCH", f"/v1/queues/{name}", {"max_depth": 7})
    names: list[str] = []
    after = ""
    while True:
        told = await asker.ask("GET", f"/v1/queues?limit=2{after}")
        names += [queue["name"] for queue in told.json["items"]]
        if told.json["next"] is None:
            break
        after = f"&cursor={told.json['next']}"
    assert names == ["a", "b", "c", "default", "sms"]
    paused = await asker.ask("GET", "/v1/queues?paused=true")
    assert paused.json["items"] == []


async def test_a_cursor_that_is_none_of_ours_is_refused(asker: Asker) -> None:
    told = await asker.ask("GET", "/v1/queues?cursor=x")
    assert (told.status, told.code) == (400, "cursor_invalid")


@pytest.mark.parametrize(
    ("method", "path", "body", "role"),
    [
        ("GET", "", None, "submit"),
        ("PATCH", "/sms", {}, "operate"),
        ("DELETE", "/sms", None, "operate"),
        ("POST", "/sms/pause", {}, "read"),
        ("POST", "/sms/resume", None, "read"),
    ],
    ids=["list", "change", "reset", "pause", "resume"],
)
async def test_each_deed_needs_its_role(
    asker: Asker, method: str, path: str, body: object, role: str
) -> None:
    told = await asker.using(role).ask(method, f"/v1/queues{path}", body)
    assert (told.status, told.code) == (403, "forbidden")


async def test_a_key_of_a_tenant_sees_nothing_that_is_about_everybody(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """§6: no workers' slots, and no figures of all tenants."""
    await engine.open_session(make.session(queues=("sms",), slots=4))
    await engine.submit(make.tasks(3, queue="sms", tenant="canary"))
    told = await asker.using("read@board").ask("GET", "/v1/queues/sms")
    shown = fits(told.json, Queue)
    assert (shown.slots, shown.depth, shown.oldest_ready_s, shown.waiting) == (None, None, None, 0)
