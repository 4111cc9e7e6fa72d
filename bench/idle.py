"""What a worker costs that has nothing to do: statements a second, and processor time."""

import time
from statistics import median

import psutil

from bench.options import Options
from bench.process import WorkerProcess
from bench.report import Result
from bench.statements import Counter, statement_counter
from bench.stores import Ground

SECONDS = 10.0
SETTLED = 3.0
"""A worker that has just started still opens connections."""


def run(options: Options, ground: Ground) -> Result:
    """Count an idle worker's statements, transaction brackets included, and take its time.

    The processor time is taken in a run of its own, in which nothing is counted.
    """
    seconds = options.seconds or SECONDS
    shares, counts = [], []
    for _ in range(options.rounds):
        with ground.fresh() as url, WorkerProcess(url) as worker:
            shares.append(_share(worker.watched, seconds))
        with ground.fresh() as url, statement_counter(options, ground, url) as counter:
            counts.append(_counted(counter, seconds))
    rate = median(counts) / seconds
    return Result(
        scenario="idle",
        store=options.store,
        tasks=0,
        seconds=seconds * options.rounds * 2,
        rate=rate,
        what="statements of an idle worker",
        control="none: an idle machine does nothing",
        more={"cpu_percent": median(shares) * 100, "statements_per_s": rate},
    )


def _share(process: psutil.Process, seconds: float) -> float:
    """Return the share of one core that a process uses."""
    time.sleep(SETTLED)
    before, began = process.cpu_times(), time.perf_counter()
    time.sleep(seconds)
    after, ended = process.cpu_times(), time.perf_counter()
    used = after.user + after.system - before.user - before.system
    return float(used) / (ended - began)


def _counted(counter: Counter, seconds: float) -> int:
    time.sleep(SETTLED)
    before = counter()
    time.sleep(seconds)
    return counter() - before
