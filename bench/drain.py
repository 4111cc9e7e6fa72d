"""How fast a backlog is worked off by one worker with handlers that do nothing."""

from bench import control_postgres, control_sqlite
from bench.figures import MICROSECONDS, Rate
from bench.options import Options
from bench.process import WorkerProcess, apart
from bench.rates import compare
from bench.report import Result
from bench.stores import Ground, count_rows
from bench.tasks import preload
from rota.node.claimer import CLAIM_MOST

BATCH = CLAIM_MOST
"""The tasks of one claim, the most that a worker takes at once."""


def run(options: Options, ground: Ground) -> Result:
    """Measure a drain, from the first finished batch to the last; start-up is outside."""
    raw = (control_sqlite if options.store == "sqlite" else control_postgres).drain

    def control(tasks: int) -> Rate:
        with ground.fresh() as url:
            preload(url, tasks)
            ground.settle(url)
            seconds = apart(raw, url, BATCH)
            return finished(ground, url, tasks, seconds / tasks)

    beside = " by two connections" if options.store == "postgres" else ""
    return compare(
        "drain",
        options,
        lambda tasks: drained(ground, tasks),
        control,
        what="one worker, one tenant, handlers that do nothing",
        against=f"the same claims and finishes by raw SQL{beside}, {BATCH} at a time, no handlers",
    )


def drained(ground: Ground, tasks: int, tenants: int = 0) -> Rate:
    """Work off a backlog of so many tasks; return the rate."""
    with ground.fresh() as url:
        preload(url, tasks, tenants)
        ground.settle(url)
        with WorkerProcess(url) as worker:
            seconds = worker.drained(tasks)
        return finished(ground, url, tasks, seconds)


def finished(ground: Ground, url: str, tasks: int, cpu_seconds_a_task: float) -> Rate:
    """Return the rate from the first finished batch to the last, as the store tells it."""
    done, left = count_rows(ground, url, "finished"), count_rows(ground, url, "ready")
    if (done, left) != (tasks, 0):
        raise RuntimeError(f"of {tasks} tasks {done} are finished and {left} are left")
    times = f"select min(finished_at), max(finished_at) from {ground.table('finished')}"
    first, last = ground.rows(url, times)[0]
    # What the first batch held was done before the span began.
    counting = f"select count(*) from {ground.table('finished')} where finished_at > {first}"
    later = int(ground.rows(url, counting)[0][0])
    return Rate(later, (last - first) / MICROSECONDS, cpu_seconds_a_task)
