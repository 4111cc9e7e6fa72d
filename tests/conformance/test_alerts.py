"""Alert rules, alerts and endpoints are kept, guarded, and told of once (R4.5, R9.4)."""

import asyncio
from typing import Any

import pytest
from msgspec import structs

from rota.alerting import (
    Alert,
    AlertFilter,
    AlertMove,
    AlertRule,
    Attempted,
    Board,
    Shape,
    Signing,
    Webhook,
)
from rota.clock import Ids
from rota.config import DAY, HOUR
from rota.figures import Figure
from rota.model import State
from rota.store.base import Store
from tests.conformance.steps import EVERY_TASK as EVERY
from tests.support.factories import NOW, Make

RULE = AlertRule(name="deep", figure=Figure.DEPTH, threshold=100, webhooks=("w1",))
HOOK = Webhook(id="w1", url="https://hooks.example/a", created_at=NOW)


def an_alert(id_: str = "a1", **fields: Any) -> Alert:
    given: dict[str, Any] = {"rule": "deep", "figure": Figure.DEPTH, "queue": None, "value": 120.5}
    return Alert(id=id_, **given | {"threshold": 100.0, "since": NOW} | fields)


async def open_alert(store: Store, alert: Alert) -> Alert:
    """Store an alert and return it as it is then."""
    assert await store.move_alerts([AlertMove(alert=alert)], NOW) == [True]
    return structs.replace(alert, version=1)


async def only(store: Store) -> Webhook:
    """Return the one endpoint."""
    (found,) = (await store.board()).webhooks
    return found


async def test_an_empty_store_has_no_rules_alerts_or_endpoints_of_its_own(store: Store) -> None:
    assert await store.board() == Board()


async def test_of_many_nodes_one_looks_at_a_time(store: Store, other: Store) -> None:
    """R2.4"""

    async def taken(at: int) -> int:
        took = await asyncio.gather(*(s.take_alert_turn(at, 10) for s in [store, other] * 5))
        return took.count(True)

    assert [await taken(at) for at in (NOW, NOW + 9, NOW + 10, NOW + 19)] == [1, 0, 1, 0]
    # A clock that was ahead does not stop the others for long.
    assert [await taken(at) for at in (NOW, NOW - 1)] == [0, 1]


async def test_a_rule_is_replaced_at_its_version_only(store: Store) -> None:
    assert await store.put_alert_rule(RULE, 0)
    assert not await store.put_alert_rule(RULE, 0)
    other = structs.replace(RULE, threshold=7.5, queue="sms", enabled=False, webhooks=None)
    assert not await store.put_alert_rule(other, 2)
    assert await store.put_alert_rule(other, 1)
    assert (await store.board()).rules == (structs.replace(other, version=2),)

    assert not await store.drop_alert_rule("deep", 1)
    assert await store.drop_alert_rule("deep", 2)
    assert not await store.drop_alert_rule("deep", None)
    assert await store.put_alert_rule(RULE, 0)
    assert await store.drop_alert_rule("deep", None)
    assert (await store.board()).rules == ()


async def test_there_is_one_alert_of_a_rule_and_queue_that_is_not_cleared(store: Store) -> None:
    first = await open_alert(store, an_alert())

    assert await store.move_alerts([AlertMove(alert=an_alert("a2"))], NOW) == [False]
    elsewhere = [an_alert("a3", queue="sms"), an_alert("a4", rule="other")]
    assert await store.move_alerts([AlertMove(alert=a) for a in elsewhere], NOW) == [True, True]
    assert (await store.board()).alerts == (
        first,
        *(structs.replace(a, version=1) for a in elsewhere),
    )
    over = structs.replace(first, fired_at=NOW, cleared_at=NOW + 1)
    assert await store.move_alerts([AlertMove(alert=over, version=1)], NOW) == [True]
    await open_alert(store, an_alert("a2"))


async def test_a_change_applies_at_its_version_only_and_whole(store: Store, make: Make) -> None:
    alert = await open_alert(store, an_alert())
    fired = structs.replace(
        alert, value=130.0, threshold=110.0, fired_at=NOW + 1, told_at=NOW + 2, silenced_until=NOW
    )
    task, late = make.task(queue="rota"), make.task(queue="rota")
    moves = [
        AlertMove(alert=fired, version=1, tasks=(task,)),
        AlertMove(alert=fired, version=1, tasks=(late,)),
        AlertMove(alert=structs.replace(fired, id="no-such"), version=1, tasks=(late,)),
        AlertMove(alert=fired, version=1, gone=True, tasks=(late,)),
    ]

    assert await store.move_alerts(moves, NOW) == [True, False, False, False]
    assert await store.get_alert("a1") == structs.replace(fired, version=2)
    told, untold = await store.get([task.id, late.id])
    assert told is not None
    assert told.state is State.READY
    assert untold is None


async def test_one_that_never_fired_is_forgotten(store: Store) -> None:
    alert = await open_alert(store, an_alert())

    assert await store.move_alerts([AlertMove(alert=alert, version=2, gone=True)], NOW) == [False]
    assert await store.move_alerts([AlertMove(alert=alert, version=1, gone=True)], NOW) == [True]
    assert await store.get_alert("a1") is None


