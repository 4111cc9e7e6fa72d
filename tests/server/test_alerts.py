"""Alert rules, alerts and webhooks over HTTP (R4.5, R8.5, R9.4, S5)."""

from typing import Any

import msgspec
import pytest

from rota.alerting import Alert, AlertMove
from rota.clock import ManualClock
from rota.contrib._addresses import Reach
from rota.contrib._signature import verify
from rota.engine import Engine
from rota.figures import Figure
from rota.server.front import Front
from rota.server.shapes import alerts as shapes
from tests.support.asking import Asker
from tests.support.factories import NOW
from tests.support.hooks import receiver

RULE = {"name": "sms-depth", "figure": "queue_depth", "queue": "sms", "threshold": 5000}
HOOK = {"url": "https://hooks.example/rota"}


def shaped(value: Any, shape: type[msgspec.Struct]) -> None:
    """Hold an answer to the type by which it is documented."""
    assert msgspec.to_builtins(msgspec.convert(value, shape)) == value


async def test_the_seven_rules_are_listed_from_the_start(asker: Asker) -> None:
    """R9.4"""
    told = await asker.using("read").ask("GET", "/v1/alerts/rules")

    assert told.status == 200
    shaped(told.json, shapes.AlertRules)
    assert [rule["name"] for rule in told.json["items"]] == sorted(Figure)
    assert all(rule["built_in"] and rule["version"] == 0 for rule in told.json["items"])


async def test_a_rule_is_made_shown_changed_and_removed(asker: Asker) -> None:
    made = await asker.ask("POST", "/v1/alerts/rules", RULE | {"hold": "2m", "clear": 0.5})
    assert (made.status, made.headers["location"]) == (201, "/v1/alerts/rules/sms-depth")
    shaped(made.json, shapes.AlertRule)
    assert (made.json["hold"], made.json["version"], made.json["built_in"]) == (120, 1, False)

    shown = await asker.ask("GET", "/v1/alerts/rules/sms-depth")
    assert (shown.json, shown.headers["etag"]) == (made.json, '"1"')
    changed = await asker.ask(
        "PATCH",
        "/v1/alerts/rules/sms-depth",
        {"threshold": 10, "hold": None, "queue": None},
        headers={"If-Match": '"1"'},
    )
    assert changed.json == made.json | {
        "threshold": 10,
        "hold": 60,
        "queue": None,
        "version": 2,
    }
    late = await asker.ask(
        "PATCH", "/v1/alerts/rules/sms-depth", {"enabled": False}, headers={"If-Match": '"1"'}
    )
    assert (late.status, late.code) == (412, "version_mismatch")
    stale = await asker.ask("DELETE", "/v1/alerts/rules/sms-depth", headers={"If-Match": '"1"'})
    assert stale.code == "version_mismatch"
    gone = await asker.ask("DELETE", "/v1/alerts/rules/sms-depth", headers={"If-Match": '"2"'})
    assert gone.status == 204
    assert (await asker.ask("GET", "/v1/alerts/rules/sms-depth")).code == "not_found"


async def test_one_of_the_seven_goes_back_to_its_defaults(asker: Asker) -> None:
    path = "/v1/alerts/rules/queue_depth"
    changed = await asker.ask("PATCH", path, {"enabled": False}, headers={"If-Match": '"0"'})
    assert (changed.json["enabled"], changed.json["version"]) == (False, 1)
    assert (await asker.ask("DELETE", path)).status == 204
    assert (await asker.ask("GET", path)).json["enabled"]


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        (RULE | {"figure": "x"}, 422, "validation_failed", "/figure"),
        (RULE | {"threshold": 0}, 422, "validation_failed", "/threshold"),
        (RULE | {"threshold": -1}, 422, "validation_failed", "/threshold"),
        (RULE | {"threshold": 50_001}, 422, "validation_failed", "/threshold"),
        (RULE | {"figure": "error_rate"}, 422, "validation_failed", "/threshold"),
        (RULE | {"hold": "1 month"}, 422, "validation_failed", "/hold"),
        (RULE | {"hold": -1}, 422, "validation_failed", "/hold"),
        (RULE | {"clear": 1.5}, 422, "validation_failed", "/clear"),
        (RULE | {"queue": "a b"}, 422, "validation_failed", "/queue"),
        (RULE | {"name": "../x"}, 422, "validation_failed", "/name"),
        (RULE | {"webhooks": ["x"] * 51}, 422, "validation_failed", "/webhooks"),
        (RULE | {"webhooks": ["no-such"]}, 422, "validation_failed", "/webhooks"),
        (RULE | {"webhook": []}, 422, "validation_failed", None),
        ({"name": "x", "figure": "queue_depth"}, 422, "validation_failed", None),
        (RULE | {"name": "queue_depth"}, 409, "rule_exists", None),
    ],
)
async def test_a_rule_that_cannot_be_is_refused_and_names_the_field(
    asker: Asker, body: dict[str, Any], status: int, code: str, field: str | None
) -> None:
    """R1.6"""
    told = await asker.ask("POST", "/v1/alerts/rules", body)

    assert (told.status, told.code) == (status, code)
    if field is not None:
        assert told.json["errors"][0]["pointer"] == field


