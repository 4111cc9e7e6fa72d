"""Whose turn it is: how long the small wait for the great, and how even their service is."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.app import bench_app
from bench.events import begun, events
from bench.process import WorkerProcess
from bench.stores import Ground
from bench.tasks import preload
from bench.waiting import wait_for_rows
from rota.call import Call

SMALL = 50
BIG = 5_000
SMALL_FROM = 1_000_000
"""The numbers of the small tenant's tasks begin here."""
BUSY_SECONDS = 0.01
WORKERS = ((1,), (50,), (25, 25))
"""The slots of the workers in each run."""

CLASSES = {"critical": 0, "high": 2, "normal": 5, "low": 9}


def big_before_last_small(
    ground: Ground, big: int, runs: Sequence[tuple[int, ...]] = WORKERS
) -> int:
    """Return how many tasks of a great tenant begin before the last 50 of another, at worst.

    The 50 are stored behind all of the great one's, in the same queue and class (R7.3): with one
    slot, with 50, and with two workers.
    """
    return max(_before(ground, big, slots) for slots in runs)


def _before(ground: Ground, big: int, slots: Sequence[int]) -> int:
    with ground.fresh() as url, tempfile.TemporaryDirectory(prefix="rota-bench-") as folder:
        marks = Path(folder) / "marks"
        _two_tenants(url, big)
        with ExitStack() as workers:
            for n in slots:
                workers.enter_context(WorkerProcess(url, marks=marks, concurrency=n))
            wait_for_rows(ground, url, "ready where tenant = 'small'", 0)
        order = begun(events(marks))
    last = max(at for at, number in enumerate(order) if number >= SMALL_FROM)
    return last + 1 - SMALL


def _two_tenants(url: str, big: int) -> None:
    bench = bench_app(url)

    def calls() -> Iterator[Call]:
        for number in range(big):
            yield bench.hold.using(tenant="big").bind(number, seconds=BUSY_SECONDS)
        for number in range(SMALL):
            yield bench.hold.using(tenant="small").bind(SMALL_FROM + number, seconds=BUSY_SECONDS)

    with bench.app as app:
        app.submit_many(calls())


def jain(ground: Ground, tenants: int, each: int, big: int) -> float:
    """Return Jain's index of what many small tenants got when half of their tasks had started.

    They stand beside one tenant with a great backlog. 1 is perfectly even, 1/n the worst.
    """
    with ground.fresh() as url:
        preload(url, big)
        preload(url, tenants * each, tenants)
        ground.settle(url)
        with WorkerProcess(url):
            wait_for_rows(ground, url, "ready where tenant <> ''", 0)
        half = tenants * each // 2
        sql = (
            f"select tenant from {ground.table('finished')} where tenant <> '' "
            f"order by started_at limit {half}"
        )
        got = Counter(str(tenant) for (tenant,) in ground.rows(url, sql))
    return index_of([got.get(f"tenant-{n}", 0) for n in range(tenants)])


def index_of(got: Sequence[int]) -> float:
    """Return Jain's index.

    >>> index_of([5, 5, 5, 5]), index_of([20, 0, 0, 0])
    (1.0, 0.25)
    """
    return sum(got) ** 2 / (len(got) * sum(n * n for n in got)) if any(got) else 0.0


def class_shares(ground: Ground, each: int) -> dict[str, float]:
    """Return what each class got of a saturated queue, in percent (R7.1)."""
    with ground.fresh() as url:
        bench = bench_app(url)
        with bench.app as app:
            for priority in CLASSES.values():
                app.submit_many(
                    bench.noop.using(priority=priority).bind(n, phone="") for n in range(each)
                )
        ground.settle(url)
        # As long as all have work: the greatest part is half, so it lasts for twice its tasks.
        span = each * 2 * 3 // 4
        with WorkerProcess(url):
            wait_for_rows(ground, url, "finished", span, or_more=True)
        sql = (
            f"select priority, count(*) from (select priority from {ground.table('finished')} "
            f"order by started_at limit {span}) as first group by priority"
        )
        got = {int(priority): int(count) for priority, count in ground.rows(url, sql)}
    return {name: 100 * got.get(priority, 0) / span for name, priority in CLASSES.items()}
