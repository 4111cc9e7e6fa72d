"""What a process counts by class of priority and by source, for its metrics (R9.3, R7.1)."""

from rota.clock import ManualClock
from rota.config import LEASE
from rota.engine import Engine
from rota.engine.classes import OTHER, QUEUES_MOST, Classes
from rota.model import PriorityClass
from rota.policy.histogram import BOUNDS
from tests.support.factories import Make

MINUTE = BOUNDS.index(60.0)


async def test_each_class_has_its_waits_in_a_batch_of_several(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.1: 0, 1-3, 4-6, 7-10."""
    session = make.session(queues=("sms",), lease_until=clock.now() + LEASE)
    await engine.open_session(session)
    tasks = [make.task(queue="sms", priority=n, created_at=clock.now()) for n in range(11)]
    await engine.submit(tasks)
    clock.advance(1)
    for _ in range(4):
        await engine.claim(session.id, ("sms",), 11, ())

    counted = engine.measuring.classes
    expected = dict(zip(PriorityClass, (1, 3, 3, 4), strict=True))
    assert counted.submitted == {("sms", cls): number for cls, number in expected.items()}
    waits = {cls: sum(times.counts) for (_, cls), times in counted.waits.items()}
    assert waits == expected
    assert all(times.micros > 0 for times in counted.waits.values())
    assert sum(counted.claims.counts) == 4


def test_a_batch_is_counted_alike_whatever_its_size() -> None:
    """More than a few values are put in order first: none goes to another class by that."""
    counted = Classes()
    waits = [60_000_000 if n % 2 else 1_000 for n in range(40)]
    counted.waited("sms", [9 if n % 2 else 0 for n in range(40)], waits)
    assert counted.waits["sms", PriorityClass.CRITICAL].counts[0] == 20
    assert counted.waits["sms", PriorityClass.LOW].counts[MINUTE] == 20


def test_made_up_queues_do_not_grow_it_without_end(make: Make) -> None:
    """S6."""
    counted = Classes()
    for n in range(QUEUES_MOST + 50):
        counted.made([make.task(queue=f"q{n}")])
    assert len(counted.submitted) == QUEUES_MOST + 1
    assert counted.submitted[OTHER, PriorityClass.NORMAL] == 50


async def test_lateness_is_told_by_why_a_task_was_due_later(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R2.2: a delay, a schedule's slot, and another try are three promises."""
    session = make.session(queues=("sms",), lease_until=clock.now() + LEASE)
    await engine.open_session(session)
    now = clock.now()
    later = now + 1_000_000
    await engine.submit(
        [
            make.task(queue="sms", run_at=now, created_at=now),
            make.task(queue="sms", run_at=later, created_at=now),
            make.task(queue="sms", run_at=later, created_at=now, schedule=make.id(), slot=later),
        ]
    )
    clock.advance(1.5)
    await engine.stage()
    await engine.claim(session.id, ("sms",), 10, ())
    late = engine.measuring.classes.late
    assert {source: sum(times.counts) for source, times in late.items()} == {
        "delay": 1, "schedule": 1, "retry": 0,
    }  # fmt: skip
    assert late["delay"].micros == 500_000
