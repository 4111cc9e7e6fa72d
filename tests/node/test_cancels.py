"""Running tasks that are asked to stop (R5.1, R5.2)."""

import asyncio
import threading

import pytest

from rota import CancelRequested, Context, LeaseLost
from rota.config import SECOND
from rota.model import CancelRequest
from rota.node import stops
from rota.policy.lifecycle import Cancelled, Completed, Failed
from tests.node.fakes import claimed, endings
from tests.node.running import Running

ASKED = CancelRequest("task-1", 1)
BY_REQUEST = Cancelled("cancelled by request")


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers get next to no time to clean up."""
    monkeypatch.setattr(stops, "CLEAN_UP", 0.005)


async def forever(n: int) -> None:
    """Wait for nothing."""
    await asyncio.Event().wait()


async def test_an_async_handler_is_cancelled() -> None:
    it = Running()
    it.handles(forever)
    await it.start(claimed())

    it.slots.cancel([ASKED])
    it.slots.cancel([ASKED])  # it is told at every beat

    assert [r.ending for r in await it.run()] == [BY_REQUEST]


async def test_a_request_for_another_hand_out_asks_nothing() -> None:
    """R3.2: the fence says which run is meant."""
    it = Running()
    it.handles(forever)
    await it.start(claimed(fence=2))

    it.slots.cancel([ASKED])

    assert it.slots.busy == 1
    it.slots.cancel([CancelRequest("task-1", 2)])
    assert [r.ending for r in await it.run()] == [BY_REQUEST]


async def test_what_only_waits_for_a_slot_is_cancelled_at_once() -> None:
    it = Running(concurrency=1)
    it.handles(forever)
    await it.start(claimed(9), claimed(1))

    it.slots.cancel([ASKED])

    assert [(r.task.id, r.ending) for r in it.reports] == [("task-1", BY_REQUEST)]
    assert it.slots.buffered == 0
    it.slots.release_running()
    await it.run()


async def test_a_handler_may_finish_although_it_is_asked_to_stop() -> None:
    it = Running()

    async def work(n: int) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done"
        return "never"

    it.handles(work)
    await it.start(claimed())
    it.slots.cancel([ASKED])

    assert [r.ending for r in await it.run()] == [Completed('"done"')]


async def test_a_handler_that_fails_when_it_is_asked_to_stop_has_failed() -> None:
    """The store sees to it that it is not tried again."""
    it = Running()

    async def work(n: int) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("while cleaning up") from None

    it.handles(work)
    await it.start(claimed())
    it.slots.cancel([ASKED])
    (report,) = await it.run()

    assert isinstance(report.ending, Failed)


async def test_a_kind_that_wants_to_look_for_itself_is_not_cancelled() -> None:
    """R5.2: the handler sees the request where it checks."""
    it = Running()
    steps: list[bool] = []
    gate = asyncio.Event()

    async def work(n: int, ctx: Context) -> None:
        steps.append(ctx.cancel_requested)
        ctx.check()
        await gate.wait()
        steps.append(ctx.cancel_requested)
        ctx.check()

    it.handles(work, cancellable=False)
    await it.start(claimed())
    it.slots.cancel([ASKED])
    gate.set()

    assert [r.ending for r in await it.run()] == [BY_REQUEST]
    assert steps == [False, True]


async def test_a_plain_function_sees_the_request_where_it_checks() -> None:
    it = Running()
    started, asked = asyncio.Event(), threading.Event()

    def work(n: int, ctx: Context) -> None:
        loop.call_soon_threadsafe(started.set)
        asked.wait(60)
        assert ctx.cancel_requested
        ctx.check()

    loop = asyncio.get_running_loop()
    it.handles(work)
    await it.start(claimed())
    await started.wait()
    it.slots.cancel([ASKED])
    asked.set()

    assert [r.ending for r in await it.run()] == [BY_REQUEST]
    it.slots.close()


async def test_a_request_to_stop_that_a_handler_passes_on_itself_cancels_the_task() -> None:
    it = Running()

    async def work(n: int) -> None:
        raise CancelRequested

    it.handles(work)

    assert [r.ending for r in await it.run(claimed())] == [BY_REQUEST]


async def test_at_the_deadline_a_deaf_async_handler_is_taken_off_the_loop() -> None:
    """R5.2: the slot is free, the task is reported, the handler goes nowhere."""
    it = Running(concurrency=1)

    async def work(n: int) -> None:
        while n == 1:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    it.handles(work)
    await it.start(claimed(1), claimed(2))
    it.slots.cancel([CancelRequest("task-1", 1, it.clock.now() + SECOND // 100)])
    await it.until(lambda: len(it.reports) == 2 and it.slots.stuck == 0)

    assert [r.ending for r in it.reports] == [BY_REQUEST, Completed()]


async def test_at_the_deadline_a_deaf_thread_is_given_up() -> None:
    it = Running(concurrency=1)
    gate = threading.Event()
    told: list[str] = []

    def work(n: int, ctx: Context) -> None:
        gate.wait(60)
        try:
            ctx.check()
        except LeaseLost as error:
            told.append(str(error))

    it.handles(work)
    await it.start(claimed())
    it.slots.cancel([CancelRequest("task-1", 1, it.clock.now() + SECOND // 100)])
    await it.until(lambda: bool(it.reports))
    busy, stuck = it.slots.busy, it.slots.stuck
    gate.set()
    await it.until(lambda: it.slots.stuck == 0)

    assert (busy, stuck) == (0, 1)
    assert [r.ending for r in it.reports] == [BY_REQUEST]
    assert "deadline" in told[0]
    it.slots.close()


async def test_the_earliest_deadline_counts() -> None:
    it = Running()
    it.handles(forever, cancellable=False)
    await it.start(claimed())
    now = it.clock.now()

    for deadline in (now + 3_600 * SECOND, now + SECOND // 100, now + 7_200 * SECOND):
        it.slots.cancel([CancelRequest("task-1", 1, deadline)])
    await it.until(lambda: bool(it.reports))

    assert [r.ending for r in it.reports] == [BY_REQUEST]


async def test_a_hundred_handlers_that_do_not_listen_are_ended_by_the_deadline() -> None:
    """Issue 3: 100 tasks that ignore cancellation; each is reported once."""
    it = Running(concurrency=100)

    async def deaf(n: int) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    it.handles(deaf)
    await it.start(*(claimed(n) for n in range(100)))
    deadline = it.clock.now() + SECOND // 50
    it.slots.cancel([CancelRequest(f"task-{n}", 1, deadline) for n in range(100)])
    await it.until(lambda: len(it.reports) == 100 and it.slots.stuck == 0)

    assert set(endings(it.reports)) == {"Cancelled"}
    assert len({r.task.id for r in it.reports}) == 100
    assert it.slots.free == 100


async def test_what_was_asked_to_stop_is_not_handed_back_at_a_stop() -> None:
    """R3.6, R5.2: it would not be wanted there either."""
    it = Running()
    it.handles(forever, cancellable=False)
    await it.start(claimed())
    it.slots.cancel([ASKED])

    it.slots.release_running()

    assert [r.ending for r in await it.run()] == [BY_REQUEST]
