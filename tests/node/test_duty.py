"""Duties run when they want to, survive errors, and wake at a sign (R3.7, R8.3)."""

import asyncio
import logging
from collections import deque

import pytest

from rota.clock import ManualClock, new_rng
from rota.config import SECOND
from rota.errors import StoreError, StoreUnavailable
from rota.model import Staged
from rota.node.duties import ALERT_EVERY, LOCKED_POLL, STAGE_POLL, Duties
from rota.node.duty import Duty


class Staging:
    """A backend that only stages."""

    def __init__(self, *answers: Staged) -> None:
        self.clock = ManualClock()
        self.answers = deque(answers)

    async def stage(self) -> Staged:
        """Answer as told."""
        return self.answers.popleft()


def duties(backend: Staging, kicks: list[int]) -> Duties:
    """Duties with a lease of 30 s."""
    return Duties(
        backend,  # type: ignore[arg-type]
        30 * SECOND,
        new_rng(1),
        staged=lambda: kicks.append(1),
    )


async def test_the_stager_sleeps_until_the_next_task_is_due() -> None:
    """R2.2, case B040: never longer than its poll, never a negative time."""
    backend = Staging()
    now = backend.clock.now()
    backend.answers.extend(
        Staged(1, at) for at in (now + SECOND // 4, now - SECOND, now + 3600 * SECOND, None)
    )
    it = duties(backend, [])

    waits = [await it.stage() for _ in range(4)]

    assert waits[:2] == [0.25, 0.0]
    assert all(0.7 * STAGE_POLL < wait < 1.3 * STAGE_POLL for wait in waits[2:])


async def test_a_node_watches_for_alerts_now_and_then_and_not_while_it_starts() -> None:
    """R9.4, R2.4"""

    class Watching(Staging):
        looked = 0

        async def alert(self) -> int:
            self.looked += 1
            return 0

    backend = Watching()
    it = duties(backend, [])
    waits = [await it.alert() for _ in range(3)]

    assert backend.looked == 2
    assert all(0.7 * ALERT_EVERY < wait < 1.3 * ALERT_EVERY for wait in waits)


async def test_what_is_due_and_locked_is_looked_at_again_without_haste() -> None:
    """A caller's transaction may hold it for hours; the store shall not be asked all the time."""
    backend = Staging()
    backend.answers.append(Staged(0, backend.clock.now() - SECOND))

    assert 0.7 * LOCKED_POLL < await duties(backend, []).stage() < 1.3 * LOCKED_POLL


async def test_a_look_a_moment_too_early_is_followed_by_another_one_at_once() -> None:
    """R2.2: timers ring up to a millisecond early, and the task comes due while the look runs."""

    class Early(Staging):
        async def stage(self) -> Staged:
            answer = await super().stage()
            self.clock.advance(0.002)
            return answer

    backend = Early()
    backend.answers.append(Staged(0, backend.clock.now() + SECOND // 1000))

    assert await duties(backend, []).stage() == 0.0


async def test_staged_tasks_are_claimed_without_waiting_for_a_hint() -> None:
    """R2.2."""
    kicks: list[int] = []
    backend = Staging(Staged(3), Staged(0))
    it = duties(backend, kicks)

    await it.stage()
    await it.stage()

    assert kicks == [1]


async def test_a_duty_goes_on_after_errors(caplog: pytest.LogCaptureFixture) -> None:
    """R3.7."""
    caplog.set_level(logging.CRITICAL)
    steps = deque([StoreUnavailable("away"), StoreError("a fault"), None])
    done = asyncio.Event()

    async def step() -> float:
        error = steps.popleft() if steps else None
        if error:
            raise error
        done.set()
        return 60.0

    duty = Duty("test", step, ManualClock(), new_rng(1))
    task = asyncio.create_task(duty.run())
    while not done.is_set():
        duty.wake()
        await asyncio.sleep(0)
    task.cancel()

    assert not steps


async def test_a_sign_ends_the_wait() -> None:
    count = 0

    async def step() -> float:
        nonlocal count
        count += 1
        return 60.0

    duty = Duty("test", step, ManualClock(), new_rng(1))
    task = asyncio.create_task(duty.run())
    for _ in range(5):
        await asyncio.sleep(0)
    before = count
    duty.wake()
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()

    assert (before, count) == (1, 2)
