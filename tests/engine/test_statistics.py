"""What an engine counts is what was done, and figures are made of it (R9.1, R9.4)."""

import pytest

from rota.backend import Report
from rota.clock import ManualClock
from rota.config import LEASE, MINUTE, SECOND
from rota.engine import Engine
from rota.engine.measuring import FLUSH_EVERY, LINES_MOST, TICK_EVERY
from rota.errors import InvalidTask, Overloaded, StoreUnavailable
from rota.figures import By, Figure, Measure, Statistic, StatisticsFilter
from rota.model import AttemptError, Claimed, State, TaskFilter
from rota.policy.histogram import bucket
from rota.policy.lifecycle import Cancelled, Completed, Ending, Expired, Failed, Released, Snoozed
from rota.policy.retry import Backoff
from rota.shares import QueueSettings
from rota.store.base import Store
from tests.support.factories import LATER, NOW, Make

STEADY = Backoff(base=10, jitter=0, max_attempts=2)
ALL = StatisticsFilter(since=NOW - MINUTE, until=NOW + 30 * MINUTE, step=30 * MINUTE)


async def whole(engine: Engine, **more: object) -> Statistic:
    """What happened in the half hour of a test, as one."""
    await engine.flush()
    wanted = {"since": NOW - NOW % (30 * MINUTE), "until": NOW + 60 * MINUTE}
    where = StatisticsFilter(**wanted | {"step": 60 * MINUTE} | more)  # type: ignore[arg-type]
    found = await engine.statistics(where)
    assert len(found) <= 1, found
    return found[0] if found else Statistic(at=0, step=0)


async def hold(
    engine: Engine, make: Make, clock: ManualClock, count: int
) -> tuple[str, list[Claimed]]:
    """Submit tasks, and hand them out."""
    session = make.session(started_at=clock.now(), lease_until=clock.now() + LEASE)
    await engine.open_session(session)
    await engine.submit(make.tasks(count, run_at=clock.now(), created_at=clock.now()))
    claim = await engine.claim(session.id, ("default",), count, ())
    return session.id, claim.tasks


def error(permanent: bool = False) -> Failed:
    """A handler raised."""
    return Failed(AttemptError(at=NOW, attempt=1, type="E", message="no"), permanent=permanent)


ENDINGS: list[tuple[Ending, str]] = [
    (Completed(), "completed"),
    (error(permanent=True), "failed"),
    (Cancelled("no longer wanted"), "cancelled"),
    (error(), "retried"),
    (Snoozed(LATER), "snoozed"),
    (Released(), "released"),
]


async def test_every_ending_is_counted_once(engine: Engine, make: Make, clock: ManualClock) -> None:
    """R9.1: as many as there are, by what became of them; a report that is refused is stale."""
    session, tasks = await hold(engine, make, clock, 21)
    reports: list[Report] = []
    for number, (ending, _) in enumerate(ENDINGS):
        for _ in range(number + 1):
            task = tasks[len(reports)]
            reports.append(Report(task, ending, STEADY, seconds=0.5))
    await engine.finish(session, reports)
    await engine.finish(session, reports[:4])

    found = await whole(engine)

    assert (found.submitted, found.started, found.stale) == (21, 21, 4)
    for number, (_, name) in enumerate(ENDINGS):
        assert getattr(found, name) == number + 1, name
    assert sum(found.runs) == found.runs[bucket(0.5)] == 21
    assert found.ran == pytest.approx(10.5)


