"""How much memory a worker takes before a great backlog, and a client that makes one."""

import time
from collections.abc import Callable
from pathlib import Path

import psutil
from msgspec import Struct

from bench.figures import Pair, Rate, median_ratio
from bench.options import Options
from bench.process import WorkerProcess, apart
from bench.report import Result
from bench.rounds import take_turns
from bench.stores import Ground, count_rows
from bench.submit import submit_many

TASKS = 1_000_000
FEW = 1_000
WORKING = 10.0
"""Seconds that the worker works at the backlog while its memory is watched."""
ROUNDS = 1
"""Memory does not vary as time does."""


class Memory(Struct, frozen=True):
    """The most memory that the client and the worker had, in megabytes, and the client's rate."""

    client: float
    worker: float
    rate: Rate


def run(options: Options, ground: Ground) -> Result:
    """Measure the greatest resident size of both processes, and again with next to no tasks."""
    tasks = options.tasks or TASKS
    rounds = take_turns(
        lambda: _measured(ground, tasks, options.seconds or WORKING),
        lambda: _measured(ground, min(FEW, tasks), 1.0),
        ROUNDS,
    )
    ours, few = rounds.ours[0], rounds.control[0]
    pairs = (Pair(ours.worker, few.worker),)
    return Result(
        scenario="memory",
        store=options.store,
        tasks=ours.rate.tasks,
        seconds=ours.rate.seconds,
        rate=ours.rate.per_second,
        control_rate=few.rate.per_second,
        ratio=median_ratio(pairs),
        what=f"submit_many of {tasks:,} from a generator, then a worker before that backlog",
        control=f"the same with {FEW:,} tasks; ratio of the worker's memory",
        pairs=pairs,
        more={
            "worker_mb": ours.worker,
            "control_worker_mb": few.worker,
            "client_mb": ours.client,
            "control_client_mb": few.client,
        },
    )


def _measured(ground: Ground, tasks: int, seconds: float) -> Memory:
    with ground.fresh() as url:
        rate, client = apart(with_peak, submit_many, url, tasks)
        with WorkerProcess(url) as worker:
            time.sleep(seconds)
            memory = Memory(client, peak(worker.watched), rate)
        if not count_rows(ground, url, "finished"):
            raise RuntimeError("the worker did nothing while its memory was watched")
        return memory


def with_peak(work: Callable[[str, int], Rate], url: str, tasks: int) -> tuple[Rate, float]:
    """Return what `work` returns, and the most memory this process ever had, in megabytes."""
    return work(url, tasks), peak(psutil.Process())


def peak(process: psutil.Process) -> float:
    """Return the most memory that a process ever had, in megabytes; where only the present size
    can be known, that."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return float(process.memory_info().rss) / 1e6
    kibibytes = next(line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(kibibytes) * 1024 / 1e6