def alert_id(n: int) -> str:
    """The id of the alert that was made as this one, from 0 on."""
    return f"0193f2a1-7c5e-7d3a-9b1f-{n:012}"


async def fired(engine: Engine, count: int) -> list[Alert]:
    """Let alerts have fired, the first of them cleared."""
    made = [
        Alert(
            id=alert_id(n),
            rule=f"r{n}",
            figure=Figure.DEPTH,
            queue=None,
            value=12.0,
            threshold=10.0,
            since=NOW - 2,
            fired_at=NOW - 1,
            cleared_at=None if n else NOW,
        )
        for n in range(count)
    ]
    await engine.store.move_alerts([AlertMove(alert=alert) for alert in made], NOW)
    return made


async def test_an_alert_is_shown_by_its_id(asker: Asker, engine: Engine) -> None:
    """A message's link leads to it; one that never fired is none."""
    made = await fired(engine, 3)
    pending = Alert(
        id=alert_id(9), rule="p", figure=Figure.DEPTH, queue=None, value=1.0, threshold=1.0,
        since=NOW,
    )  # fmt: skip
    await engine.store.move_alerts([AlertMove(alert=pending)], NOW)
    read = asker.using("read")

    for alert, state in zip(made, ("cleared", "firing", "firing"), strict=True):
        told = await read.ask("GET", f"/v1/alerts/{alert.id}")
        shaped(told.json, shapes.Alert)
        assert (told.json["id"], told.json["state"]) == (alert.id, state)
    for absent in (alert_id(8), alert_id(9), "a", "~", "%00"):
        assert (await read.ask("GET", f"/v1/alerts/{absent}")).code == "not_found"


async def test_alerts_are_listed_page_by_page_newest_first(asker: Asker, engine: Engine) -> None:
    await fired(engine, 5)
    read = asker.using("read")
    first = await read.ask("GET", "/v1/alerts?limit=2")
    shaped(first.json, shapes.AlertPage)
    second = await read.ask("GET", f"/v1/alerts?limit=2&cursor={first.json['next']}")
    third = await read.ask("GET", f"/v1/alerts?limit=2&cursor={second.json['next']}")

    pages = [[alert["id"] for alert in told.json["items"]] for told in (first, second, third)]
    assert pages == [[alert_id(n) for n in page] for page in ((4, 3), (2, 1), (0,))]
    assert third.json["next"] is None
    assert third.json["items"][0]["state"] == "cleared"
    other = await read.ask("GET", f"/v1/alerts?rule=r1&cursor={first.json['next']}")
    assert other.code == "cursor_mismatch"
    over = await read.ask("GET", "/v1/alerts?over=true")
    assert [alert["id"] for alert in over.json["items"]] == [alert_id(0)]


async def test_an_alert_and_a_rule_are_silenced_for_a_while(
    asker: Asker, engine: Engine, clock: ManualClock
) -> None:
    await fired(engine, 2)
    operate = asker.using("operate")
    told = await operate.ask("POST", f"/v1/alerts/{alert_id(1)}/silence", {"for": "2h"})
    shaped(told.json, shapes.Alert)
    assert (told.status, told.json["state"]) == (200, "silenced")
    again = await operate.ask("POST", f"/v1/alerts/{alert_id(1)}/silence", {"for": 0})
    assert again.json["state"] == "firing"
    for gone in (alert_id(0), "no-such"):
        assert (await operate.ask("POST", f"/v1/alerts/{gone}/silence", {"for": 1})).status == 404
    rule = await operate.ask("POST", "/v1/alerts/rules/run_p99/silence", {"for": "1h"})
    assert rule.json["silenced_until"] == "2027-01-15T09:00:00.000000Z"
    bad = await operate.ask("POST", "/v1/alerts/rules/run_p99/silence", {"for": "soon"})
    assert bad.status == 422


