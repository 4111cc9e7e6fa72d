"""What a purge of old history costs the claims beside it (R9.5, F56)."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from threading import Event
from typing import Final

from msgspec import Struct

from bench.app import bench_app
from bench.figures import Pair, Waits, median_ratio, percentile
from bench.options import Dialect, Options
from bench.report import Result
from bench.stores import Ground, count_rows
from bench.tasks import calls
from rota.backend import Backend, Report
from rota.clock import Ids, new_rng, wall
from rota.config import DAY, HOUR, KEEP_FINISHED, LEASE
from rota.model import Micros, Session
from rota.node.duties import Duties
from rota.policy.lifecycle import Completed
from rota.policy.retry import Backoff
from rota.sync import new_event_loop

TASKS = 1_000_000
ROUNDS = 1
"""A round takes minutes, and has thousands of claims."""
SECONDS = 20.0
"""How long the claims are measured: in peace, and during the purge at least so long."""
CLAIM = 10
EVERY = 0.02
"""A claim of so many tasks, once in so many seconds."""
WARM_UP = 25
"""The first claims open connections and prepare statements; they are not counted."""
DAYS = 4
"""The history that goes was finished on so many days."""
LOOK = 0.05
BUSY = 1.0
"""A pruner that wants to wait for longer than this has found nothing."""

_COLUMNS = "id, kind, queue, tenant, priority, {more}run_at, rank, created_at, payload, state"
_FILL: Final = {
    "sqlite": """
        insert into finished ({columns}, finished_at, result)
        with recursive counter (n) as (
            select 1 union all select n + 1 from counter where n < {tasks}
        )
        select format('%08x-%04x-7000-8000-%012x', n / 1000, n % 1000, n), 'noop', 'default', '',
            5, {begin} + n * {step}, 0, {begin} + n * {step},
            '{{"student_id":' || n || ',"phone":"+91-9800000000-results"}}', 'completed',
            {begin} + n * {step}, '"sent"'
        from counter
    """,
    "postgres": """
        insert into rota.finished ({columns}, finished_at, result)
        select format('%s-%s-7000-8000-%s', lpad(to_hex(n / 1000), 8, '0'),
                lpad(to_hex(n % 1000), 4, '0'), lpad(to_hex(n), 12, '0'))::uuid,
            'noop', 'default', '', 5, 2, {begin} + n * {step}::bigint, 0,
            {begin} + n * {step}::bigint,
            jsonb_build_object('student_id', n, 'phone', '+91-9800000000-results'), 'completed',
            {begin} + n * {step}::bigint, '"sent"'
        from generate_series(1, {tasks}) as n
    """,
}


class Round(Struct, frozen=True):
    """How long the claims of one store took, in seconds, before the purge and during it."""

    calm: list[float]
    beside: list[float]
    seconds: float


def run(options: Options, ground: Ground) -> Result:
    """Measure claims on a store with much old history, first in peace, then while it goes."""
    tasks = options.tasks or TASKS
    rounds = [
        _measured(ground, options.store, tasks, options.seconds or SECONDS)
        for _ in range(min(options.rounds, ROUNDS))
    ]
    waits = [wait for each in rounds for wait in each.beside]
    calm = [wait for each in rounds for wait in each.calm]
    pairs = tuple(
        Pair(percentile(each.beside, 0.99), percentile(each.calm, 0.99)) for each in rounds
    )
    return Result(
        scenario="purge",
        store=options.store,
        tasks=tasks * len(rounds),
        seconds=sum(each.seconds for each in rounds),
        rate=tasks / median(each.seconds for each in rounds),
        ratio=median_ratio(pairs),
        what=f"{tasks:,} finished tasks go as the pruner lets them; beside it, claims of {CLAIM}",
        control="the same claims on the same store before the purge; ratio of the p99",
        waits=Waits.of(waits),
        pairs=pairs,
        more={"calm_p50_ms": median(calm) * 1e3, "calm_p99_ms": percentile(calm, 0.99) * 1e3},
    )


def _measured(ground: Ground, store: Dialect, tasks: int, seconds: float) -> Round:
    with ground.fresh() as url, tempfile.TemporaryDirectory(prefix="rota-bench-") as folder:
        fill(ground, store, url, tasks)
        ground.settle(url)
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            waits = _claimed(pool, url, Path(folder) / "calm", seconds, lambda: None)
            took = 0.0

            def purging() -> None:
                nonlocal took
                took = pool.submit(purge, url).result()

            beside = _claimed(pool, url, Path(folder) / "beside", seconds, purging)
            _check(ground, url, tasks)
            return Round(waits, beside, took)


def _claimed(
    pool: ProcessPoolExecutor, url: str, signs: Path, seconds: float, meanwhile: Callable[[], None]
) -> list[float]:
    """Return the times of claims that go on for so long, and while something else is done."""
    signs.mkdir()
    measuring = pool.submit(claims, url, str(signs))
    ended = Event()
    measuring.add_done_callback(lambda _: ended.set())
    while not (signs / "warm").exists() and not ended.wait(LOOK):
        pass
    began = time.monotonic()
    try:
        meanwhile()
        ended.wait(max(began + seconds - time.monotonic(), 0))
    finally:
        (signs / "over").touch()
    return measuring.result()


def _check(ground: Ground, url: str, tasks: int) -> None:
    old = f"finished where finished_at < {wall() - KEEP_FINISHED - HOUR}"
    if left := count_rows(ground, url, old):
        raise RuntimeError(f"{left:,} of {tasks:,} old tasks are left")


def fill(ground: Ground, store: Dialect, url: str, tasks: int) -> None:
    """Add history that is kept no longer, finished at an even pace."""
    columns = _COLUMNS.format(more="class, " if store == "postgres" else "")
    begin = wall() - KEEP_FINISHED - (DAYS + 1) * DAY
    if store == "postgres":
        _make_days(ground, url, begin)
    sql = _FILL[store].format(
        columns=columns, tasks=tasks, begin=begin, step=DAYS * DAY // (tasks + 1)
    )
    ground.rows(url, sql)


def _make_days(ground: Ground, url: str, begin: Micros) -> None:
    """Make the partitions that pruners would have made ahead of these days."""
    from rota.store.postgres.history import Day

    for n in range(DAYS + 1):
        day = Day.of(begin + n * DAY)
        ground.rows(
            url,
            f"create table rota.{day.partition} partition of rota.finished "
            f"for values from ({day.begin}) to ({day.end})",
        )


def purge(url: str) -> float:
    """Prune as a worker's pruner does until nothing old is left; return the seconds it took."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_purge(url))


