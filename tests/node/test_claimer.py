"""A worker holds what it can run and little more, and finds what a broken link hid."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rota.backend import Report
from rota.clock import new_rng
from rota.config import SECOND
from rota.errors import StoreUnavailable
from rota.model import Claimed
from rota.node import claimer
from rota.node.claimer import BUFFER_MOST, LOOK_AGAIN, POLL, SOONEST, Claimer
from rota.node.counts import Counts
from rota.node.pools import PoolQueues
from rota.node.queue_names import plan_queues
from rota.node.reporter import Reporter
from rota.node.slots import Slots
from rota.registry import Kind, Registry
from tests.node.fakes import FakeBackend, claimed, endings


class Claiming:
    """A claimer with slots, a reporter and a backend of the test's own."""

    def __init__(self, handler: Callable[..., Any], concurrency: int = 10) -> None:
        self.backend = FakeBackend()
        registry = Registry()
        registry.add(Kind("work", handler))
        self.counts = Counts()
        self.slots = Slots(
            registry, concurrency, self.backend.clock, report=self._report, freed=self._freed
        )
        self.reporter = Reporter(
            self.backend,  # type: ignore[arg-type]
            "session",
            self.counts,
            new_rng(1),
            sent=self._freed,
        )
        self.claimer = Claimer(
            self.backend,  # type: ignore[arg-type]
            "session",
            PoolQueues(self.backend, plan_queues(["default"], concurrency)),  # type: ignore[arg-type]
            slots=self.slots,
            reporter=self.reporter,
            counts=self.counts,
            rng=new_rng(1),
        )

    def _report(self, report: Report) -> None:
        self.reporter.add(report)

    def _freed(self) -> None:
        if hasattr(self, "claimer"):
            self.claimer.freed()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Run claimer and reporter until something is so."""
        tasks = [
            asyncio.create_task(self.claimer.run()),
            asyncio.create_task(self.reporter.run()),
        ]
        try:
            while not condition():
                await asyncio.sleep(0)
                self.backend.clock.advance(0.01)
                assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def quick(n: int) -> None:
    """Do nothing."""


async def endless(n: int) -> None:
    """Never end."""
    await asyncio.Event().wait()


async def test_everything_is_claimed_run_and_reported() -> None:
    it = Claiming(quick)
    it.backend.ready.extend(claimed(n) for n in range(1_000))

    await it.until(lambda: it.counts.reported == 1_000)

    assert it.counts.claimed == 1_000


async def test_a_busy_worker_claims_nothing() -> None:
    """Cases B139, B142, B143: the rest is there for others."""
    it = Claiming(endless, concurrency=3)
    it.backend.ready.extend(claimed(n) for n in range(10))

    await it.until(lambda: it.backend.clock.monotonic() > 1_010)

    assert it.counts.claimed == 3
    assert len(it.backend.ready) == 7


async def test_the_buffer_follows_what_the_handlers_can_do() -> None:
    it = Claiming(quick, concurrency=10)
    it.backend.ready.extend(claimed(n) for n in range(20_000))

    await it.until(lambda: it.counts.reported > 10_000)

    assert max(it.backend.wants) <= 10 + BUFFER_MOST


async def test_what_waits_behind_a_long_handler_is_handed_back() -> None:
    """Case B143: quick tasks made the buffer large, then a long one took the only slot."""
    gate = asyncio.Event()

    async def work(n: int) -> None:
        if n == 500:
            await gate.wait()

    it = Claiming(work, concurrency=1)
    it.backend.ready.extend(claimed(n) for n in range(600))

    await it.until(lambda: it.slots.busy == 1 and it.counts.reported >= 500)
    it.slots.offer([claimed(9_001), claimed(9_002)])
    await it.until(lambda: it.slots.buffered == 0)
    await it.reporter.step()
    gate.set()

    released = [r.task.id for r in it.backend.reports if endings([r]) == ["Released"]]
    assert {"task-9001", "task-9002"} <= set(released)


async def test_a_claim_whose_answer_was_lost_is_found_again() -> None:
    """F5: the store handed the tasks out, and the link broke."""
    it = Claiming(quick)
    it.backend.ready.extend(claimed(n) for n in range(5))
    it.backend.takes_before_fault = True
    it.backend.claim_faults.append(StoreUnavailable("cut after commit"))

    await it.until(lambda: it.counts.reported == 5)

    assert [r.task.id for r in it.backend.reports] == [f"task-{n}" for n in range(5)]


async def test_what_a_lost_claim_takes_late_is_found_as_well() -> None:
    """F5: the link broke, and the store carried the claim out when nobody looked any more."""
    it = Claiming(quick)
    it.backend.claim_faults.append(StoreUnavailable("cut on the way"))
    await it.until(lambda: len(it.backend.wants) > 1)

    it.backend.taken.append(claimed())
    it.backend.clock.advance(LOOK_AGAIN)
    it.claimer.kick()
    await it.until(lambda: it.counts.reported == 1)


async def test_what_ends_while_the_store_is_asked_is_not_run_again() -> None:
    """F5: the answer is older than what happened here meanwhile."""
    gate = asyncio.Event()

    async def work(n: int) -> None:
        if n == 9:
            await gate.wait()

    it = Claiming(work)
    it.backend.ready.extend(claimed(n) for n in range(3))
    it.backend.claim_faults.append(StoreUnavailable("away"))
    it.backend.taken.append(claimed(9))
    it.slots.offer([claimed(9)])
    held = it.backend.held

    async def slow(session_id: str) -> list[Claimed]:
        answer = await held(session_id)
        gate.set()
        for _ in range(20):
            await asyncio.sleep(0)
        assert it.counts.reported
        return answer

    it.backend.held = slow  # type: ignore[method-assign]
    await it.until(lambda: it.counts.reported == 4)

    ran = [report.task.id for report in it.backend.reports]
    assert sorted(ran) == ["task-0", "task-1", "task-2", "task-9"]


async def test_an_outage_is_waited_out() -> None:
    """R3.7."""
    it = Claiming(quick)
    it.backend.ready.append(claimed())
    it.backend.claim_faults.extend(StoreUnavailable("away") for _ in range(6))

    await it.until(lambda: it.counts.reported == 1)

    assert not it.backend.claim_faults


async def test_a_kind_that_is_not_known_is_passed_over_from_then_on() -> None:
    """Case B124."""
    it = Claiming(quick)
    it.backend.ready.append(claimed(1, "strange"))

    await it.until(lambda: bool(it.backend.reports))
    it.claimer.kick()
    await it.until(lambda: it.backend.avoided == ("strange",))

    assert endings(it.backend.reports) == ["Released"]


async def test_news_ends_the_wait_of_an_idle_worker() -> None:
    """R2.2: no poll lies in between."""
    it = Claiming(quick)
    tasks = [asyncio.create_task(it.claimer.run()), asyncio.create_task(it.reporter.run())]
    for _ in range(20):
        await asyncio.sleep(0)
    looks = len(it.backend.wants)

    it.backend.ready.append(claimed())
    it.claimer.kick()
    for _ in range(20):
        await asyncio.sleep(0)

    assert looks == 1
    assert it.counts.reported == 1
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def waits_of(it: Claiming, monkeypatch: pytest.MonkeyPatch, looks: int) -> list[float]:
    """Let a claimer look so often, and return for how long it waited after each look."""
    seconds: list[float] = []

    async def wait(longest: float, sign: asyncio.Event) -> bool:
        seconds.append(longest)
        it.backend.clock.advance(longest)
        if len(seconds) == looks:
            it.claimer.stop()
        return sign.is_set()

    monkeypatch.setattr(claimer, "within", wait)
    await it.claimer.run()
    return seconds


@pytest.mark.parametrize(
    ("held_back", "shortest", "longest"),
    [
        (None, 0.75 * POLL, 1.25 * POLL),
        (0.01, 0.01, 0.01),
        (0.000001, SOONEST, SOONEST),
        (3_600.0, 0.75 * POLL, 1.25 * POLL),
    ],
)
async def test_an_idle_worker_looks_again_when_a_limit_lets_more_through(
    monkeypatch: pytest.MonkeyPatch, held_back: float | None, shortest: float, longest: float
) -> None:
    """R7.5, case B040: not a poll later, nor in a busy loop."""
    it = Claiming(quick)
    it.backend.again_in = held_back

    waits = await waits_of(it, monkeypatch, looks=5)

    assert min(waits) >= shortest * 0.999
    assert max(waits) <= longest * 1.001


@pytest.mark.parametrize("step", [-7_200.0, 7_200.0])
async def test_a_clock_that_steps_neither_stops_an_idle_worker_nor_lets_it_spin(
    monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    """Cases B164, B166: a wait that follows from a stored time is positive and capped."""
    it = Claiming(quick)
    it.backend.again_at = it.backend.clock.now() + SECOND
    it.backend.clock.step_wall(step)

    waits = await waits_of(it, monkeypatch, looks=12)

    assert min(waits) > 0
    assert max(waits) <= 1.25 * POLL
    assert sum(waits) > 1.0


async def test_what_is_found_in_vain_again_and_again_is_looked_for_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Design §5: an answer that says "at once" and hands nothing out makes no busy loop."""
    it = Claiming(quick)
    it.backend.again_at = it.backend.clock.now()

    waits = await waits_of(it, monkeypatch, looks=12)

    assert waits == sorted(waits)
    assert waits[-1] >= 0.2


