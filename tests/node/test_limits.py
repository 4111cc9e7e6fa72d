"""Time limits: what is over them is ended, or given up, whatever its handler does (R4.3)."""

import asyncio
import logging
import threading
from datetime import timedelta

import pytest

from rota import Context, LeaseLost, SoftTimeout
from rota.clock import instant
from rota.model import AttemptError
from rota.node import stops
from rota.policy.lifecycle import Completed, Failed, TimedOut
from tests.node.fakes import claimed, endings
from tests.node.running import Running

MOMENT = 1_000
"""A thousandth of a second: what is never meant to be reached is much longer."""
LONG = 60_000_000


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers get next to no time to clean up."""
    monkeypatch.setattr(stops, "CLEAN_UP", 0.005)


async def test_the_handler_sees_both_deadlines() -> None:
    it = Running()
    seen: list[object] = []

    async def work(n: int, ctx: Context) -> None:
        seen.extend((ctx.deadline, ctx.soft_deadline))

    it.handles(work, soft_timeout=30_000_000)

    await it.run(claimed(timeout=LONG))

    now = instant(it.clock.now())
    assert seen == [now + timedelta(seconds=60), now + timedelta(seconds=30)]


async def test_a_handler_that_swallows_one_cancellation_is_cancelled_again() -> None:
    it = Running()
    swallowed = []

    async def work(n: int) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            swallowed.append(n)
        await asyncio.Event().wait()

    it.handles(work)

    (report,) = await it.run(claimed(timeout=MOMENT))

    assert swallowed == [1]
    assert isinstance(report.ending, TimedOut)
    assert it.slots.stuck == 0


async def test_a_handler_that_swallows_every_cancellation_is_taken_off_the_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """R4.3: its slot is free again, its task reported once, and it does not go on either."""
    it = Running(concurrency=1)
    turns = 0

    async def work(n: int) -> None:
        nonlocal turns
        while n == 1:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                turns += 1

    it.handles(work)

    reports = await it.run(claimed(1, timeout=MOMENT), claimed(2))
    await it.until(lambda: it.slots.stuck == 0)

    assert endings(reports) == ["TimedOut", "Completed"]
    assert turns == 2
    assert "its slot is replaced" in caplog.text


async def test_a_coroutine_that_nothing_ends_keeps_no_slot() -> None:
    it = Running(concurrency=2)
    gate = asyncio.Event()

    async def work(n: int) -> int:
        while not gate.is_set():
            try:
                await gate.wait()
            except BaseException:  # noqa: S112 - what is to be tested
                continue
        return n

    it.handles(work)

    await it.run(claimed(1, timeout=MOMENT))
    stuck = it.slots.stuck
    gate.set()
    await it.until(lambda: it.slots.stuck == 0)

    assert stuck == 1
    assert endings(it.reports) == ["TimedOut"]


async def test_a_result_that_comes_in_time_to_clean_up_counts() -> None:
    it = Running()

    async def work(n: int) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done all the same"
        return "never"

    it.handles(work)

    (report,) = await it.run(claimed(timeout=MOMENT))

    assert report.ending == Completed('"done all the same"')


class Threads:
    """Handlers in threads that go on until they are let go."""

    def __init__(self, it: Running) -> None:
        self.gate = threading.Event()
        self.told: list[BaseException] = []
        it.handles(self.work)

    def work(self, n: int, ctx: Context) -> int:
        """Wait for the test, and look whether the task is still its own."""
        self.gate.wait(60)
        try:
            ctx.check()
        except LeaseLost as error:
            self.told.append(error)
        return n


async def test_a_thread_that_is_over_its_limit_leaves_its_slot(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """R4.3: the task is timed out, the slot goes to another, the later result is dropped."""
    it = Running(concurrency=1)
    threads = Threads(it)
    it.handles(lambda n: n, "quick")

    (report,) = await it.run(claimed(timeout=MOMENT))
    free = it.slots.free
    other = await it.run(claimed(2, "quick"))
    threads.gate.set()
    await it.until(lambda: it.slots.stuck == 0)

    assert isinstance(report.ending, TimedOut)
    assert free == 1
    assert endings(other) == ["TimedOut", "Completed"]
    assert len(it.reports) == 2
    assert "longer than its timeout" in str(threads.told[0])
    assert "cannot be ended" in caplog.text
    it.slots.close()


async def test_stuck_threads_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """R4.3: twice as many as there are slots; then the worker takes no more, and says so."""
    caplog.set_level(logging.INFO)
    it = Running(concurrency=2)
    threads = Threads(it)
    rooms = []

    for n in range(4):
        await it.run(claimed(n, timeout=MOMENT))
        rooms.append(it.slots.free)
    full = it.slots.full
    it.slots.offer([claimed(4)])
    waiting = it.slots.buffered
    threads.gate.set()
    await it.until(lambda: len(it.reports) == 5 and it.slots.stuck == 0)

    assert rooms == [2, 2, 1, 0]
    assert full
    assert waiting == 1
    assert endings(it.reports) == ["TimedOut"] * 4 + ["Completed"]
    assert "takes no more tasks" in caplog.text
    assert "takes tasks again" in caplog.text
    it.slots.close()


async def test_the_soft_limit_is_raised_where_an_async_handler_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    it = Running()
    cleaned_up = []

    async def work(n: int) -> str:
        try:
            await asyncio.Event().wait()
        except SoftTimeout:
            await asyncio.sleep(0)
            cleaned_up.append(n)
            return "half of it"
        return "never"

    it.handles(work, soft_timeout=MOMENT)

    (report,) = await it.run(claimed(timeout=LONG))

    assert report.ending == Completed('"half of it"')
    assert cleaned_up == [1]
    assert "its soft time limit is over" in caplog.text


async def test_a_soft_limit_that_is_not_handled_fails_the_attempt() -> None:
    it = Running()

    async def work(n: int) -> None:
        await asyncio.Event().wait()

    it.handles(work, soft_timeout=MOMENT)

    (report,) = await it.run(claimed())

    error = error_of(report.ending)
    assert (error.type, error.message) == ("SoftTimeout", "the soft time limit is over")
    assert isinstance(report.ending, Failed)
    assert not report.ending.permanent


async def test_the_soft_limit_ends_a_task_group_and_what_runs_in_it() -> None:
    """Whatever lies between the limit and the handler sees a cancellation."""
    it = Running()
    ended = []

    async def part() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("part")

    async def work(n: int) -> str:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(part())
        except SoftTimeout:
            ended.append("handler")
        return "told"

    it.handles(work, soft_timeout=MOMENT)

    (report,) = await it.run(claimed())

    assert report.ending == Completed('"told"')
    assert ended == ["part", "handler"]


async def test_a_time_limit_of_the_handlers_own_is_not_confused() -> None:
    it = Running()

    async def work(n: int) -> list[str]:
        seen = []
        try:
            async with asyncio.timeout(60):
                await asyncio.Event().wait()
        except SoftTimeout:
            seen.append("soft")
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append("own")
        return seen

    it.handles(work, soft_timeout=MOMENT)

    (report,) = await it.run(claimed())

    assert report.ending == Completed('["soft","own"]')


async def test_the_soft_limit_reaches_a_handler_whose_wait_swallowed_it() -> None:
    it = Running()

    async def deaf() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "swallowed"
        return "never"

    async def work(n: int) -> str:
        try:
            return await asyncio.create_task(deaf())
        except SoftTimeout:
            return "told"

    it.handles(work, soft_timeout=MOMENT)

    (report,) = await it.run(claimed())

    assert report.ending == Completed('"told"')


async def test_the_hard_limit_follows_the_soft_one() -> None:
    it = Running()

    async def work(n: int) -> None:
        try:
            await asyncio.Event().wait()
        except SoftTimeout:
            await asyncio.Event().wait()

    it.handles(work, soft_timeout=MOMENT)

    (report,) = await it.run(claimed(timeout=3 * MOMENT))

    assert isinstance(report.ending, TimedOut)


async def test_a_plain_function_is_told_of_the_soft_limit_once_where_it_checks() -> None:
    it = Running()

    def work(n: int, ctx: Context) -> str:
        told = until_told(ctx)
        ctx.check()
        return told

    it.handles(work, soft_timeout=MOMENT)

    (report,) = await it.run(claimed(timeout=LONG))

    assert report.ending == Completed('"SoftTimeout"')
    it.slots.close()


def until_told(ctx: Context) -> str:
    """Check until something is raised; return its name."""
    pause = threading.Event()
    while True:
        try:
            ctx.check()
        except BaseException as error:
            return type(error).__name__
        pause.wait(0.001)


def error_of(ending: object) -> AttemptError:
    """The error that an ending carries."""
    assert isinstance(ending, Failed | TimedOut)
    return ending.error


def test_a_handler_that_raises_stop_iteration_fails() -> None:
    """No future can carry it: whoever waited for the thread would wait for ever."""

    async def main() -> None:
        it = Running()

        def work(n: int) -> int:
            return next(iter(()))

        it.handles(work)
        (report,) = await it.run(claimed())
        assert error_of(report.ending).type == "RuntimeError"
        it.slots.close()

    asyncio.run(asyncio.wait_for(main(), 10))