async def _purge(url: str) -> float:
    backend = bench_app(url).app.connect()
    await backend.open()
    duties = Duties(backend, LEASE, new_rng(), staged=lambda: None)
    began = time.perf_counter()
    while (wait := await duties.prune()) < BUSY:  # noqa: ASYNC110 - as a duty waits
        await asyncio.sleep(wait)
    took = time.perf_counter() - began
    await backend.close()
    return took


def claims(url: str, signs: str) -> list[float]:
    """Submit, claim and finish at an even pace; return how long the claims took.

    When it is warm it makes a file of that name in the folder, and ends at one named `over`.
    """
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_claims(url, (Path(signs) / "over").exists, (Path(signs) / "warm").touch))


async def _claims(url: str, over: Callable[[], bool], warm: Callable[[], None]) -> list[float]:
    bench = bench_app(url)
    backend = bench.app.connect()
    await backend.open()
    session = _session()
    await backend.open_session(session)
    times: list[float] = []
    while not over():
        began = time.perf_counter()
        now = backend.clock.now()
        made = zip(calls(bench, CLAIM), Ids().many(now, CLAIM), strict=True)
        await backend.submit([call.task(task_id, now) for call, task_id in made])
        times.append(await _claim(backend, session.id))
        if len(times) == WARM_UP:
            warm()
        await asyncio.sleep(max(began + EVERY - time.perf_counter(), 0))
    await backend.close_session(session.id)
    await backend.close()
    return times[WARM_UP:]


async def _claim(backend: Backend, session_id: str) -> float:
    began = time.perf_counter()
    claimed = (await backend.claim(session_id, ["default"], CLAIM, ())).tasks
    took = time.perf_counter() - began
    if len(claimed) != CLAIM:
        raise RuntimeError(f"a claim got {len(claimed)} of {CLAIM} tasks")
    reports = [Report(task, Completed(), Backoff()) for task in claimed]
    await backend.finish(session_id, reports)
    return took


def _session() -> Session:
    now = wall()
    return Session(
        Ids().new(now), "bench", "here", 1, "0", ("default",), ("noop",), CLAIM, now, now + DAY
    )
