"""Figures that are too high make alerts, once each, and the endpoints are told of them (R9.4)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from rota.alerting import (
    KEEP_ALERTS,
    Alert,
    AlertFilter,
    AlertRule,
    AlertState,
    Webhook,
)
from rota.clock import ManualClock, new_rng
from rota.config import MINUTE, SECOND
from rota.engine import Engine
from rota.figures import Figure, Figures, Reading
from rota.model import Task, TaskFilter
from tests.support.factories import NOW
from tests.support.places import Place


class Watching(Engine):
    """An engine whose figures are a test's own."""

    depth: float | None = 0
    more: Sequence[Reading] = ()

    async def figures(self) -> Figures:
        readings = (Reading(Figure.DEPTH, self.depth), *self.more)
        return Figures(self.clock.now(), readings)


@pytest.fixture
def engine(place: Place, clock: ManualClock, engine: Engine) -> Watching:
    """An engine with figures of the test's own."""
    return Watching(engine.store, clock, new_rng(3))


async def alerts(engine: Engine, **where: Any) -> list[Alert]:
    """Return what has fired, newest first."""
    return await engine.find_alerts(AlertFilter(**where), before_id=None, limit=100)


async def told(engine: Engine) -> list[tuple[str, dict[str, Any]]]:
    """Return what the endpoints are to be told, oldest first: which one, and of what."""
    tasks: list[Task] = await engine.find(TaskFilter(queue="rota"), before_id=None, limit=100)
    found = [msgspec.json.decode(str(msgspec.json.encode(t.payload).decode())) for t in tasks]
    return [(one["webhook"], one["event"]) for one in reversed(found)]


async def endpoint(engine: Engine, id_: str, **fields: Any) -> None:
    """Make an endpoint."""
    webhook = Webhook(id=id_, url="https://hooks.example/", created_at=NOW, **fields)
    assert await engine.put_webhook(webhook, 0, "whsec_x")


async def at(engine: Watching, clock: ManualClock, depth: float | None, later: float) -> list[str]:
    """Let a figure be so for a while, look, and return the states of alerts, newest first."""
    engine.depth = depth
    await engine.watch()
    clock.advance(later)
    await engine.watch()
    return [alert.state(clock.now()).value for alert in await alerts(engine)]