async def test_a_page_a_metric_and_figures_agree(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """Invariant 8: tasks that are read, what this process counted, and what the store has."""
    session, tasks = await hold(engine, make, clock, 30)
    await engine.finish(session, [Report(t, Completed(), STEADY, seconds=1.0) for t in tasks[:20]])
    failed = [Report(t, error(permanent=True), STEADY, seconds=1.0) for t in tasks[20:25]]
    await engine.finish(session, failed)

    states = await engine.count(TaskFilter(), 1_000)
    totals = engine.measuring.totals["default", "send_result"]
    found, figures = await whole(engine), await engine.figures()

    assert states == {State.COMPLETED: 20, State.FAILED: 5, State.RUNNING: 5}
    assert (totals[Measure.COMPLETED], totals[Measure.FAILED]) == (20, 5)
    assert (found.completed, found.failed) == (20, 5)
    assert figures.value(Figure.ERRORS) == 0.2
    assert figures.value(Figure.DEAD_LETTERS) == 5
    assert figures.value(Figure.SATURATION) == 0.5
    assert figures.value(Figure.DEPTH) == 0


async def test_waits_are_counted_from_when_a_task_was_ready(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.3: what was due at once since it was made, what was due later since then."""
    await engine.submit([make.task(), make.task(run_at=NOW + 2 * SECOND)])
    clock.advance(7)
    await engine.stage()
    session = make.session(lease_until=clock.now() + LEASE)
    await engine.open_session(session)
    await engine.claim(session.id, ("default",), 10, ())

    found = await whole(engine)

    assert (found.waited, found.late) == (12.0, 5.0)
    assert (found.waits[bucket(7.0)], found.waits[bucket(5.0)]) == (1, 1)
    assert found.lateness[bucket(5.0)] == sum(found.lateness) == 1


async def test_key_repeats_are_not_new(engine: Engine, make: Make) -> None:
    """R9.1: submitted is what was made."""
    await engine.submit([make.keyed("a"), make.keyed("a"), make.keyed("b")])
    await engine.submit([make.keyed("b")])
    assert (await whole(engine)).submitted == 2


async def test_what_is_turned_away_is_counted(engine: Engine, make: Make) -> None:
    """R1.7."""
    await engine.put_settings(QueueSettings(name="default", max_depth=1), 0)
    await engine.submit([make.task(priority=10)])
    with pytest.raises(Overloaded):
        await engine.submit(make.tasks(3, priority=10))
    found = await whole(engine)
    assert (found.submitted, found.refused) == (1, 3)


async def test_tasks_of_lost_workers_are_counted(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R3.1."""
    await hold(engine, make, clock, 3)
    clock.advance(LEASE / SECOND + 1)
    await engine.reap()
    assert (await whole(engine)).lost == 3


async def test_what_expires_is_counted_wherever_it_is_found(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.1: by a worker, of its queue, or by the sweep, of all."""
    session, (task,) = await hold(engine, make, clock, 1)
    await engine.finish(session, [Report(task, Expired(), STEADY)])
    await engine.submit([make.task(expires_at=NOW + SECOND)])
    clock.advance(2)
    await engine.sweep()

    found = await whole(engine)
    assert (found.expired, found.cancelled) == (2, 2)
    assert (await whole(engine, queue="default")).expired == 1


async def test_queues_and_kinds_are_counted_apart(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.1: also within one batch."""
    tasks = [make.task(queue=q, kind=k) for q, k in (("sms", "a"), ("sms", "b"), ("mail", "a"))]
    await engine.submit(tasks)
    session = make.session()
    await engine.open_session(session)
    claim = await engine.claim(session.id, ("sms", "mail"), 10, ())
    await engine.finish(session.id, [Report(t, Completed(), STEADY) for t in claim.tasks])

    await engine.flush()
    where = StatisticsFilter(since=NOW, until=NOW + MINUTE, by=(By.QUEUE, By.KIND))
    found = await engine.statistics(where)

    seen = {(one.queue, one.kind): (one.submitted, one.started, one.completed) for one in found}
    lines = (("sms", "a"), ("sms", "b"), ("mail", "a"))
    assert seen == dict.fromkeys(lines, (1, 1, 1))


async def test_minutes_are_kept_apart(engine: Engine, make: Make, clock: ManualClock) -> None:
    """R9.1: also those that went by before anything was written."""
    for _ in range(3):
        await engine.submit([make.task()])
        clock.advance(60)
    await engine.flush()
    found = await engine.statistics(StatisticsFilter(since=NOW, until=NOW + 10 * MINUTE))
    assert [one.submitted for one in found] == [1, 1, 1]


async def test_counts_are_written_now_and_then_and_at_the_end(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.3: a crash loses the last seconds, an orderly end nothing."""

    async def written() -> int:
        rows = await engine.store.statistics(ALL, 10)
        return sum(row.counts.get(Measure.SUBMITTED, 0) for row in rows)

    await engine.submit([make.task()])
    assert await written() == 0
    clock.advance(FLUSH_EVERY)
    await engine.submit([make.task()])
    assert await written() == 2
    await engine.submit([make.task()])
    await engine.measuring.close()
    assert await written() == 3


class Away:
    """A store that takes no statistics."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.away = True
        self.asked = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def add_statistics(self, rows: object) -> None:
        """Refuse as long as it is away."""
        self.asked += 1
        if self.away:
            raise StoreUnavailable("cut off")
        await self._store.add_statistics(rows)  # type: ignore[arg-type]


async def test_a_store_that_is_away_costs_no_call_and_no_count(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R3.7: the submit is answered all the same, and what was counted is written later."""
    away = Away(engine.store)
    engine.measuring._store = away  # type: ignore[assignment]
    await engine.submit([make.task()])
    clock.advance(FLUSH_EVERY)
    await engine.submit([make.task()])
    await engine.submit([make.task()])
    assert away.asked == 1

    away.away = False

    assert (await whole(engine)).submitted == 3


async def test_names_without_end_do_not_fill_the_memory(engine: Engine, make: Make) -> None:
    """S6: beyond so many pairs of queue and kind they are counted as one."""
    await engine.submit([make.task(queue=f"q{n}") for n in range(LINES_MOST + 50)])
    assert len(engine.measuring.totals) == LINES_MOST + 1
    assert engine.measuring.totals["_other", "_other"][Measure.SUBMITTED] == 50
    assert (await whole(engine)).submitted == LINES_MOST + 50


async def test_what_schedulers_do_is_known_to_all(engine: Engine, clock: ManualClock) -> None:
    """R9.4: silence is told by any node, and one write in a few seconds is enough."""
    assert (await engine.figures()).value(Figure.SILENCE) is None
    await engine.stage()
    await engine.fire()
    clock.advance(TICK_EVERY)
    await engine.stage()
    assert set(await engine.store.ticks()) == {"stage", "fire"}
    clock.advance(1)
    await engine.stage()
    assert (await engine.figures()).value(Figure.SILENCE) == 1
    clock.advance(20)
    assert (await engine.figures()).value(Figure.SILENCE) == 21


async def test_a_queue_that_waits_is_seen_and_a_paused_one_left_alone(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.4, R7.7."""
    await engine.submit([*make.tasks(4), make.task(queue="sms")])
    clock.advance(400)
    found = await engine.figures()
    assert [found.value(Figure.DEPTH, q) for q in (None, "default", "sms")] == [5, 4, 1]
    assert found.value(Figure.OLDEST) == found.value(Figure.OLDEST, "sms") == 400

    await engine.put_settings(QueueSettings(name="default", paused_at=clock.now()), 0)
    found = await engine.figures()
    assert [found.value(Figure.DEPTH, q) for q in (None, "default", "sms")] == [1, None, 1]


async def test_scaling_tells_how_much_comes_and_goes(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.6."""
    clock.advance((MINUTE - NOW % MINUTE) / SECOND)
    session, tasks = await hold(engine, make, clock, 60)
    await engine.finish(session, [Report(t, Completed(), STEADY, seconds=2.0) for t in tasks[:30]])
    await engine.flush()
    clock.advance(240)

    (scale,) = await engine.scaling()

    assert (scale.queue, scale.ready, scale.running, scale.slots) == ("default", 0, 30, 0)
    assert scale.arriving == pytest.approx(60 / 300)
    assert scale.leaving == pytest.approx(30 / 300)


@pytest.mark.parametrize(
    ("field", "where"),
    [
        ("step", StatisticsFilter(since=NOW, until=NOW + MINUTE, step=SECOND)),
        ("step", StatisticsFilter(since=NOW - 3000 * MINUTE, until=NOW)),
        ("until", StatisticsFilter(since=NOW, until=NOW)),
    ],
    ids=["not-minutes", "too-many", "empty"],
)
async def test_what_would_be_too_much_is_refused(
    engine: Engine, field: str, where: StatisticsFilter
) -> None:
    """R1.6: the error names the field."""
    with pytest.raises(InvalidTask) as refused:
        await engine.statistics(where)
    assert refused.value.field == field
