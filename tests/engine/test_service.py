"""What each tenant got is counted by the batch, and told against what it is due (R7.3, R9.1)."""

import pytest
from msgspec import structs

from rota.backend import Report
from rota.clock import ManualClock
from rota.config import DAY, LEASE, MINUTE, SECOND
from rota.engine import Engine
from rota.engine.service_counts import WAITING_MOST, ServiceCounts, rows
from rota.errors import InvalidTask, StoreUnavailable
from rota.model import AttemptError, Claimed
from rota.policy.lifecycle import Completed, Failed
from rota.policy.retry import Backoff
from rota.service import REST, TOLD_MOST, Part, Service, ServiceFilter
from rota.shares import TenantSettings
from tests.support.factories import NOW, Make


def lately(**more: object) -> ServiceFilter:
    """The hour around a test."""
    values: dict[str, object] = {"since": NOW - 30 * MINUTE, "until": NOW + 30 * MINUTE}
    return ServiceFilter(**values | more)  # type: ignore[arg-type]


async def hold(engine: Engine, make: Make, counts: dict[str, int]) -> tuple[str, list[Claimed]]:
    """Submit tasks of some tenants, and hand them out together."""
    now = engine.clock.now()
    session = make.session(started_at=now, lease_until=now + LEASE)
    await engine.open_session(session)
    tasks = [make.task(tenant=name, run_at=now) for name, n in counts.items() for _ in range(n)]
    await engine.submit(tasks)
    held: list[Claimed] = []
    while len(held) < len(tasks):
        held += (await engine.claim(session.id, ("default",), len(tasks), ())).tasks
    return session.id, held


async def serve(engine: Engine, make: Make, **counts: int) -> None:
    """Complete so many tasks of each tenant, half a second each, in one report."""
    session, tasks = await hold(engine, make, counts)
    done = [Report(task, Completed(), Backoff(), seconds=0.5) for task in tasks]
    await engine.finish(session, done)


async def test_what_tenants_got_is_told_against_their_weights(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """Issue 7, point 6: by tasks and by time, step by step."""
    await engine.put_settings(TenantSettings(name="board", weight=3), 0)
    await serve(engine, make, board=6, college=2)
    clock.advance(60)
    await serve(engine, make, college=1)
    await engine.flush()

    minute = NOW - NOW % MINUTE
    assert await engine.service(lately()) == [
        Service(
            minute,
            8,
            4.0,
            (Part("board", 6, 3.0, 0.75, 0.75, 0.75), Part("college", 2, 1.0, 0.25, 0.25, 0.25)),
        ),
        Service(minute + MINUTE, 1, 0.5, (Part("college", 1, 0.5, 1.0, 1.0, 0.25),)),
    ]


async def test_only_what_completed_counts(engine: Engine, make: Make) -> None:
    session, tasks = await hold(engine, make, {"board": 2, "college": 1})
    error = Failed(AttemptError(at=NOW, attempt=1, type="E", message="no"), permanent=True)
    endings = [error if task.tenant == "college" else Completed() for task in tasks]
    pairs = zip(tasks, endings, strict=True)
    reports = [Report(task, ending, Backoff(), seconds=None) for task, ending in pairs]
    await engine.finish(session, reports)
    await engine.finish(session, reports)  # too late: it changes nothing
    await engine.flush()

    (step,) = await engine.service(lately())
    assert (step.completed, step.ran) == (2, 0.0)
    assert [(part.tenant, part.time_share) for part in step.parts] == [("board", None)]


async def test_of_others_nothing_is_told_to_one_alone(engine: Engine, make: Make) -> None:
    """S2: neither sums nor shares, from which they could be worked out."""
    await serve(engine, make, board=6, college=2)
    await engine.flush()

    (step,) = await engine.service(lately(tenant="college", alone=True))

    assert step == Service(step.at, None, None, (Part("college", 2, 1.0),))
    assert await engine.service(lately(tenant="club", alone=True)) == []


async def test_many_tenants_cost_few_rows(engine: Engine, make: Make) -> None:
    """S6: those that got most are told apart, of all others there is a sum."""
    counts = {f"t{n}": 2 if n < 50 else 1 for n in range(TOLD_MOST + 100)}
    await serve(engine, make, **counts)
    taken = engine.measuring.service.take()
    written = rows(taken)
    engine.measuring.service.give_back(taken)
    await engine.flush()

    assert len(written) == 2 * (TOLD_MOST + 1)
    assert sum(row.completed for row in written) == 2 * sum(counts.values())
    (step,) = await engine.service(lately(most=2))
    assert [part.completed for part in step.parts] == [2, 2]
    assert step.completed == sum(counts.values())
    assert step.parts[0].due is None  # beside whom is not known


async def test_memory_is_bounded(engine: Engine, make: Make) -> None:
    """S6: while nothing can be written, further tenants are added up."""
    _, (held,) = await hold(engine, make, {"board": 1})
    counts = ServiceCounts()
    for n in range(WAITING_MOST + 10):
        task = structs.replace(held, tenant=f"t{n}")
        counts.completed([Report(task, Completed(), Backoff(), seconds=1.0)], NOW)

    taken = counts.take()
    assert len(taken) == WAITING_MOST + 1
    assert taken[NOW - NOW % MINUTE, REST] == (10, 10 * SECOND)


async def test_what_could_not_be_written_is_written_later(
    engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3.7: and only once."""
    await serve(engine, make, board=3)

    async def away(rows: object) -> None:
        raise StoreUnavailable("cut off")

    with monkeypatch.context() as cut:
        cut.setattr(engine.store, "add_service", away)
        with pytest.raises(StoreUnavailable):
            await engine.flush()
    await engine.flush()
    await engine.flush()

    (step,) = await engine.service(lately())
    assert step.completed == 3


async def test_what_cannot_be_written_holds_up_nothing_else(
    engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R9.3: the statistics are written though the service is not, and the other way round."""
    await serve(engine, make, board=3)
    written: list[str] = []
    for verb in ("add_statistics", "add_service"):

        async def away(rows: object, verb: str = verb) -> None:
            written.append(verb)
            raise StoreUnavailable("cut off")

        monkeypatch.setattr(engine.store, verb, away)

    with pytest.raises(StoreUnavailable):
        await engine.flush()

    assert written == ["add_statistics", "add_service"]


@pytest.mark.parametrize("seconds", [1e14, 1e305])
async def test_absurd_run_times_stay_numbers(engine: Engine, make: Make, seconds: float) -> None:
    """S8: whatever a worker says, the sums fit into their columns."""
    _, (task,) = await hold(engine, make, {"board": 1})
    report = Report(task, Completed(), Backoff(), seconds=seconds)
    engine.measuring.service.completed([report], engine.clock.now())
    await engine.flush()

    (step,) = await engine.service(lately())
    assert step.ran == 7 * 24 * 3600


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"step": 90 * SECOND}, "step"),
        ({"until": NOW - DAY}, "until"),
        ({"most": 0}, "most"),
        ({"tenant": REST}, "tenant"),
    ],
)
async def test_what_cannot_be_asked_names_the_field(
    engine: Engine, more: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidTask) as caught:
        await engine.service(lately(**more))
    assert caught.value.field == field
