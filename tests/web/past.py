"""An hour that a school could have had, for the pictures: what its processes would have counted."""

import asyncio
from collections.abc import Iterator
from math import pi, sin
from pathlib import Path

from rota import Rota
from rota.clock import Rng, new_rng
from rota.config import DAY, HOUR, MINUTE, SECOND
from rota.engine import Engine
from rota.figures import LATENESS, PLACES, RUNS, WAITS, Counted, Measure
from rota.model import Micros
from rota.policy.histogram import add, add_micros
from rota.service import Got
from rota.store.base import Store
from tests.conformance.steps import take
from tests.support.factories import Make, again, error, failed, lane_of
from tests.support.places import Place

MINUTES = 59
QUEUES = {"sms": ("send_result", 900, 0.4), "reports": ("morning_report", 40, 3.0)}
"""By queue: the kind, about how many tasks a minute, and how long one takes in seconds."""
PARTS = {"board": 0.52, "college": 0.3, "": 0.18}
TALLY = "insert into tally (minute, queue, kind, state, count) values ({}, '{}', '{}', '{}', {})"


def give_past(app: Rota, path: Path, now: Micros) -> None:
    """Write the hour before `now` into the statistics of a store on SQLite."""
    engine = app.connect()
    assert isinstance(engine, Engine)
    rng, place = new_rng(7), Place("sqlite", str(path))

    async def write() -> None:
        await engine.open()
        begin = now - now % MINUTE
        for n in range(MINUTES, 0, -1):
            done = 0
            for queue, (kind, many, _) in QUEUES.items():
                count = round(many * (1 + 0.5 * sin(n / MINUTES * 2 * pi) + rng.uniform(-0.1, 0.1)))
                done += count
                failed = sum(rng.random() < 0.004 for _ in range(count))
                at = begin - n * MINUTE
                await engine.store.add_statistics([counted(at, queue, count, rng)])
                for state, number in (("completed", count - failed), ("failed", failed)):
                    await place.run(TALLY.format(at, queue, kind, state, number))
            await engine.store.add_service(list(_got(begin - n * MINUTE, done, rng)))
        await engine.close()

    asyncio.run(write())


def counted(at: Micros, queue: str, count: int, rng: Rng) -> Counted:
    """Return what was counted of a queue in a minute in which so many tasks were done."""
    kind, _, took = QUEUES[queue]
    counts = [0] * PLACES
    late = [round(rng.lognormvariate(-4.5, 0.7) * SECOND) for _ in range(count)]
    ran = [rng.lognormvariate(0, 0.4) * took for _ in range(count)]
    counts[Measure.SUBMITTED] = counts[Measure.STARTED] = count
    counts[Measure.WAITED] = counts[Measure.LATE] = sum(late)
    counts[Measure.RAN] = round(sum(ran) * SECOND)
    add_micros(counts, WAITS, late)
    add_micros(counts, LATENESS, late)
    add(counts, RUNS, ran)
    return Counted(at, MINUTE, queue, kind, {p: n for p, n in enumerate(counts) if n})


def _got(at: Micros, done: int, rng: Rng) -> Iterator[Got]:
    for tenant, part in PARTS.items():
        count = round(done * part * rng.uniform(0.85, 1.15))
        yield Got(at, MINUTE, tenant, count, round(count * rng.uniform(0.4, 0.6) * SECOND))


async def five_attempts(store: Store, make: Make, at: Micros) -> str:
    """Write a task of which five attempts failed; a worker was lost on it, and it put itself off.

    It lies in a queue that no worker takes, so that it stays as it is.
    """
    task = make.task(queue="before", created_at=at, run_at=at)
    session = make.session(started_at=at, lease_until=at + DAY)
    await store.submit([task], at)
    await store.open_session(session)
    for n, ending in enumerate(("fails", "is lost", "fails", "puts off", "fails", "fails", "ends")):
        begun = at + 10 * n * MINUTE
        await store.stage(begun, 100)
        (claimed,) = await take(store, session.id, lane=lane_of(task), now=begun)
        over, next_at = begun + 2 * MINUTE, begun + 8 * MINUTE
        wrong = error(claimed.attempt, over, f"line {n} is busy")
        before = claimed.attempt - 1
        moves = {
            "fails": again(claimed, next_at, wrong),
            "is lost": again(claimed, next_at, attempt=before, lost=claimed.lost + 1),
            "puts off": again(claimed, next_at, attempt=before, snoozes=claimed.snoozes + 1),
            "ends": failed(claimed, wrong),
        }
        await store.finish(session.id, [moves[ending]], over)
    await store.close_session(session.id, at + DAY)
    return task.id


FAILED = (
    ("sync_contacts", "TimeoutError", "no answer within <n> s", "board", (1, 2, 9, 31, 24, 6, 2)),
    ("sync_contacts", "TimeoutError", "no answer within <n> s", "college", (0, 0, 2, 4, 3)),
    ("render_report", "KeyError", "<text>", "college", (1, 0, 0, 2, 0, 0, 1, 0, 0, 0, 1)),
)
"""Kind, error, whose, and how many failed an hour up to an hour ago."""


async def fail_for_a_day(store: Store, make: Make, now: Micros) -> None:
    """Write dead letters of the last day, of a queue that no worker takes."""
    session = make.session(started_at=now - DAY, lease_until=now + DAY)
    await store.open_session(session)
    for kind, wrong, shape, tenant, counts in FAILED:
        alike = {"group": f"{kind}-alike", "error_type": wrong, "error_shape": shape}
        for hours, count in enumerate(reversed(counts), start=1):
            at = now - hours * HOUR
            given = {"queue": "crm", "tenant": tenant, "kind": kind, "created_at": at}
            tasks = make.tasks(count, run_at=at, **given)
            if not tasks:
                continue
            await store.submit(tasks, at)
            held = await take(store, session.id, count, lane=lane_of(tasks[0]), now=at)
            told = error(1, at, "no answer within 30 s" if wrong == "TimeoutError" else "'grade'")
            ended = [failed(task, told, "attempts_exhausted", **alike) for task in held]
            await store.finish(session.id, ended, at)
    await store.close_session(session.id, now)
