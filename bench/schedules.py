"""How late the tasks of schedules are stored that all come at the same instant (R6.4)."""

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from itertools import count as numbers
from typing import Any

from bench import control_postgres, control_sqlite
from bench.app import bench_app
from bench.figures import Pair, Rate, Waits, median_ratio
from bench.options import Options
from bench.process import apart
from bench.report import Result
from bench.rounds import flat, take_turns
from bench.stores import Ground, count_rows
from rota.backend import Backend
from rota.clock import Ids, instant, new_rng
from rota.config import MINUTE, SECOND
from rota.declared import check_schedule
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from rota.reconcile import new_schedule
from rota.schedule import Schedule
from rota.sync import new_event_loop
from rota.telemetry import Firings, Silent
from rota.zones import zone

SCHEDULES = 10_000
SECOND_SHARE = 10
"""One in so many of them once more, in the same second instead of the same minute."""
MANY = 1_000
"""Fewer than this are measured once."""
WHOLE_MINUTE = 5_000
"""Fewer than this do not wait for a whole minute to come."""
LINES = 8
"""So many connections create them at once; that is not measured."""
A_SECOND = 400
"""So many are created in a second, at the least."""
WORKER_SECONDS = 5
"""A worker is at work by then."""
PATIENCE = 120.0
BATCH = 125
"""Rows of one transaction of the control, as many as firings of one."""

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "America/St_Johns", "Asia/Kolkata",
    "Asia/Kathmandu", "Australia/Adelaide", "Pacific/Auckland",
)  # fmt: skip
SHAPES = (
    "{0.second} {0.minute} * * * *",
    "{0.second} */1 * * * *",
    "{0.second} {0.minute} {0.hour} * * *",
    "{0.second} {0.minute} {0.hour} * * {0:%a}",
    "{0.second} {0.minute} {0.hour} {0.day} {0.month} *",
    "{0.second} {0.minute}-{0.minute} */1 * * *",
)


def run(options: Options, ground: Ground) -> Result:
    """Measure from each slot to the store's answer that it has the task, on one worker."""
    schedules = options.tasks or SCHEDULES
    insert = (control_sqlite if options.store == "sqlite" else control_postgres).insert

    def control() -> Rate:
        with ground.fresh() as url:
            rate: Rate = apart(insert, url, schedules, BATCH)
            return rate

    rounds = take_turns(lambda: _both(ground, schedules), control, options.rounds)
    minute = flat([waits for waits, _ in rounds.ours])
    second = flat([waits for _, waits in rounds.ours])
    pairs = tuple(
        Pair(len(waits) / max(waits), theirs.per_second)
        for (waits, _), theirs in zip(rounds.ours, rounds.control, strict=True)
    )
    seconds = sum(max(waits) for waits, _ in rounds.ours)
    return Result(
        scenario="schedules",
        store=options.store,
        tasks=len(minute),
        seconds=seconds,
        rate=len(minute) / seconds,
        control_rate=sum(p.control for p in pairs) / len(pairs),
        ratio=median_ratio(pairs),
        what=f"{schedules:,} schedules of varied rules and zones at one instant, to the last task",
        control=f"as many rows of tasks, made beforehand, by raw SQL, {BATCH} in a transaction",
        waits=Waits.of(minute),
        pairs=pairs,
        more=_more(Waits.of(second)) if second else {},
    )


def _more(second: Waits) -> dict[str, float]:
    return {"second_p50_ms": second.p50_ms, "second_p99_ms": second.p99_ms}


def _both(ground: Ground, schedules: int) -> tuple[list[float], list[float]]:
    waits = _waits(ground, schedules, whole=schedules >= WHOLE_MINUTE)
    if schedules < MANY:
        return waits, []
    return waits, _waits(ground, schedules // SECOND_SHARE, whole=False)


def _waits(ground: Ground, schedules: int, *, whole: bool) -> list[float]:
    """Return how late each task was stored; an error if any came twice or early."""
    with ground.fresh() as url:
        apart(create, url, schedules, whole)
        waits = apart(fire, url, schedules)
        made = count_rows(ground, url, "slot")
        if not schedules == made == len(waits) or min(waits) < 0:
            raise RuntimeError(f"{schedules} schedules made {made} tasks, {min(waits)} s late")
    return waits


# -- making them ----------------------------------------------------------------------------------


def create(url: str, schedules: int, whole: bool) -> None:
    """Create schedules that all have their next slot at the same instant, and soon."""
    now = int(time.time() * SECOND)
    unit = MINUTE if whole else SECOND
    at = now + (WORKER_SECONDS + schedules // A_SECOND) * SECOND
    at += -at % unit
    made = list(meeting(at, schedules))
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_store(url, made))
    if time.time() * SECOND > at - WORKER_SECONDS * SECOND / 2:
        raise RuntimeError("this machine is too busy to create the schedules in time")


def meeting(at: int, schedules: int) -> Iterator[Schedule]:
    """Yield schedules of varied rules and zones whose next slot is at this instant."""
    chance, ids = random.Random(schedules), Ids()
    noop = bench_app("sqlite:///unused.db").noop.kind
    payload = {"student_id": 1, "phone": "+91-9800000000-results"}
    for number in range(schedules):
        rule: dict[str, Any] = {"tz": chance.choice(ZONES)}
        if number % 10:
            local = instant(at).astimezone(zone(rule["tz"]))
            rule |= {"expression": chance.choice(SHAPES).format(local), "seconds": True}
        else:
            rule = {"every": chance.choice((600, 3600, 7200)), "anchor": instant(at)}
        given = {"name": f"schedule-{number}", "payload": payload, **rule}
        since = at - 50 * SECOND
        yield new_schedule(check_schedule(noop, given), "bench", ids.new(since), since)


async def _store(url: str, made: Sequence[Schedule]) -> None:
    places = numbers()
    # PostgreSQL commits what several connections bring together, SQLite what several callers do.
    backends = [bench_app(url).app.connect() for _ in range(1 if "sqlite" in url else LINES)]

    async def line(backend: Backend) -> None:
        while (place := next(places)) < len(made):
            await backend.create_schedule(made[place])

    for backend in backends:
        await backend.open()
    await asyncio.gather(*(line(backend) for backend in backends for _ in range(LINES)))
    for backend in backends:
        await backend.close()


# -- firing them ----------------------------------------------------------------------------------


class Heard(Silent):
    """A worker's telemetry: keeps how late each task was stored, in seconds."""

    def __init__(self, schedules: int) -> None:
        self._schedules = schedules
        self.lateness: list[float] = []
        self.all = asyncio.Event()

    def fired(self, batch: Sequence[Firings]) -> None:
        """Take in a batch."""
        for one in batch:
            self.lateness += one.lateness
        if len(self.lateness) >= self._schedules:
            self.all.set()

    def unfired(self, schedules: Sequence[str]) -> None:
        """Take in what should not be."""
        raise RuntimeError(f"{len(schedules)} schedules cannot be read")


def fire(url: str, schedules: int) -> list[float]:
    """Run a worker until every schedule has fired; return how late each task was stored."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_fire(url, schedules))


async def _fire(url: str, schedules: int) -> list[float]:
    app = bench_app(url).app
    heard = app.telemetry = Heard(schedules)
    worker = Worker(app.registry, app.connect(), WorkerSettings(), rng=new_rng())
    working = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await heard.all.wait()
    finally:
        worker.stop()
        await working
    return heard.lateness