async def test_a_webhook_shows_its_secret_once(asker: Asker) -> None:
    """S5: in the answers to create and rotate, and nowhere else."""
    made = await asker.ask("POST", "/v1/webhooks", HOOK)
    shaped(made.json, shapes.WebhookSecret)
    secret = made.json["secret"]
    assert (made.status, secret[:6]) == (201, "whsec_")
    path = made.headers["location"]
    assert path == f"/v1/webhooks/{made.json['id']}"
    rotated = await asker.ask("POST", f"{path}/rotate")
    assert rotated.json["secret"] not in ("", secret)
    for shown in [await asker.ask("GET", path), await asker.ask("GET", "/v1/webhooks")]:
        assert shown.status == 200
        assert b"whsec" not in shown.body
    shaped((await asker.ask("GET", "/v1/webhooks")).json, shapes.WebhookPage)
    changed = await asker.ask("PATCH", path, {"shape": "slack"}, headers={"If-Match": '"2"'})
    assert (changed.json["shape"], changed.json["version"]) == ("slack", 3)
    late = await asker.ask("PATCH", path, {"enabled": False}, headers={"If-Match": '"2"'})
    assert late.code == "version_mismatch"
    assert (await asker.ask("DELETE", path)).status == 204
    for method in ("GET", "DELETE"):
        assert (await asker.ask(method, path)).code == "not_found"
    assert (await asker.ask("POST", f"{path}/test")).code == "not_found"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example",
        "ftp://x/",
        "https://u:p@x/",
        "http:///x",
        "https://x/\r\ny",
        "https://x:x/",
    ],
)
async def test_a_webhook_needs_an_address_that_can_be_called(asker: Asker, url: str) -> None:
    """S4"""
    told = await asker.ask("POST", "/v1/webhooks", {"url": url})

    assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/url")


async def test_a_test_message_goes_out_at_once_and_its_result_is_told(
    asker: Asker, server: Front, clock: ManualClock
) -> None:
    """R4.5: the test button; S4: private addresses only if whoever runs the server allows them."""
    async with receiver() as there:
        made = (await asker.ask("POST", "/v1/webhooks", {"url": there.url})).json
        path = f"/v1/webhooks/{made['id']}"
        refused = await asker.ask("POST", f"{path}/test")
        shaped(refused.json, shapes.WebhookTest)
        assert (refused.status, refused.json["delivered"]) == (200, False)
        assert there.got == []

        server.place.telling.reach = Reach.of(["127.0.0.1"], [there.port])
        done = await asker.ask("POST", f"{path}/test")
        assert done.json == {"delivered": True, "status": 200, "failure": None}
        (got,) = there.got
        assert verify(made["secret"], got.headers, got.body, clock.now() // 1_000_000)
        shown = (await asker.ask("GET", path)).json
        assert shown["last_success_at"] == "2027-01-15T08:00:00.000000Z"


@pytest.mark.parametrize(
    ("method", "path", "body", "allowed"),
    [
        ("GET", "/v1/alerts/rules", None, {"read", "operate", "admin"}),
        ("GET", "/v1/alerts", None, {"read", "operate", "admin"}),
        ("POST", "/v1/alerts/rules", RULE, {"admin"}),
        ("PATCH", "/v1/alerts/rules/run_p99", {"threshold": 9}, {"admin"}),
        ("DELETE", "/v1/alerts/rules/run_p99", None, {"admin"}),
        ("POST", "/v1/alerts/rules/run_p99/silence", {"for": 1}, {"operate", "admin"}),
        ("POST", f"/v1/alerts/{alert_id(1)}/silence", {"for": 1}, {"operate", "admin"}),
        ("GET", "/v1/webhooks", None, {"admin"}),
        ("POST", "/v1/webhooks", HOOK, {"admin"}),
        ("POST", "/v1/webhooks/x/test", None, {"admin"}),
        ("POST", "/v1/webhooks/x/rotate", None, {"admin"}),
    ],
)
async def test_who_may_do_what(
    asker: Asker, method: str, path: str, body: Any, allowed: set[str]
) -> None:
    """Http-and-cli §6; keys that are bound to a tenant see nothing of it: alerts are about all."""
    for role in ("submit", "read", "operate", "admin", "worker"):
        told = await asker.using(role).ask(method, path, body)
        assert (told.status != 403) is (role in allowed), role
        bound = await asker.using(f"{role}@board").ask(method, path, body)
        assert bound.status == 403, role