async def test_of_racing_nodes_one_opens_an_alert_and_its_deliveries_are_stored_once(
    store: Store, other: Store, make: Make
) -> None:
    """One alert per breach, told of once (R4.5)."""
    ids = Ids()

    async def node(where: Store) -> bool:
        alert = an_alert(ids.new(NOW), fired_at=NOW, told_at=NOW)
        move = AlertMove(alert=alert, tasks=(make.task(queue="rota"),))
        return (await where.move_alerts([move], NOW))[0]

    won = await asyncio.gather(*(node(where) for where in [store, other] * 10))

    assert won.count(True) == 1
    assert len((await store.board()).alerts) == 1
    assert sum((await store.count(EVERY, 100)).values()) == 1


async def test_alerts_that_fired_are_listed_newest_first_and_page_by_page(store: Store) -> None:
    for n in range(5):
        cleared = NOW if n % 2 else None
        alert = an_alert(f"a{n}", rule=f"r{n}", queue="sms" if n > 2 else None, fired_at=NOW)
        await open_alert(store, structs.replace(alert, cleared_at=cleared))
    await open_alert(store, an_alert("b", rule="pending"))

    async def found(before: str | None = None, limit: int = 10, **where: Any) -> list[str]:
        alerts = await store.find_alerts(AlertFilter(**where), before_id=before, limit=limit)
        return [alert.id for alert in alerts]

    assert await found() == ["a4", "a3", "a2", "a1", "a0"]
    assert await found(limit=2) == ["a4", "a3"]
    assert await found(before="a3", limit=2) == ["a2", "a1"]
    assert await found(over=True) == ["a3", "a1"]
    assert await found(over=False) == ["a4", "a2", "a0"]
    assert await found(rule="r2") == ["a2"]
    assert await found(queue="sms") == ["a4", "a3"]
    assert await found(rule="x' or '1'='1") == []


async def test_alerts_are_forgotten_long_after_they_were_cleared(store: Store) -> None:
    for n, cleared in enumerate([NOW - DAY, NOW - DAY, NOW - 1, NOW, None]):
        await open_alert(store, an_alert(f"a{n}", rule=f"r{n}", fired_at=NOW, cleared_at=cleared))

    assert await store.forget_alerts(NOW, 2) == 2
    assert await store.forget_alerts(NOW, 2) == 1
    assert await store.forget_alerts(NOW, 2) == 0
    left = await store.find_alerts(AlertFilter(), before_id=None, limit=10)
    assert [alert.id for alert in left] == ["a4", "a3"]


async def test_an_endpoint_is_changed_at_its_version_and_keeps_its_secret(store: Store) -> None:
    """S5: what is listed holds no secret."""
    assert await store.put_webhook(HOOK, 0, "whsec_one")
    assert not await store.put_webhook(HOOK, 0, "whsec_other")
    assert await only(store) == structs.replace(HOOK, version=1)
    changed = structs.replace(HOOK, url="https://x.example/", shape=Shape.SLACK, enabled=False)
    assert not await store.put_webhook(changed, 2, None)
    assert await store.put_webhook(changed, 1, None)
    assert await only(store) == structs.replace(changed, version=2)
    assert await store.signing("w1") == Signing("whsec_one")
    assert b"whsec" not in repr(await store.board()).encode()

    assert await store.drop_webhook("w1")
    assert not await store.drop_webhook("w1")
    assert await store.signing("w1") is None


async def test_after_a_rotation_both_secrets_count_for_a_while(store: Store) -> None:
    assert not await store.rotate_webhook("w1", "whsec_two", NOW + DAY)
    await store.put_webhook(HOOK, 0, "whsec_one")
    assert await store.rotate_webhook("w1", "whsec_two", NOW + DAY)

    signing = await store.signing("w1")
    assert signing == Signing("whsec_two", "whsec_one", NOW + DAY)
    assert signing.secrets(NOW) == ("whsec_two", "whsec_one")
    assert signing.secrets(NOW + DAY) == ("whsec_two",)


async def attempt(store: Store, at: int, failure: str | None = None, **more: Any) -> bool:
    """Take note of an attempt; those that failed for an hour are too many."""
    what = Attempted(webhook="w1", at=at, failure=failure, **more)
    return await store.attempted(what, at - HOUR)


async def test_it_is_known_how_deliveries_went(store: Store) -> None:
    await store.put_webhook(HOOK, 0, "whsec_one")
    assert not await attempt(store, NOW, "500" * 400)
    assert not await attempt(store, NOW + 5, "503 from there")
    found = await only(store)
    assert (found.failing_since, found.last_failure_at) == (NOW, NOW + 5)
    assert found.failure == "503 from there"
    assert not await attempt(store, NOW + 9)
    found = await only(store)
    assert (found.failing_since, found.failure) == (None, None)
    assert (found.last_failure_at, found.last_success_at) == (NOW + 5, NOW + 9)
    assert found.version == 1


@pytest.mark.parametrize(("gone", "reason"), [(True, "gone"), (False, "failed for a day")])
async def test_an_endpoint_is_switched_off_when_it_is_gone_or_failed_for_too_long(
    store: Store, gone: bool, reason: str
) -> None:
    """Http-and-cli §7."""
    await store.put_webhook(HOOK, 0, "whsec_one")
    if not gone:
        assert not await attempt(store, NOW - HOUR, "500")
    assert await attempt(store, NOW, "no", gone=gone)
    assert not await attempt(store, NOW + 1, "no", gone=gone)

    off = await only(store)
    assert not off.enabled
    assert off.off_reason is not None
    assert reason in off.off_reason

    # Switched on again it begins anew.
    on = structs.replace(off, enabled=True, off_reason=None)
    assert await store.put_webhook(on, off.version, None)
    assert not await attempt(store, NOW + HOUR, "500")
    assert (await only(store)).enabled
