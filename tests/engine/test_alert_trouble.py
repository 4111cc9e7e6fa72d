"""Alerts while the watching itself is in trouble: nodes, clocks, endpoints (R4.5, R8.3, R9.4)."""

from collections import Counter
from typing import Any

import pytest

from rota.alerting import FAILING_MOST, KIND, QUEUE, Attempted
from rota.backend import Report
from rota.clock import ManualClock
from rota.config import DAY, HOUR, MINUTE, SECOND
from rota.contrib.webhook import RETRY
from rota.engine import Engine
from rota.engine.alerts import APART
from rota.errors import StoreUnavailable
from rota.model import AttemptError, Claimed
from rota.policy.lifecycle import Completed, Failed
from tests.engine.test_alerts import Watching, alerts, at, endpoint, engine, nodes, told
from tests.support.factories import Make
from tests.support.places import Place

__all__ = ["engine"]


async def test_a_breach_that_flaps_fires_once_for_each_time_that_it_was_over(
    engine: Watching, clock: ManualClock
) -> None:
    """R9.4: down to the clearing line and up again is one breach; below it, the next is another."""
    await endpoint(engine, "w1")
    for _ in range(3):
        await at(engine, clock, 20_000, 60)
        for depth in (8_000, 15_000, 8_001, 30_000):
            await at(engine, clock, depth, 10)
        await at(engine, clock, 7_999, 10)

    kinds = [event["type"] for _, event in await told(engine)]
    assert kinds == ["alert.fired", "alert.cleared"] * 3
    assert len(await alerts(engine)) == 3


async def test_a_breach_shorter_than_the_hold_leaves_nothing_behind(
    engine: Watching, clock: ManualClock
) -> None:
    """R9.4: whatever comes and goes faster than that is no alert, however often."""
    await endpoint(engine, "w1")
    for _ in range(10):
        await at(engine, clock, 90_000, 59)
        await at(engine, clock, 0, 1)
    assert await told(engine) == []
    assert (await engine.store.board()).alerts == ()


@pytest.mark.parametrize("step", ["figures", "board", "move_alerts"])
async def test_another_node_goes_on_where_the_holder_of_the_turn_died(
    engine: Watching, clock: ManualClock, place: Place, step: str
) -> None:
    """R8.3: a turn that was taken and not used is over soon; nothing is told twice."""
    await endpoint(engine, "w1")
    async with nodes(place, clock, 2) as (first, second):
        for node in (first, second):
            node.depth = 20_000
        assert await first.alert() == 1
        clock.advance(61)

        async def die(*_: Any, **__: Any) -> Any:
            raise StoreUnavailable("gone")

        owner: Any = first if step == "figures" else first.store
        setattr(owner, step, die)
        with pytest.raises(StoreUnavailable):
            await first.alert()
        assert await second.alert() == 0  # the turn of the dead one
        clock.advance(APART / SECOND)
        assert await second.alert() == 1

    assert len(await told(engine)) == 1
    assert [alert.state(clock.now()).value for alert in await alerts(engine)] == ["firing"]


async def test_a_holder_that_died_after_the_change_has_told_all_the_same(
    engine: Watching, clock: ManualClock, place: Place
) -> None:
    """R4.5: change and deliveries are one transaction; only the hint to workers is lost."""
    await endpoint(engine, "w1")
    await at(engine, clock, 20_000, 59)
    clock.advance(1)

    async def die(*_: Any) -> None:
        raise StoreUnavailable("gone")

    async with nodes(place, clock, 1) as (other,):
        other.depth = 20_000
        store: Any = other.store
        store.notify = die
        with pytest.raises(StoreUnavailable):
            await other.watch()
    assert [event["type"] for _, event in await told(engine)] == ["alert.fired"]
    assert await at(engine, clock, 20_000, 1) == ["firing"]
    assert len(await told(engine)) == 1


async def test_two_nodes_that_see_something_else_make_one_alert(
    engine: Watching, clock: ManualClock, place: Place
) -> None:
    """R8.3: figures are read at different moments; the store's alert is the memory of both."""
    await endpoint(engine, "w1")
    async with nodes(place, clock, 2) as (one, two):
        for seen in ((20_000, 10_000), (20_000, 11_000), (9_500, 30_000), (8_000, 9_999)):
            for node, depth in zip((one, two), seen, strict=True):
                node.depth = depth
                await node.watch()
                clock.advance(31)
        types = Counter(event["type"] for _, event in await told(engine))
        assert types == {"alert.fired": 1}
        one.depth = 0
        await one.watch()
        await two.watch()  # sees what it saw before, and an alert that is over
    types = Counter(event["type"] for _, event in await told(engine))
    assert types == {"alert.fired": 1, "alert.cleared": 1}


