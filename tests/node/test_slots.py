"""Handlers run, end, and are ended; every ending is reported once (R3.4, R3.6, R4.2, R4.3)."""

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from rota import Cancel, Context, Fail, Retry, Snooze
from rota.config import SECOND
from rota.policy.lifecycle import (
    Cancelled,
    Completed,
    Expired,
    Failed,
    Released,
    Snoozed,
    TimedOut,
)
from tests.node.fakes import claimed, endings
from tests.node.running import Running, raising


class TwoArguments(Exception):
    """Cannot be rebuilt from its text."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one)
        self.two = two


class NoText(Exception):
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


async def test_async_and_plain_handlers_return_their_results() -> None:
    """R8.2."""
    it = Running()
    loop_thread = threading.get_ident()

    async def on_the_loop(n: int, ctx: Context) -> list[Any]:
        return [n, ctx.attempt, threading.get_ident() == loop_thread]

    def in_a_thread(n: int) -> list[Any]:
        return [n, threading.get_ident() == loop_thread]

    it.handles(on_the_loop, "on_the_loop")
    it.handles(in_a_thread, "in_a_thread")

    reports = await it.run(claimed(1, "on_the_loop"), claimed(2, "in_a_thread"))

    results = {report.task.id: report.ending for report in reports}
    assert results == {"task-1": Completed("[1,1,true]"), "task-2": Completed("[2,false]")}
    it.slots.close()


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (ValueError("no"), Failed),
        (Retry("later", after=7), Failed),
        (Snooze(30), Snoozed),
        (Fail("never"), Failed),
        (Cancel("not wanted"), Cancelled),
        (SystemExit(3), Failed),
        (KeyboardInterrupt(), Failed),
        (asyncio.CancelledError(), Failed),
        (TwoArguments("a", "b"), Failed),
        (NoText(), Failed),
        (ValueError("a\0b\ud800"), Failed),
    ],
)
async def test_whatever_a_handler_raises_ends_its_run_and_nothing_else(
    error: BaseException, ending: type
) -> None:
    """R4.2, cases B136 and B157."""
    it = Running()
    it.handles(raising(error))

    (report,) = await it.run(claimed())

    assert isinstance(report.ending, ending)
    if isinstance(report.ending, Failed):
        told = report.ending.error
        assert told.type == type(error).__name__
        assert (told.message + told.traceback).encode()
        assert "\0" not in told.message + told.traceback


async def test_the_handlers_wishes_are_obeyed() -> None:
    """R4.2."""
    it = Running()
    it.handles(raising(Retry(after=7)), "retry")
    it.handles(raising(Fail("never")), "fail")
    it.handles(raising(Snooze(30)), "snooze")

    retry, fail, snooze = await it.run(
        claimed(1, "retry"), claimed(2, "fail"), claimed(3, "snooze")
    )

    assert isinstance(retry.ending, Failed)
    assert isinstance(fail.ending, Failed)
    assert (retry.ending.after, retry.ending.permanent) == (7 * SECOND, False)
    assert fail.ending.permanent
    assert snooze.ending == Snoozed(it.clock.now() + 30 * SECOND)


async def test_a_retry_may_name_the_least_wait() -> None:
    """R4.2."""
    it = Running()
    it.handles(raising(Retry(least=7)))
    (report,) = await it.run(claimed(1))

    assert isinstance(report.ending, Failed)
    assert (report.ending.after, report.ending.least) == (None, 7 * SECOND)


async def test_a_traceback_begins_in_the_handlers_own_code() -> None:
    it = Running()

    async def work(n: int) -> None:
        raise ValueError("deep")

    it.handles(work)

    (report,) = await it.run(claimed())

    assert isinstance(report.ending, Failed)
    assert "in work" in report.ending.error.traceback
    assert "rota/node" not in report.ending.error.traceback


@pytest.mark.parametrize("result", [object(), float("nan"), "\ud800", "x" * 300_000, {(1, 2): 3}])
async def test_a_result_that_is_not_json_fails_for_good(result: Any) -> None:
    """Running it again would not help."""
    it = Running()

    async def work(n: int) -> Any:
        return result

    it.handles(work)

    (report,) = await it.run(claimed())

    assert isinstance(report.ending, Failed)
    assert report.ending.permanent
    assert "result" in report.ending.error.message


async def test_a_payload_that_does_not_fit_the_handler_fails_for_good() -> None:
    it = Running()
    it.handles(raising(ValueError("never reached")))

    (report,) = await it.run(claimed(payload='{"m":1}'))

    assert isinstance(report.ending, Failed)
    assert report.ending.permanent
    assert "payload" in report.ending.error.message


async def test_a_kind_that_is_not_known_is_left_to_others() -> None:
    """Case B124: it is no failure of the task."""
    it = Running()

    reports = await it.run(claimed(1, "strange"), claimed(2, "strange"))

    assert endings(reports) == ["Released", "Released"]
    assert list(it.slots.unknown) == ["strange"]


async def test_what_has_expired_is_not_started() -> None:
    it = Running()
    it.handles(raising(ValueError("started")))

    (report,) = await it.run(claimed(expires_at=it.clock.now()))

    assert report.ending == Expired()


async def test_an_async_handler_is_cancelled_at_its_timeout() -> None:
    """R4.3."""
    it = Running()
    cleaned_up = []

    async def work(n: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned_up.append(n)

    it.handles(work)

    (report,) = await it.run(claimed(timeout=1_000))

    assert isinstance(report.ending, TimedOut)
    assert "0.001 s" in report.ending.error.message
    assert cleaned_up == [1]


async def test_no_more_run_than_there_are_slots() -> None:
    """Case B139."""
    it = Running(concurrency=2)
    gate = asyncio.Event()
    most = 0

    async def work(n: int) -> None:
        nonlocal most
        most = max(most, it.slots.busy)
        await gate.wait()

    it.handles(work)
    it.slots.offer([claimed(n) for n in range(5)])
    await asyncio.sleep(0)
    busy, buffered, free = it.slots.busy, it.slots.buffered, it.slots.free
    gate.set()
    await it.run()

    assert (busy, buffered, free) == (2, 3, 0)
    assert most == 2
    assert len(it.reports) == 5


async def test_each_handler_has_context_variables_of_its_own() -> None:
    """What one task sets must not leak into the next, of another tenant perhaps."""
    it = Running(concurrency=1)
    tenant = contextvars.ContextVar("tenant", default="nobody")
    seen = []

    async def work(n: int) -> None:
        seen.append(tenant.get())
        tenant.set(f"tenant-{n}")

    it.handles(work)
    await it.run(*(claimed(n) for n in range(3)))

    assert seen == ["nobody", "nobody", "nobody"]


async def test_what_waits_is_handed_back_and_what_runs_is_cancelled_at_a_stop() -> None:
    """R3.6: no attempt is spent."""
    it = Running(concurrency=1)

    async def work(n: int) -> None:
        await asyncio.Event().wait()

    it.handles(work)
    it.slots.offer([claimed(1), claimed(2)])
    await asyncio.sleep(0)

    it.slots.release_buffered()
    it.slots.release_running()
    await it.run()

    assert [(r.task.id, r.ending) for r in it.reports] == [
        ("task-2", Released()),
        ("task-1", Released()),
    ]


async def test_nothing_is_reported_after_the_lease_was_lost() -> None:
    """R3.4."""
    it = Running(concurrency=1)
    cancelled = []

    async def work(n: int) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(n)
            raise

    it.handles(work)
    it.slots.offer([claimed(1), claimed(2)])
    await asyncio.sleep(0)

    count = it.slots.abandon()
    await it.run()

    assert count == 2
    assert cancelled == [1]
    assert it.reports == []


async def test_nothing_is_started_under_a_lease_that_is_not_trusted() -> None:
    """R3.4: a worker that was stopped and goes on."""
    it = Running()
    it.handles(raising(ValueError("started")))
    it.slots.trusted = lambda: False

    it.slots.offer([claimed()])
    await asyncio.sleep(0)

    assert it.slots.busy == 0
    assert it.reports == []


async def test_a_thread_keeps_its_slot_until_it_is_done() -> None:
    it = Running(concurrency=1)
    gate = threading.Event()

    def work(n: int) -> int:
        gate.wait(60)
        return n

    it.handles(work)
    it.slots.offer([claimed(1)])
    await asyncio.sleep(0)
    it.slots.abandon()
    await asyncio.sleep(0)
    busy = it.slots.busy
    gate.set()
    await it.run()

    assert busy == 1
    assert it.reports == []
    it.slots.close()
