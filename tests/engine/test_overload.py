"""Overload: the lowest classes are turned away first, by stated rules, and told when to come."""

import asyncio
from typing import Any

import pytest

from rota.clock import ManualClock
from rota.config import MINUTE, SECOND
from rota.engine import Engine
from rota.errors import Overloaded
from rota.model import NewTask, State, TaskFilter
from rota.outbox import Outbox
from rota.shares import QueueSettings, TenantSettings, WhenFull
from tests.engine.claiming import Hand, put
from tests.support.factories import Make

FULL = QueueSettings(name="sms", max_depth=10)
DEFER = QueueSettings(name="sms", max_depth=10, when_full=WhenFull.DEFER)
CLASSES = {"critical": 0, "high": 2, "normal": 5, "low": 9}


async def waits(engine: Engine, make: Make, clock: ManualClock, count: int) -> None:
    """Let so many critical tasks wait, and the count of them be made anew."""
    await engine.submit(make.tasks(count, queue="sms", tenant="board", priority=0))
    clock.advance(1.5)


def due(make: Make, clock: ManualClock, **fields: Any) -> NewTask:
    """A task that is due now."""
    now = clock.now()
    defaults: dict[str, Any] = {"queue": "sms", "tenant": "board", "run_at": now, "created_at": now}
    return make.task(**defaults | fields)


@pytest.mark.parametrize(
    ("waiting", "refused"),
    [
        (9, []),
        (10, ["low"]),
        (14, ["low"]),
        (15, ["normal", "low"]),
        (19, ["normal", "low"]),
        (20, ["high", "normal", "low"]),
        (45, ["high", "normal", "low"]),
    ],
)
@pytest.mark.parametrize(
    "full", [FULL, TenantSettings(name="board", max_depth=10)], ids=["queue", "tenant"]
)
async def test_the_lowest_classes_are_refused_first(
    engine: Engine,
    make: Make,
    clock: ManualClock,
    full: QueueSettings | TenantSettings,
    *,
    waiting: int,
    refused: list[str],
) -> None:
    """R1.7: low from `max_depth` on, normal from 1.5 times, high from twice, critical never."""
    await put(engine, full)
    await waits(engine, make, clock, waiting)
    turned_away = {}
    for name, priority in CLASSES.items():
        task = due(make, clock, priority=priority)
        try:
            await engine.submit([task])
        except Overloaded as error:
            turned_away[name] = error.retry_after
        else:
            clock.advance(1.5)
            assert await engine.get([task.id]) != [None]
            await engine.cancel([task.id])

    assert list(turned_away) == refused
    assert all(1 <= seconds <= 60 for seconds in turned_away.values())


async def test_nothing_of_a_refused_batch_is_stored(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R1.7, R1.2: all or none."""
    await put(engine, FULL)
    await waits(engine, make, clock, 10)
    batch = [due(make, clock, priority=0), due(make, clock, priority=9)]

    with pytest.raises(Overloaded, match="queue 'sms'"):
        await engine.submit(batch)

    assert await engine.get([task.id for task in batch]) == [None, None]


async def test_what_was_submitted_since_the_last_count_counts(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R1.7: within the second for which a count is kept."""
    await put(engine, FULL)
    await engine.submit([due(make, clock, priority=9)])
    await engine.submit([due(make, clock, priority=9) for _ in range(9)])

    with pytest.raises(Overloaded):
        await engine.submit([due(make, clock, priority=9)])


async def test_other_queues_and_later_work_are_not_held_up(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R1.7"""
    await put(engine, FULL)
    await waits(engine, make, clock, 30)

    await engine.submit([due(make, clock, priority=9, queue="mail")])
    await engine.submit([due(make, clock, priority=9, run_at=clock.now() + MINUTE)])


async def test_it_goes_on_when_enough_was_worked_off(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R1.7: and the pace of the last minute says when that will be."""
    await put(engine, QueueSettings(name="sms", max_depth=100))
    hand = await Hand(engine, make, clock).open()
    await waits(engine, make, clock, 160)
    await hand.claim(60, "sms")
    await hand.end()
    clock.advance(1.5)

    with pytest.raises(Overloaded) as refused:
        await engine.submit([due(make, clock, priority=9)])
    await hand.claim(1, "sms")
    clock.advance(1.5)
    accepted = await engine.submit([due(make, clock, priority=9)])

    assert refused.value.retry_after <= 5
    assert accepted[0].created


async def test_work_is_put_off_where_the_queue_says_so(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R1.7: it is accepted, and runs later; its place follows from its new time."""
    await put(engine, DEFER)
    await waits(engine, make, clock, 10)
    low, critical = due(make, clock, priority=9), due(make, clock, priority=0)

    await engine.submit([low, critical])
    later, now = await engine.get([low.id, critical.id])

    assert later is not None
    assert now is not None
    assert (later.state, now.state) == (State.SCHEDULED, State.READY)
    assert SECOND <= later.run_at - clock.now() <= MINUTE


async def test_what_would_expire_before_it_may_run_is_refused(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R1.7: to accept it would be to drop it unseen."""
    await put(engine, DEFER)
    await waits(engine, make, clock, 10)

    with pytest.raises(Overloaded):
        await engine.submit([due(make, clock, priority=9, expires_at=clock.now() + 1)])


async def test_only_who_has_a_bound_pays_for_it(
    engine: Engine, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R1.7"""
    await put(engine, FULL)

    async def never(*_: object) -> None:
        raise AssertionError("a depth was counted")

    monkeypatch.setattr(engine.store, "depths", never)
    await engine.submit([due(make, clock, queue="mail", priority=9)])


async def test_one_callers_low_task_does_not_refuse_the_critical_ones_of_others(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R1.7: single submits of many callers share a commit, and not a refusal."""
    await put(engine, FULL)
    await waits(engine, make, clock, 10)
    outbox = Outbox(engine.submit, asyncio.get_running_loop())
    tasks = [due(make, clock, priority=p) for p in (0, 9, 0)]

    answers = await asyncio.gather(*map(outbox.aput, tasks), return_exceptions=True)

    assert isinstance(answers[1], Overloaded)
    found = await engine.find(TaskFilter(queue="sms"), before_id=None, limit=50)
    assert {tasks[0].id, tasks[2].id} <= {task.id for task in found}
