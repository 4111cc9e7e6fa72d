"""How late delayed tasks begin, and whether any begins early."""

import random
import time
from statistics import median

from bench.app import bench_app
from bench.figures import Pair, Waits, median_ratio
from bench.latency import commit_times, commit_waits
from bench.marks import marking_worker
from bench.options import Options
from bench.process import apart
from bench.report import Result
from bench.rounds import flat, take_turns
from bench.stores import Ground
from rota.clock import instant

TASKS = 500
SPAN = 10.0
"""Seconds over which the tasks fall due."""
AHEAD = 2.0
"""The first one falls due so many seconds after all have been submitted, at the earliest."""
COMMITS = 100


def run(options: Options, ground: Ground) -> Result:
    """Measure from the instant at which each task was due to the handler's first line."""
    tasks = options.tasks or TASKS
    span = options.seconds or SPAN
    rounds = take_turns(
        lambda: _waits(ground, tasks, span),
        lambda: commit_times(options, ground, min(tasks, COMMITS)),
        options.rounds,
    )
    waits = flat(rounds.ours)
    pairs = tuple(
        Pair(median(mine), median(theirs))
        for mine, theirs in zip(rounds.ours, rounds.control, strict=True)
    )
    return Result(
        scenario="lateness",
        store=options.store,
        tasks=len(waits),
        seconds=span * options.rounds,
        rate=len(waits) / (span * options.rounds),
        control_rate=1 / median(flat(rounds.control)),
        ratio=median_ratio(pairs),
        what=f"idle worker, {tasks} tasks due at random instants over {span:.0f} s",
        control="a lone commit of one row by raw SQL; ratio of the medians",
        waits=Waits.of(waits),
        pairs=pairs,
        more=commit_waits(flat(rounds.control)),
    )


def _waits(ground: Ground, tasks: int, span: float) -> list[float]:
    with ground.fresh() as url, marking_worker(url) as marks:
        return marks.waits(apart(plan, url, tasks, span))


def plan(url: str, tasks: int, span: float) -> dict[int, int]:
    """Submit tasks that fall due at random instants; return the instants in microseconds."""
    chance = random.Random(tasks)
    app, _, mark, _ = bench_app(url)
    first = int((time.time() + AHEAD) * 1e6)
    due = {number: first + int(chance.uniform(0, span) * 1e6) for number in range(tasks)}
    with app:
        app.submit_many(mark.using(run_at=instant(at)).bind(n) for n, at in due.items())
    return due