async def test_work_under_limits_that_was_left_out_is_asked_for_when_a_slot_is_free() -> None:
    """R7.4: only places in the buffer were left for it; a run that ends is news then."""
    it = Claiming(quick)
    it.backend.spared = True
    task = asyncio.create_task(it.claimer.run())
    for _ in range(5):
        await asyncio.sleep(0)
    looks = len(it.backend.wants)

    it.claimer.freed()
    for _ in range(5):
        await asyncio.sleep(0)

    assert (looks, len(it.backend.wants)) == (1, 2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_without_a_free_slot_it_is_not_asked_for() -> None:
    """R7.4: a claim for the buffer alone would be in vain."""
    it = Claiming(endless, concurrency=1)
    it.slots.offer([claimed()])
    it.claimer._rate, it.claimer._seconds = 1_000.0, 0.01

    before, it.claimer._spared = it.claimer._want(), True

    assert (before > 0, it.claimer._want()) == (True, 0)


async def test_what_would_wait_here_is_spare() -> None:
    """R7.5: it must not spend what a limit lets through."""
    it = Claiming(endless, concurrency=10)
    it.claimer._rate, it.claimer._seconds = 1_000.0, 0.01  # as quick handlers would make them

    await it.until(lambda: bool(it.backend.wants))

    assert it.backend.wants == [10 + 25]
    assert it.backend.spares == [25]


class Pooled(Claiming):
    """A claimer of two kinds, one of which runs in processes that the test frees."""

    def __init__(self, places: int) -> None:
        super().__init__(endless)
        self.claimer._pooled = ("heavy",)
        self.places = places
        self.slots.__class__ = type("WithPlaces", (Slots,), {"places": property(self._places)})

    def _places(self, _: Slots) -> int:
        return self.places


async def test_no_more_is_claimed_for_processes_than_there_are() -> None:
    """Cases B139, B143: the others' kinds are claimed beside that, as far as there are slots."""
    it = Pooled(places=2)
    it.backend.ready.extend(claimed(n) for n in range(4))

    await it.until(lambda: len(it.backend.wants) >= 2)

    assert it.backend.wants[:2] == [2, 8]
    assert it.backend.avoids[:2] == [(), ("heavy",)]


async def test_without_a_free_process_only_other_kinds_are_claimed() -> None:
    it = Pooled(places=0)

    await it.until(lambda: bool(it.backend.wants))

    assert it.backend.avoided == ("heavy",)


async def test_a_process_that_becomes_free_is_news() -> None:
    """What was passed over for the lack of a process may be taken now."""
    it = Pooled(places=0)
    tasks = [asyncio.create_task(it.claimer.run()), asyncio.create_task(it.reporter.run())]
    for _ in range(10):
        await asyncio.sleep(0)
    looks = len(it.backend.wants)

    it.places = 1
    it.claimer.freed()
    for _ in range(10):
        await asyncio.sleep(0)

    assert looks == 1
    assert it.backend.wants[looks:] == [1]
    assert it.backend.avoided == ()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
