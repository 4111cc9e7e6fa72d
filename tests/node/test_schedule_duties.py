"""When a node fires, admits and replans: at the instant, and seldom while nothing is on (R2.4)."""

import asyncio
from collections import deque
from typing import Any

import pytest

from rota.clock import ManualClock, new_rng
from rota.config import DAY, SECOND
from rota.node import duties as module
from rota.node.duties import (
    ADMIT_POLL,
    ADMIT_QUIET,
    FIRE_POLL,
    LOOKS_APART,
    REPLAN_EVERY,
    Duties,
)
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from rota.registry import Kind, Registry
from rota.schedule import Admitted, Fired
from tests.node.fakes import FakeBackend


class Recurring:
    """A backend that fires, admits and replans as told, and nothing by default."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.fired: deque[Fired] = deque()
        self.admitted: deque[Admitted] = deque()
        self.replanned: deque[int] = deque()
        self.looks = 0

    async def fire(self) -> Fired:
        """Answer as told."""
        self.looks += 1
        return self.fired.popleft() if self.fired else Fired(0, 0)

    async def admit(self) -> Admitted:
        """Answer as told."""
        self.looks += 1
        return self.admitted.popleft() if self.admitted else Admitted(0)

    async def replan(self) -> int:
        """Answer as told."""
        return self.replanned.popleft() if self.replanned else 0


@pytest.fixture
def backend() -> Recurring:
    """A backend on which nothing is on."""
    return Recurring()


@pytest.fixture
def kicks() -> list[int]:
    """One entry for each time that the claimer was woken."""
    return []


@pytest.fixture
def duties(backend: Recurring, kicks: list[int]) -> Duties:
    """The duties of a node."""
    it: Any = backend
    return Duties(it, 30 * SECOND, new_rng(1), staged=lambda: kicks.append(1))


def about(seconds: float, wait: float) -> bool:
    """Whether a wait is so long, but for the chance that keeps nodes out of step."""
    return 0.75 * seconds <= wait <= 1.25 * seconds


async def test_it_sleeps_until_the_next_firing_and_never_long(
    backend: Recurring, duties: Duties
) -> None:
    """R2.2, case B040: a wait is never negative and is capped, however far the slot is."""
    now = backend.clock.now()
    aheads = [SECOND // 4, 0, -3600 * SECOND, 26 * DAY, None]
    backend.fired.extend(Fired(0, 0, None if ahead is None else now + ahead) for ahead in aheads)

    waits = []
    for _ in aheads:
        waits.append(await duties.fire())
        backend.clock.advance(LOOKS_APART)

    assert waits[:3] == [0.25, 0.0, 0.0]
    assert all(about(FIRE_POLL, wait) for wait in waits[3:])


@pytest.mark.parametrize("back", [-3600, 3600])
async def test_a_step_of_the_wall_clock_makes_no_wait_longer(
    backend: Recurring, duties: Duties, back: float
) -> None:
    """Cases B164, B166: the wait is cut to the poll, and measured on the monotonic clock."""
    backend.fired.append(Fired(0, 0, backend.clock.now() + 10 * SECOND))
    backend.clock.step_wall(back)

    wait = await duties.fire()

    assert 0 <= wait <= 1.25 * FIRE_POLL


async def test_what_was_made_is_claimed_without_waiting_for_a_hint(
    backend: Recurring, duties: Duties, kicks: list[int]
) -> None:
    backend.fired.append(Fired(1, 0))
    backend.admitted.append(Admitted(1))

    await duties.fire()
    await duties.admit()
    await duties.admit()

    assert kicks == [1, 1]


@pytest.mark.parametrize("name", ["fire", "admit"])
async def test_hints_that_come_fast_are_looked_after_together(
    backend: Recurring, duties: Duties, name: str
) -> None:
    """R2.4: a busy file hints at every change; most have nothing to do with schedules."""
    step = getattr(duties, name)

    waits = [await step()]
    for _ in range(10):
        backend.clock.advance(LOOKS_APART / 10.5)
        waits.append(await step())

    assert backend.looks == 1
    assert all(0 < wait <= LOOKS_APART for wait in waits[1:])
    backend.clock.advance(LOOKS_APART)
    await step()
    assert backend.looks == 2


async def test_a_firing_that_is_due_sooner_is_not_held_up_by_that(
    backend: Recurring, duties: Duties
) -> None:
    now = backend.clock.now()
    backend.fired.append(Fired(0, 0, now + SECOND // 100))

    wait = await duties.fire()
    backend.clock.advance(wait)
    await duties.fire()

    assert (wait, backend.looks) == (0.01, 2)


async def test_gates_are_looked_at_less_and_less_while_nothing_waits(
    backend: Recurring, duties: Duties
) -> None:
    waits = []
    for _ in range(6):
        waits.append(await duties.admit())
        backend.clock.advance(waits[-1])
    backend.admitted.append(Admitted(0, waiting=True))
    busy = await duties.admit()

    assert waits[0] < waits[1] < waits[-1]
    assert about(ADMIT_QUIET, waits[-1])
    assert about(ADMIT_POLL, busy)


@pytest.mark.parametrize("admitted", [Admitted(5, waiting=True), Admitted(0, True, more=True)])
async def test_the_next_gates_are_looked_at_soon_while_there_are_more(
    backend: Recurring, duties: Duties, admitted: Admitted
) -> None:
    backend.admitted.append(admitted)

    assert await duties.admit() == LOOKS_APART


async def test_replanning_goes_on_while_there_is_some_and_then_rests(
    backend: Recurring, duties: Duties
) -> None:
    """R6.2: once at the start, and now and then for a node that was left behind."""
    backend.replanned.extend([100, 3, 0])

    waits = [await duties.replan() for _ in range(3)]

    assert waits[:2] == [0.1, 0.1]
    assert about(REPLAN_EVERY, waits[2])


async def test_an_idle_node_asks_less_than_seven_times_in_ten_seconds(
    backend: Recurring, duties: Duties
) -> None:
    """R2.4: fire and admit together, over half an hour; each look is one statement."""
    for step in (duties.fire, duties.admit):
        elapsed = 0.0
        while elapsed < 1800:
            wait = await step()
            backend.clock.advance(wait)
            elapsed += wait

    assert backend.looks / 1800 < 0.7


class Told(FakeBackend):
    """A backend of a worker that hears hints and does no duty but those asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: list[str] = []

    def __getattr__(self, name: str) -> Any:
        async def nothing(*_: object) -> Any:
            self.looks.append(name)
            return {"fire": Fired(0, 0), "admit": Admitted(0), "replan": 0}.get(name)

        return nothing


@pytest.mark.parametrize(
    ("off", "expected"),
    [({}, {"admit", "fire", "replan"}), ({"schedule": False}, {"admit"})],
)
async def test_a_sign_of_news_wakes_what_a_changed_schedule_concerns(
    off: dict[str, bool], expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schedule was made, or a gate may have room; each duty can be left to others."""
    monkeypatch.setattr(module, "LOOKS_APART", 0.0)
    registry = Registry()
    registry.add(Kind("work", lambda: None))
    told: Any = Told()
    settings = WorkerSettings(reap=False, prune=False, **off)  # type: ignore[arg-type]
    worker = Worker(registry, told, settings, rng=new_rng(1))
    chosen = [duty for duty in worker._duties() if duty is not worker._stager]
    running = [asyncio.create_task(duty.run()) for duty in chosen]
    await _turns()
    first, told.looks = set(told.looks), []
    worker._wake(None)
    await _turns()
    for task in running:
        task.cancel()

    assert first == expected
    assert set(told.looks) == expected - {"replan"}


async def _turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)