async def test_a_clock_that_is_set_back_delays_an_alert_by_its_hold_and_no_more(
    engine: Watching, clock: ManualClock
) -> None:
    """Case B166: and the turn, which was taken in what is the future now, can be taken again."""
    engine.depth = 20_000
    assert await engine.alert() == 1
    clock.step_wall(-3_600)
    for _ in range(2):
        assert await engine.alert() == 1
        clock.advance(10)
    clock.advance(60)
    assert await engine.alert() == 1
    assert [alert.state(clock.now()).value for alert in await alerts(engine)] == ["firing"]


async def test_a_clock_that_is_set_ahead_makes_no_alert_of_what_is_over(
    engine: Watching, clock: ManualClock
) -> None:
    """Case B166: what is too high before and after is too high; what is not never fires."""
    engine.depth = 20_000
    await engine.alert()
    clock.step_wall(3_600)
    engine.depth = 100
    await engine.alert()
    assert await alerts(engine) == []


class Deliverer:
    """Takes deliveries as a worker does, each to an endpoint that answers what the test says."""

    def __init__(self, engine: Engine, clock: ManualClock, session: str) -> None:
        self.engine = engine
        self.clock = clock
        self.session = session
        self.tries: Counter[str] = Counter()

    async def step(self, *, up: bool) -> list[Claimed]:
        """Do what is due, and return it."""
        await self.engine.stage()
        tasks = (await self.engine.claim(self.session, (QUEUE,), 10, ())).tasks
        for task in tasks:
            self.tries[task.id] += 1
            failure = None if up else "cannot connect"
            await self.engine.attempted(
                Attempted(webhook="w1", at=self.clock.now(), failure=failure)
            )
            error = AttemptError(self.clock.now(), task.attempt, "Retry", "cannot connect", "")
            ending = Completed() if up else Failed(error)
            await self.engine.finish(self.session, [Report(task, ending, RETRY)])
        return list(tasks)


async def test_an_endpoint_that_is_down_for_hours_is_told_in_the_end_and_once(
    engine: Watching, clock: ManualClock, make: Make
) -> None:
    """R4.5: what began and ended meanwhile waits for it; nothing is made anew by the failures."""
    await endpoint(engine, "w1")
    session = make.session(queues=(QUEUE,), kinds=(KIND,), lease_until=clock.now() + DAY)
    await engine.open_session(session)
    there = Deliverer(engine, clock, session.id)
    await at(engine, clock, 20_000, 60)
    for minute in range(5 * 60):
        await there.step(up=False)
        if minute == 90:
            await at(engine, clock, 0, 0)
        clock.advance(60)
    fired, cleared = sorted(there.tries)
    assert 8 <= there.tries[cleared] <= there.tries[fired] < RETRY.max_attempts
    (webhook,) = await engine.webhooks()
    assert webhook.enabled
    assert webhook.failing_since is not None

    delivered: list[str] = []
    for _ in range(75):
        delivered += [task.id for task in await there.step(up=True)]
        clock.advance(60)
    assert sorted(delivered) == [fired, cleared]
    (webhook,) = await engine.webhooks()
    assert (webhook.failing_since, webhook.failure) == (None, None)


async def test_an_endpoint_that_is_down_for_a_day_is_told_nothing_more_and_says_so(
    engine: Watching, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Http-and-cli §7: it is switched off, and alerts go on in the log."""
    await endpoint(engine, "w1")
    begun = clock.now()
    for hours in range(25):
        when = begun + hours * HOUR
        await engine.attempted(Attempted(webhook="w1", at=when, failure="cannot connect"))
    assert FAILING_MOST == 24 * HOUR
    (webhook,) = await engine.webhooks()
    assert not webhook.enabled
    assert "webhook w1 is switched off: cannot connect" in caplog.text
    await at(engine, clock, 20_000, MINUTE / SECOND)
    assert await told(engine) == []
    assert "alert queue_depth: queue_depth of all queues is 20000" in caplog.text
