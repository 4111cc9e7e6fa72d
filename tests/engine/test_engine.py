"""Policy and store together: fair claims, retries, lost workers, on both stores."""

from collections import Counter
from collections.abc import Sequence

import pytest

from rota.backend import Report
from rota.clock import ManualClock
from rota.config import LEASE, LOST_LEASES, SECOND
from rota.engine import Engine
from rota.model import AttemptError, Claimed, Session, State, Task
from rota.policy.lifecycle import Completed, Ending, Failed, Released, Snoozed
from rota.policy.retry import Backoff
from tests.support.factories import Make

STEADY = Backoff(base=10, jitter=0, max_attempts=3)


async def opened(engine: Engine, make: Make, clock: ManualClock) -> Session:
    """A session that is alive now."""
    session = make.session(started_at=clock.now(), lease_until=clock.now() + LEASE)
    await engine.open_session(session)
    return session


async def claim(engine: Engine, session: Session, slots: int = 10) -> list[Claimed]:
    """Claim from the default queue."""
    return (await engine.claim(session.id, ("default",), slots, ())).tasks


async def end(engine: Engine, session: Session, tasks: Sequence[Claimed], ending: Ending) -> None:
    """Report the same ending for all."""
    reports = [Report(task, ending, STEADY) for task in tasks]
    assert all(await engine.finish(session.id, reports))


async def read(engine: Engine, task_id: str) -> Task:
    """Return a task that is there."""
    (task,) = await engine.get([task_id])
    assert task is not None
    return task


def failure(clock: ManualClock, attempt: int) -> Failed:
    """A handler raised."""
    return Failed(AttemptError(at=clock.now(), attempt=attempt, type="E", message="no"))


