"""Caps and rates, as a worker meets them: never exceeded, and nobody else waits for them."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from rota.clock import ManualClock, new_rng
from rota.config import LEASE, SECOND
from rota.engine import Engine
from rota.model import Micros
from rota.shares import Blocked, Held, Limit, Taken
from tests.engine.claiming import Hand, put
from tests.support.factories import NOW, Make
from tests.support.places import Place

CAP = Limit(id="0193f2a1-7c5e-7d3a-9b1f-000000000001", queue="sms", max_running=3)
RATE = Limit(
    id="0193f2a1-7c5e-7d3a-9b1f-000000000002", queue="sms", rate=10.0, burst=5, filled_at=NOW
)


def of_tenant(number: int, most: int = 1) -> Limit:
    return Limit(
        id=f"0193f2a1-7c5e-7d3a-9b1f-0000001{number:05}", tenant=f"t{number:02}", max_running=most
    )


async def test_no_more_run_than_the_cap_and_the_end_of_one_lets_another_in(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.4"""
    hand = await Hand(engine, make, clock).open()
    await put(engine, CAP)
    await engine.submit(make.tasks(10, queue="sms"))

    first = await hand.claim(10, "sms")
    again = await hand.claim(10, "sms")
    await hand.end(1)
    third = await hand.claim(10, "sms")

    assert [len(claim.tasks) for claim in (first, again, third)] == [3, 0, 1]
    assert again.again_at is None