async def test_an_alert_fires_goes_on_and_is_over_and_is_told_of_twice(
    engine: Watching, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """R9.4: after the hold above, below 80 % of the threshold; R4.5: by log and webhook."""
    caplog.set_level(logging.INFO, "rota.alerts")
    await endpoint(engine, "w1")

    assert await at(engine, clock, 9_999, 3_600) == []
    assert await at(engine, clock, 10_000, 59.9) == []
    assert await at(engine, clock, 12_000, 0.1) == ["firing"]
    assert await at(engine, clock, 8_000, 3_600) == ["firing"]
    assert await at(engine, clock, 7_999, 0) == ["cleared"]
    assert await at(engine, clock, 7_999, 3_600) == ["cleared"]

    (first, fired), (second, cleared) = await told(engine)
    (alert,) = await alerts(engine)
    assert first == second == "w1"
    assert (fired["type"], cleared["type"]) == ("alert.fired", "alert.cleared")
    assert fired["data"] == {
        "alert": alert.id,
        "rule": "queue_depth",
        "figure": "queue_depth",
        "queue": None,
        "value": 12_000,
        "threshold": 10_000,
        "link": f"/alerts/{alert.id}",
    }
    assert [record.getMessage() for record in caplog.records] == [
        "alert queue_depth: queue_depth of all queues is 12000, threshold 10000",
        "alert queue_depth is over: queue_depth of all queues was 12000, threshold 10000",
    ]


async def test_a_dip_before_the_end_of_the_hold_begins_anew(
    engine: Watching, clock: ManualClock
) -> None:
    assert await at(engine, clock, 20_000, 50) == []
    assert await at(engine, clock, 9_000, 1) == []
    assert await at(engine, clock, 20_000, 50) == []
    assert await at(engine, clock, 20_000, 10) == ["firing"]


async def test_what_swings_around_the_threshold_makes_one_alert(
    engine: Watching, clock: ManualClock
) -> None:
    """R9.4: hysteresis."""
    await endpoint(engine, "w1")
    await at(engine, clock, 20_000, 60)
    for n in range(20):
        assert await at(engine, clock, 10_001 if n % 2 else 9_999, 30) == ["firing"]
    assert len(await told(engine)) == 1


async def test_those_endpoints_are_told_that_are_on_and_that_the_rule_names(
    engine: Watching, clock: ManualClock
) -> None:
    await endpoint(engine, "w1")
    await endpoint(engine, "w2")
    await endpoint(engine, "off", enabled=False)
    only = AlertRule(
        name="mine", figure=Figure.OLDEST, threshold=1, hold=0, webhooks=("w2", "gone")
    )
    assert await engine.put_alert_rule(only, 0)
    engine.more = (Reading(Figure.OLDEST, 5), Reading(Figure.SILENCE, 11))
    await engine.watch()

    assert sorted((who, event["data"]["rule"]) for who, event in await told(engine)) == [
        ("w1", "scheduler_silence"),
        ("w2", "mine"),
        ("w2", "scheduler_silence"),
    ]


async def test_while_silenced_nobody_is_told_and_afterwards_if_it_goes_on(
    engine: Watching, clock: ManualClock
) -> None:
    """R4.5: a rule, before it fires."""
    await endpoint(engine, "w1")
    (rule,) = [rule for rule in await engine.alert_rules() if rule.name == "queue_depth"]
    silent = msgspec.structs.replace(rule, silenced_until=clock.now() + 5 * MINUTE)
    assert await engine.put_alert_rule(silent, 0)

    assert await at(engine, clock, 20_000, 61) == ["silenced"]
    assert await told(engine) == []
    assert await at(engine, clock, 20_000, 300) == ["firing"]
    assert len(await told(engine)) == 1


async def test_an_alert_is_silenced_until_then_or_until_it_is_over(
    engine: Watching, clock: ManualClock
) -> None:
    await at(engine, clock, 20_000, 61)
    (alert,) = await alerts(engine)
    until = clock.now() + 5 * MINUTE

    silenced = await engine.silence_alert(alert.id, until)
    assert silenced is not None
    assert silenced.state(clock.now()) is AlertState.SILENCED
    assert (await alerts(engine))[0] == silenced
    assert silenced.state(until) is AlertState.FIRING
    await at(engine, clock, 0, 1)
    assert await engine.silence_alert(alert.id, until) is None
    assert await engine.silence_alert("no-such", until) is None


async def test_a_rule_that_is_switched_off_or_removed_ends_its_alerts(
    engine: Watching, clock: ManualClock
) -> None:
    own = AlertRule(name="own", figure=Figure.DEPTH, threshold=1, hold=0)
    assert await engine.put_alert_rule(own, 0)
    assert await at(engine, clock, 5, 0) == ["firing"]
    assert await engine.drop_alert_rule("own")
    assert await at(engine, clock, 5, 0) == ["cleared"]


async def test_alerts_are_kept_for_thirty_days(engine: Watching, clock: ManualClock) -> None:
    await at(engine, clock, 20_000, 61)
    await at(engine, clock, 0, 1)
    clock.advance(KEEP_ALERTS / SECOND - 1)
    await engine.alert()
    assert len(await alerts(engine)) == 1
    clock.advance(3_601)
    await engine.alert()
    assert await alerts(engine) == []


@asynccontextmanager
async def nodes(place: Place, clock: ManualClock, count: int) -> AsyncIterator[list[Watching]]:
    """Engines with stores of their own, as processes of their own have them."""
    made = [Watching(place.store(), clock, new_rng(n)) for n in range(count)]
    for node in made:
        await node.open()
    try:
        yield made
    finally:
        for node in made:
            await node.close()


async def test_of_racing_nodes_one_makes_each_alert_and_tells_of_it(
    engine: Watching, clock: ManualClock, place: Place
) -> None:
    """R4.5, R8.3: one alert for each breach, each change told of once, whoever looks when."""
    await endpoint(engine, "w1")
    queues = [f"q{n}" for n in range(5)]
    rule = AlertRule(name="each", figure=Figure.OLDEST, threshold=10, queue="*", hold=30 * SECOND)
    assert await engine.put_alert_rule(rule, 0)
    async with nodes(place, clock, 4) as looking:
        for seconds in (20.0, 20.0, 20.0, 0.0, 0.0):
            for node in looking:
                node.more = [Reading(Figure.OLDEST, seconds, queue) for queue in queues]
            await asyncio.gather(*(node.watch() for node in looking * 3))
            clock.advance(31)

    assert sorted(alert.queue or "" for alert in await alerts(engine)) == queues
    heard = [(event["type"], event["data"]["queue"]) for _, event in await told(engine)]
    assert sorted(heard) == sorted(
        (type_, queue) for type_ in ("alert.fired", "alert.cleared") for queue in queues
    )


async def test_of_many_nodes_one_reads_the_figures_at_a_time(
    engine: Watching, clock: ManualClock, place: Place
) -> None:
    """R2.4"""
    looks: list[Watching] = []
    async with nodes(place, clock, 3) as looking:
        for node in looking:
            original = node.watch

            async def watch(node: Watching = node, original: Any = original) -> int:
                looks.append(node)
                return int(await original())

            node.watch = watch  # type: ignore[method-assign]
        for _ in range(4):
            await asyncio.gather(*(node.alert() for node in looking))
            clock.advance(10)

    assert len(looks) == 4