async def test_a_failing_task_is_tried_again_later_and_then_set_aside(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R4.1, R4.4: after 10 s, after 20 s, and then a dead letter with every error."""
    task = make.task()
    await engine.submit([task])

    waits = []
    for attempt in (1, 2, 3):
        session = await opened(engine, make, clock)
        (held,) = await claim(engine, session)
        await end(engine, session, [held], failure(clock, attempt))
        state = await read(engine, task.id)
        waits.append((state.run_at - clock.now()) // SECOND)
        clock.advance(max(waits[-1], 0))
        await engine.stage()
    final = await read(engine, task.id)

    assert waits[:2] == [10, 20]
    assert (final.state, final.reason) == (State.FAILED, "attempts_exhausted")
    assert [error.attempt for error in final.errors] == [1, 2, 3]


async def test_a_retry_does_not_start_before_its_time(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R2.3."""
    session = await opened(engine, make, clock)
    await engine.submit([make.task()])
    await end(engine, session, await claim(engine, session), failure(clock, 1))

    clock.advance(9.999)
    staged = await engine.stage()
    early = await claim(engine, session)
    clock.advance(0.001)
    await engine.stage()

    assert (staged.moved, early) == (0, [])
    assert staged.next_at == clock.now()
    assert len(await claim(engine, session)) == 1


async def test_waiting_and_handing_back_are_no_attempts(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R3.6, case B134: max_attempts is 3, and it runs on the 5th hand-out."""
    session = await opened(engine, make, clock)
    task = make.task()
    await engine.submit([task])

    for number in range(4):
        held = await claim(engine, session)
        await end(engine, session, held, Snoozed(clock.now()) if number % 2 else Released())
        await engine.stage()
    (last,) = await claim(engine, session)
    await end(engine, session, [last], Completed())
    final = await read(engine, task.id)

    assert (last.attempt, last.fence, last.snoozes) == (1, 5, 2)
    assert (final.state, final.attempt) == (State.COMPLETED, 1)


async def test_a_lost_worker_gives_its_tasks_back_and_its_report_is_refused(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R3.1, R3.2, case B109."""
    gone = await opened(engine, make, clock)
    await engine.submit(make.tasks(3))
    held = await claim(engine, gone)

    clock.advance(LEASE / SECOND + 1)
    returned = await engine.reap()
    heir = await opened(engine, make, clock)
    again = await claim(engine, heir)
    late = await engine.finish(gone.id, [Report(t, Completed('"old"'), STEADY) for t in held])
    await end(engine, heir, again, Completed('"new"'))

    assert returned == 3
    assert late == [False, False, False]
    assert [(t.attempt, t.lost, t.fence) for t in again] == [(1, 1, 2)] * 3
    assert {(await read(engine, t.id)).result for t in held} == {"new"}


async def test_a_report_before_the_reaper_comes_still_counts(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """Case B125: the work is done; nobody else has the task."""
    session = await opened(engine, make, clock)
    await engine.submit([make.task()])
    held = await claim(engine, session)

    clock.advance(LEASE / SECOND + 1)
    await end(engine, session, held, Completed())

    assert await engine.reap() == 0
    assert (await read(engine, held[0].id)).state is State.COMPLETED


async def test_a_task_that_takes_its_workers_with_it_is_set_aside(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R3.8, case B112."""
    task = make.task()
    await engine.submit([task])

    for _ in range(LOST_LEASES):
        session = await opened(engine, make, clock)
        assert len(await claim(engine, session)) == 1
        clock.advance(LEASE / SECOND + 1)
        await engine.reap()
    final = await read(engine, task.id)

    assert (final.state, final.reason, final.lost) == (State.FAILED, "worker_lost", LOST_LEASES)
    assert final.errors[-1].type == "WorkerLost"


async def test_reaping_needs_no_live_session_left_alone(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """Case B110: a lease that holds is nobody's to take."""
    session = await opened(engine, make, clock)
    await engine.submit([make.task()])
    await claim(engine, session)

    clock.advance(LEASE / SECOND - 1)

    assert await engine.reap() == 0


@pytest.mark.parametrize("slots", [1, 50])
async def test_a_small_tenant_does_not_wait_for_a_large_one(
    engine: Engine, make: Make, clock: ManualClock, slots: int
) -> None:
    """R7.3, case B140: 50 tasks behind 2,000 others are through after at most 110 of those."""
    session = await opened(engine, make, clock)
    await engine.submit(make.tasks(2_000, tenant="board"))
    first = await claim(engine, session, slots)
    await engine.submit(make.tasks(50, tenant="college"))

    served: Counter[str] = Counter(task.tenant for task in first)
    while served["college"] < 50:
        got = await claim(engine, session, slots)
        served.update(task.tenant for task in got)
        await end(engine, session, got, Completed())

    assert served["board"] <= 110


async def test_the_classes_share_by_weight_and_none_starves(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.1: 50:30:15:5."""
    session = await opened(engine, make, clock)
    for priority in (0, 2, 5, 9):
        await engine.submit(make.tasks(200, priority=priority))

    served: Counter[int] = Counter()
    for _ in range(20):
        got = await claim(engine, session, 10)
        served.update(task.priority for task in got)

    assert served == {0: 100, 2: 60, 5: 30, 9: 10}


async def test_a_claim_takes_all_there_is_wherever_it_lies(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """Work-conserving: the first plan takes lanes to be full; what they lack comes from others."""
    session = await opened(engine, make, clock)
    await engine.submit(make.tasks(100, tenant="large"))
    for number in range(30):
        await engine.submit([make.task(tenant=f"small-{number}")])

    got = await claim(engine, session, 100)

    assert len(got) == 100
    assert len({task.tenant for task in got}) == 31


async def test_within_a_lane_waiting_outweighs_priority_after_ten_minutes_a_level(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.2: priority 4 is one level above 5."""
    session = await opened(engine, make, clock)
    old = make.task(priority=5)
    await engine.submit([old])
    clock.advance(599)
    young = make.task(priority=4, run_at=clock.now())
    clock.advance(2)
    younger = make.task(priority=4, run_at=clock.now())
    await engine.submit([younger, young])
    session = await opened(engine, make, clock)

    got = await claim(engine, session)

    assert [task.id for task in got] == [young.id, old.id, younger.id]
