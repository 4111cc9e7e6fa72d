"""The controls on PostgreSQL: the same rows and the same moves by raw SQL, nothing around it."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import asyncpg

from bench.figures import Rate, Stopwatch
from bench.tasks import new_tasks
from rota.clock import Ids, wall
from rota.store.postgres.rows import TASK_COLUMNS, task_row
from rota.sync import new_event_loop

T = TypeVar("T")

# What a task takes along from `ready` to `finished`, in whatever version of the schema.
SHARED = """
select string_agg(quote_ident(column_name), ', ')
from information_schema.columns as own
where table_schema = 'rota' and table_name = 'finished' and is_generated = 'NEVER'
    and exists (
        select from information_schema.columns
        where table_schema = 'rota' and table_name = 'ready' and column_name = own.column_name
    )
"""

CLAIM = """
update rota.ready
set session = $1, fence = fence + 1, attempt = attempt + 1, started_at = $2
where ctid = any(array(
    select ctid from rota.ready
    where queue = 'default' and class = 2 and tenant = '' and session is null
    order by rank, id
    limit $3
    for update skip locked
))
returning id, fence, attempt, kind, queue, tenant, priority, run_at, created_at, payload
"""

FINISH = """
with gone as (
    delete from rota.ready
    where id = any($1::uuid[])
        and fence = ($2::bigint[])[array_position($1::uuid[], id)]
        and session = $3
    returning {columns}
)
insert into rota.finished ({columns}, state, finished_at)
select {columns}, 'completed', $4::bigint from gone
"""


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

    One connection claims while the other finishes, as in a worker.
    """
    return run(_drain(url, batch))


async def _drain(url: str, batch: int) -> float:
    claimer, finisher = await asyncpg.connect(url), await asyncpg.connect(url)
    session = Ids().new(wall())
    finishing = FINISH.format(columns=await finisher.fetchval(SHARED))
    claimed: asyncio.Queue[list[Any]] = asyncio.Queue(maxsize=1)

    async def claim() -> None:
        rows = [None]
        while rows:
            rows = await claimer.fetch(CLAIM, session, wall(), batch)
            await claimed.put(rows)

    async def finish() -> None:
        while rows := await claimed.get():
            ids, fences = [row[0] for row in rows], [row[1] for row in rows]
            await finisher.execute(finishing, ids, fences, session, wall())

    began = time.process_time()
    await asyncio.gather(claim(), finish())
    spent = time.process_time() - began
    await claimer.close()
    await finisher.close()
    return spent


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
