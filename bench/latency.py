"""How soon an idle worker begins a task that is submitted to be run at once."""

import asyncio
import time
from collections.abc import Sequence
from statistics import median

from bench import control_postgres, control_sqlite
from bench.app import bench_app
from bench.figures import Pair, Waits, median_ratio
from bench.marks import marking_worker
from bench.options import Options
from bench.process import apart
from bench.report import Result
from bench.rounds import flat, take_turns
from bench.stores import Ground
from rota.sync import new_event_loop

EVERY = 0.05
"""Seconds from one task to the next: 20 a second."""
SECONDS = 10.0
WARM_UP = 10
"""The first tasks open connections and prepare statements; they are not counted."""
SPIN = 0.002
"""The timers of event loops are a millisecond apart; so long before its instant, we look often."""


def run(options: Options, ground: Ground) -> Result:
    """Measure from the instant at which a submit was to be called to the handler's first line."""
    tasks = options.tasks or round((options.seconds or SECONDS) / EVERY)
    rounds = take_turns(
        lambda: _waits(ground, tasks),
        lambda: commit_times(options, ground, tasks),
        options.rounds,
    )
    waits = flat(rounds.ours)
    pairs = tuple(
        Pair(median(mine), median(theirs))
        for mine, theirs in zip(rounds.ours, rounds.control, strict=True)
    )
    return Result(
        scenario="latency",
        store=options.store,
        tasks=len(waits),
        seconds=len(waits) * EVERY,
        rate=1 / EVERY,
        control_rate=1 / median(flat(rounds.control)),
        ratio=median_ratio(pairs),
        what="idle worker, immediate tasks, 20 a second: from the submit to the handler's start",
        control="a lone commit of one row by raw SQL, 20 a second; ratio of the medians",
        waits=Waits.of(waits),
        pairs=pairs,
        more=commit_waits(flat(rounds.control)),
    )


def commit_times(options: Options, ground: Ground, count: int) -> list[float]:
    """Return how long single commits take on this store, in seconds, at the same pace."""
    control = control_sqlite if options.store == "sqlite" else control_postgres
    with ground.fresh() as url:
        return apart(control.commits, url, count, EVERY)


def commit_waits(seconds: Sequence[float]) -> dict[str, float]:
    """Return how long the control's commits took: what the disk alone costs, and its tail."""
    waits = Waits.of(seconds)
    return {"control_p50_ms": waits.p50_ms, "control_p99_ms": waits.p99_ms}


def _waits(ground: Ground, tasks: int) -> list[float]:
    with ground.fresh() as url, marking_worker(url) as marks:
        return marks.waits(apart(send, url, tasks))


def send(url: str, tasks: int) -> dict[int, int]:
    """Submit tasks at fixed instants, whatever became of those before; return the instants.

    Nothing waits for an answer: a slow one delays no later task (no coordinated omission).
    """
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_send(url, tasks))


async def _send(url: str, tasks: int) -> dict[int, int]:
    app, _, mark, _ = bench_app(url)
    for number in range(WARM_UP):
        await mark.asubmit(-1 - number)
        await asyncio.sleep(EVERY)
    intended: dict[int, int] = {}
    first = time.time() + 0.5
    answers = []
    for number in range(tasks):
        at = first + number * EVERY
        await asyncio.sleep(max(at - time.time() - SPIN, 0))
        while time.time() < at:
            pass
        intended[number] = int(at * 1e6)
        answers.append(asyncio.ensure_future(mark.asubmit(number)))
    await asyncio.gather(*answers)
    app.close()
    return intended