async def test_waiting_for_a_limit_is_no_attempt(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """Case B134: refused four times, it runs at the fifth, and that is its first attempt."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, Limit(id=CAP.id, queue="sms", max_running=1))
    await engine.submit(make.tasks(2, queue="sms"))
    await hand.claim(1, "sms")

    refused = [await hand.claim(1, "sms") for _ in range(4)]
    await hand.end()
    (task,) = (await hand.claim(1, "sms")).tasks

    assert [claim.tasks for claim in refused] == [[], [], [], []]
    assert (task.attempt, task.fence, task.snoozes) == (1, 1, 0)


async def test_a_late_report_frees_no_slot_a_second_time(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """Case B127: the worker was lost, its task runs elsewhere, and then it reports."""
    gone = await Hand(engine, make, clock).open(LEASE)
    await put(engine, Limit(id=CAP.id, queue="sms", max_running=1))
    await engine.submit(make.tasks(5, queue="sms"))
    await gone.claim(1, "sms")
    clock.advance(LEASE / SECOND + 1)
    await engine.reap()
    heir = await Hand(engine, make, clock).open()
    await heir.claim(5, "sms")

    late = await gone.end()
    more = await heir.claim(5, "sms")

    assert late == [False]
    assert len(heir.held) == 1
    assert more.tasks == []


async def test_a_session_whose_lease_is_over_gets_nothing_and_spends_nothing(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """Case B161: it got the limit's lock, but too late."""
    late = await Hand(engine, make, clock).open(LEASE)
    await put(engine, Limit(id=RATE.id, queue="sms", rate=0.001, burst=2, filled_at=NOW))
    await engine.submit(make.tasks(5, queue="sms"))
    clock.advance(LEASE / SECOND + 1)

    nothing = await late.claim(5, "sms")
    other = await Hand(engine, make, clock).open()

    assert nothing.tasks == []
    assert len((await other.claim(5, "sms")).tasks) == 2


@pytest.mark.parametrize("slots", [1, 20])
async def test_lanes_at_their_caps_do_not_hold_up_the_others(
    engine: Engine, make: Make, clock: ManualClock, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7.4: work-conserving; 30 tenants at their caps cost a claim a few statements, not 30."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, *(of_tenant(n) for n in range(30)))
    await engine.submit([make.task(tenant=f"t{n:02}") for n in range(30) for _ in range(3)])
    while (await hand.claim(100)).tasks:
        pass
    await engine.submit(make.tasks(50, tenant="zzz"))
    calls = Counter[str]()
    for name in ("take", "limit_use", "lanes"):
        _count(monkeypatch, engine, name, calls)

    claim = await hand.claim(slots)

    assert [task.tenant for task in claim.tasks] == ["zzz"] * slots
    assert calls.total() <= 8


def _count(patch: pytest.MonkeyPatch, engine: Engine, name: str, calls: Counter[str]) -> None:
    call = getattr(engine.store, name)

    async def counted(*args: Any, **named: Any) -> object:
        calls[name] += 1
        return await call(*args, **named)

    patch.setattr(engine.store, name, counted)


async def test_a_queue_at_its_cap_leaves_its_slots_to_others_at_once(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.4"""
    hand = await Hand(engine, make, clock).open()
    await put(engine, CAP)
    await engine.submit(make.tasks(50, queue="sms") + make.tasks(200, queue="mail"))

    claim = await hand.claim(100, "sms", "mail")

    assert Counter(task.queue for task in claim.tasks) == {"sms": 3, "mail": 97}


async def test_places_in_the_buffer_are_not_for_work_under_limits(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.4: it would be counted as running, and would only wait."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, Limit(id=CAP.id, queue="sms", max_running=50))
    await engine.submit(make.tasks(50, queue="sms"))

    some = await hand.claim(30, "sms", spare=20)
    none = await hand.claim(10, "sms", spare=10)
    await engine.submit(make.tasks(5, queue="mail"))
    others = await hand.claim(10, "sms", "mail", spare=10)

    assert (len(some.tasks), some.spared) == (10, True)
    assert (none.tasks, none.spared) == ([], True)
    assert {task.queue for task in others.tasks} == {"mail"}


async def test_room_under_a_cap_is_news(
    engine: Engine, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7.4: whoever waits for it looks at once; the end of other work is no news."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, CAP)
    await engine.submit(make.tasks(4, queue="sms") + make.tasks(4, queue="mail"))
    await hand.claim(1, "mail")
    await hand.claim(1, "sms")
    hints = _hints(engine, monkeypatch)

    await hand.end(1)
    of_other = list(hints)
    await hand.end(1)

    assert (of_other, hints) == ([], [0])


def _hints(engine: Engine, patch: pytest.MonkeyPatch) -> list[Micros]:
    hints: list[Micros] = []

    async def notify(at: Micros) -> None:
        hints.append(at)

    patch.setattr(engine.store, "notify", notify)
    return hints


async def test_a_rate_says_when_there_will_be_more(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.5: the burst at once, and then as the tokens come."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, RATE)
    await engine.submit(make.tasks(20, queue="sms"))

    first = await hand.claim(20, "sms")
    assert first.again_at is not None
    early = await hand.claim(20, "sms")
    clock.advance((first.again_at - clock.now()) / SECOND)
    then = await hand.claim(20, "sms")

    assert (len(first.tasks), early.tasks, len(then.tasks)) == (5, [], 1)
    assert first.again_at - NOW == SECOND // 10


async def test_a_limit_that_is_removed_holds_nothing_back(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.4: at the next claim."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, CAP)
    await engine.submit(make.tasks(20, queue="sms"))
    await hand.claim(20, "sms")

    assert await engine.drop_limit(CAP.id)

    assert len((await hand.claim(20, "sms")).tasks) == 17


async def test_two_workers_under_a_rate_hold_no_more_than_they_may(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """Case B139: one a second, thousands are ready; each gets its part, nobody hoards."""
    hands = [await Hand(engine, make, clock).open() for _ in range(2)]
    await put(engine, Limit(id=RATE.id, queue="sms", rate=1.0, burst=1, filled_at=NOW))
    await engine.submit(make.tasks(2_000, queue="sms"))

    for second in range(20):
        for hand in hands if second % 2 else reversed(hands):
            await hand.claim(4, "sms")
        clock.advance(1)

    assert [len(hand.held) for hand in hands] == [10, 10]


class Clocked:
    """Claims for as long as the test lasts, and keeps when each task started."""

    def __init__(self, hand: Hand, clock: ManualClock) -> None:
        self._hand = hand
        self._clock = clock
        self.started: list[Micros] = []
        self.claims = 0

    async def run(self, seconds: float, slots: int) -> None:
        until = self._clock.now() + round(seconds * SECOND)
        while self._clock.now() < until:
            claim = await self._hand.claim(slots, "sms")
            self.claims += 1
            self.started += [self._clock.now()] * len(claim.tasks)
            await self._hand.end()
            wait = 1.0 if claim.again_at is None else (claim.again_at - self._clock.now()) / SECOND
            self._clock.advance(min(max(wait, 0.001), 1.0))


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("rate", "burst"), [(100.0, 50), (100.0, 10), (50.0, 1)])
async def test_a_rate_is_used_up_and_never_exceeded(
    engine: Engine, make: Make, clock: ManualClock, rate: float, burst: int
) -> None:
    """R7.5: at least 95 %, in every window at most burst + rate * window, without a busy loop."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, Limit(id=RATE.id, queue="sms", rate=rate, burst=burst, filled_at=NOW))
    await engine.submit(make.tasks(800, queue="sms"))
    it = Clocked(hand, clock)

    await it.run(5.0, slots=100)

    assert len(it.started) >= 0.95 * rate * 5
    for window in (SECOND // 10, SECOND, 5 * SECOND):
        for n, at in enumerate(it.started):
            inside = sum(1 for other in it.started[n:] if other < at + window)
            assert inside <= burst + rate * window / SECOND + 1e-6
    assert it.claims <= 2.2 * rate * 5 / max(min(burst // 2, rate // 50), 1)


async def test_a_worker_with_the_limit_locked_is_not_waited_for(
    engine: Engine, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7.4, case B160: it is asked again some milliseconds later, without any news."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, CAP)
    await engine.submit(make.tasks(3, queue="sms"))
    take = engine.store.take

    async def busy(*args: Any, **named: Any) -> Taken:
        return Taken([], blocked=(Blocked(CAP.id, Held.BUSY),))

    monkeypatch.setattr(engine.store, "take", busy)
    nothing = await hand.claim(10, "sms")
    monkeypatch.setattr(engine.store, "take", take)

    assert nothing.again_at is not None
    assert 0 < nothing.again_at - clock.now() <= SECOND // 100
    assert len((await hand.claim(10, "sms")).tasks) == 3


@pytest.mark.parametrize("most", [1, 7])
async def test_racing_workers_never_exceed_a_cap_and_use_it_up(
    engine: Engine, make: Make, clock: ManualClock, place: Place, most: int
) -> None:
    """R7.4, invariant 5: each with an engine and connections of its own."""
    others = [Engine(place.store(), clock, new_rng(n)) for n in range(3)]
    for one in others:
        await one.open()
    hands = [await Hand(one, make, clock).open() for one in (engine, *others)]
    await put(engine, Limit(id=CAP.id, queue="sms", max_running=most))
    await engine.submit([make.task(queue="sms", tenant=f"t{n % 9}") for n in range(120)])
    seen: list[int] = []
    ended: list[int] = []

    async def work(hand: Hand) -> None:
        while sum(ended) < 120:
            await hand.claim(10, "sms")
            seen.append(sum(len(one.held) for one in hands))
            ended.append(len(hand.held))
            await hand.end()  # not held any more for us before it is so in the store

    await asyncio.gather(*map(work, hands))
    for one in others:
        await one.close()

    assert sum(ended) == 120
    assert max(seen) == most
