"""Hooks are called around runs; what one does wrong changes nothing (R4.2, R4.4)."""

import asyncio
import logging
from typing import Any

import pytest

from rota import Backoff, Cancel, Context, Fail, Snooze
from rota.backend import Report
from rota.model import AttemptError
from rota.node import hooking
from rota.node.endings import last_error
from rota.policy.lifecycle import Completed, Failed, TimedOut
from tests.node.fakes import claimed, endings
from tests.node.running import Running, raising


class Seen:
    """Hooks that write down what they are told."""

    def __init__(self, it: Running) -> None:
        self.calls: list[tuple[Any, ...]] = []
        it.hooks.add("before", self.before)
        it.hooks.add("after", self.after)
        it.hooks.add("on_failure", self.on_failure)

    async def before(self, ctx: Context) -> None:
        """Before a run."""
        self.calls.append(("before", ctx.task_id))

    def after(self, ctx: Context, result: Any) -> None:
        """After a run; a plain function."""
        self.calls.append(("after", ctx.task_id, result))

    async def on_failure(self, ctx: Context, error: BaseException) -> None:
        """After a failed one."""
        self.calls.append(("failure", ctx.task_id, type(error).__name__))


@pytest.mark.parametrize("plain", [True, False])
async def test_hooks_are_called_around_a_run(plain: bool) -> None:
    it = Running()
    seen = Seen(it)

    def in_a_thread(n: int) -> int:
        seen.calls.append(("handler", n))
        return n

    async def on_the_loop(n: int) -> int:
        return in_a_thread(n)

    it.handles(in_a_thread if plain else on_the_loop)

    (report,) = await it.run(claimed())

    assert report.ending == Completed("1")
    assert seen.calls == [("before", "task-1"), ("handler", 1), ("after", "task-1", 1)]
    it.slots.close()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError(), ["failure"]),
        (Fail(), ["failure"]),
        (Snooze(1), []),
        (Cancel(), []),
    ],
)
async def test_failures_are_told_and_nothing_else(error: Exception, told: list[str]) -> None:
    it = Running()
    seen = Seen(it)
    it.handles(raising(error))

    await it.run(claimed())

    assert [call[0] for call in seen.calls] == ["before", *told]


async def test_a_payload_that_does_not_fit_is_a_failure_too() -> None:
    it = Running()
    seen = Seen(it)
    it.handles(raising(ValueError()))

    await it.run(claimed(payload="{}"))

    assert seen.calls == [("failure", "task-1", "InvalidTask")]


async def test_a_run_that_was_timed_out_is_a_failure() -> None:
    it = Running()
    seen = Seen(it)

    async def work(n: int) -> None:
        await asyncio.Event().wait()

    it.handles(work)
    await it.run(claimed(timeout=1_000))

    assert seen.calls[-1] == ("failure", "task-1", "HandlerTimedOut")


async def test_a_hook_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    it = Running()

    async def broken(*told: Any) -> None:
        raise RuntimeError("the hook is wrong")

    def leaving(*told: Any) -> None:
        raise SystemExit(1)

    for hook in (broken, leaving):
        it.hooks.add("before", hook)
        it.hooks.add("after", hook)
        it.hooks.add("on_failure", hook)
    it.handles(raising(ValueError()), "failing")

    async def work(n: int) -> str:
        return "fine"

    it.handles(work)

    reports = await it.run(claimed(1), claimed(2, "failing"))

    assert sorted(endings(reports)) == ["Completed", "Failed"]
    assert "broken failed" in caplog.text
    assert "leaving failed" in caplog.text
    it.slots.close()


async def test_a_hook_that_hangs_is_left(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooking, "HOOK_SECONDS", 0.001)
    it = Running()

    async def hangs(*told: Any) -> None:
        await asyncio.Event().wait()

    it.hooks.add("before", hangs)

    async def work(n: int) -> str:
        return "fine"

    it.handles(work)

    (report,) = await it.run(claimed())

    assert report.ending == Completed('"fine"')
    assert "took longer" in caplog.text


async def test_a_run_that_is_ended_in_a_hook_ends() -> None:
    it = Running()
    caplog_level = logging.getLogger("rota.worker").level

    async def waits(ctx: Context) -> None:
        await asyncio.Event().wait()

    it.hooks.add("before", waits)
    it.handles(raising(ValueError("never reached")))
    (report,) = await it.run(claimed(timeout=1_000))

    assert isinstance(report.ending, TimedOut)
    assert logging.getLogger("rota.worker").level == caplog_level


ERROR = AttemptError(at=0, attempt=1, type="ValueError", message="no")


@pytest.mark.parametrize(
    ("ending", "fields", "dead"),
    [
        (Failed(ERROR), {"attempt": 5}, True),
        (Failed(ERROR), {"attempt": 4}, False),
        (Failed(ERROR, permanent=True), {"attempt": 1}, True),
        (TimedOut(ERROR), {"attempt": 5}, True),
        (Failed(ERROR), {"attempt": 1, "retry": Backoff(max_attempts=1).to_json()}, True),
        (Failed(ERROR), {"attempt": 5, "retry": "of a newer version"}, True),
        (Completed(), {"attempt": 5}, False),
    ],
)
def test_a_dead_letter_is_known_by_its_report(
    ending: Any, fields: dict[str, Any], dead: bool
) -> None:
    """R4.4: the same policy decides here and in the engine."""
    report = Report(claimed(**fields), ending, Backoff())

    assert last_error(report) == (ERROR if dead else None)
