"""The controls on PostgreSQL: the same rows and the same moves by raw SQL, nothing around it."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import asyncpg
from msgspec import structs

from bench.figures import Rate, Stopwatch
from bench.tasks import new_tasks
from rota.clock import Ids, wall
from rota.config import HOUR
from rota.model import Session
from rota.store.postgres.rows import TASK_COLUMNS, task_row
from rota.store.postgres.statements import execute, fetch
from rota.store.postgres.tally import minute_of
from rota.sync import new_event_loop

T = TypeVar("T")

# As Rota's own connections have it: no plan that reads a whole table.
HOT = {
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
}


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a control on the same kind of event loop as Rota's."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)


def insert(url: str, tasks: int, batch: int) -> Rate:
    """COPY the rows of so many tasks into `ready`, `batch` of them in a transaction."""
    rows = [task_row(task) for task in new_tasks(url, tasks)]
    batches = [rows[at : at + batch] for at in range(0, len(rows), batch)]
    return run(_copy(url, batches))


async def _copy(url: str, batches: Sequence[Sequence[tuple[Any, ...]]]) -> Rate:
    connection = await asyncpg.connect(url)
    try:
        await connection.fetchval("select 1")
        watch = Stopwatch()
        for batch in batches:
            await connection.copy_records_to_table(
                "ready", schema_name="rota", columns=TASK_COLUMNS, records=batch
            )
        return watch.rate(sum(map(len, batches)))
    finally:
        await connection.close()


def drain(url: str, batch: int) -> float:
    """Claim and finish all that is ready, `batch` at a time; return the processor time in seconds.

    The same statements that a worker sends, with nothing around them. One connection claims while
    the other finishes, as in a worker.
    """
    return run(_drain(url, batch))


async def _drain(url: str, batch: int) -> float:
    claimer, finisher = [await asyncpg.connect(url, server_settings=HOT) for _ in range(2)]
    session = Ids().new(wall())
    await execute(claimer, "open_session", **_session(session))
    lane = {"queues": ["default"], "classes": [2], "tenants": [""], "counts": [batch]}
    lane |= {"avoid": [], "version": 0}
    claimed: asyncio.Queue[list[Any]] = asyncio.Queue(maxsize=1)

    async def claim() -> None:
        rows = [None]
        while rows:
            rows = await fetch(claimer, "take", session=session, now=wall(), **lane)
            await claimed.put(rows)

    async def finish() -> None:
        while rows := await claimed.get():
            ids, fences = [row[0] for row in rows], [row[1] for row in rows]
            now = wall()
            await fetch(
                finisher,
                "to_completed",
                ids=ids,
                fences=fences,
                results=None,
                session=session,
                now=now,
                minute=minute_of(now),
            )

    began = time.process_time()
    await asyncio.gather(claim(), finish())
    spent = time.process_time() - began
    await claimer.close()
    await finisher.close()
    return spent


def _session(session_id: str) -> dict[str, Any]:
    now = wall()
    session = Session(
        id=session_id,
        name="control",
        host="",
        pid=0,
        version="",
        queues=(),
        kinds=(),
        slots=0,
        started_at=now,
        lease_until=now + HOUR,
    )
    return structs.asdict(session)


def commits(url: str, count: int, every: float) -> list[float]:
    """Insert one row at a time, one in `every` seconds; return how long each commit took."""
    return run(_commits(url, count, every))


async def _commits(url: str, count: int, every: float) -> list[float]:
    rows = [task_row(task) for task in new_tasks(url, count)]
    values = ", ".join(f"${n + 1}" for n in range(len(TASK_COLUMNS)))
    sql = f"insert into rota.ready ({', '.join(TASK_COLUMNS)}) values ({values})"
    connection = await asyncpg.connect(url)
    times = []
    for row in rows:
        began = time.perf_counter()
        await connection.execute(sql, *row)
        times.append(time.perf_counter() - began)
        await asyncio.sleep(every)
    await connection.close()
    return times
