"""The controls on SQLite: the same rows and the same moves by raw SQL, nothing around it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import msgspec

from bench.figures import Rate, Stopwatch
from bench.tasks import new_tasks
from rota.clock import Ids, wall
from rota.store.sqlite.connection import connect

_NEW = """
    id, kind, queue, tenant, priority, run_at, rank, created_at,
    payload, timeout, retry, expires_at, key, tags, headers
"""
# What a task takes along from `ready` to `finished`, in whatever version of the schema.
SHARED = """
select group_concat(own.name, ', ')
from pragma_table_xinfo('finished') as own
join pragma_table_xinfo('ready') as other on other.name = own.name
where own.hidden = 0
"""

INSERT = f"insert into ready ({_NEW}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

CLAIM = """
update ready
set session = ?, fence = fence + 1, attempt = attempt + 1, started_at = ?
where rowid in (
    select rowid from ready
    where queue = 'default' and class = 2 and tenant = '' and session is null
    order by rank, id
    limit ?
)
returning id, fence, attempt, kind, queue, tenant, priority, run_at, created_at, payload
"""

FINISH = """
insert into finished ({columns}, state, finished_at)
select {columns}, 'completed', ? from ready
where id in (select value from json_each(?)) and +session = ?
"""

LEAVE = "delete from ready where id in (select value from json_each(?)) and +session = ?"


def insert(url: str, tasks: int, batch: int) -> Rate:
    """Insert the rows of so many tasks into `ready`, `batch` of them in a transaction."""
    rows = [
        (
            task.id, task.kind, task.queue, task.tenant, task.priority, task.run_at, task.rank,
            task.created_at, task.payload, task.timeout, None, None, None, None, None,
        )
        for task in new_tasks(url, tasks)
    ]  # fmt: skip
    with _connection(url) as connection:
        watch = Stopwatch()
        for at in range(0, len(rows), batch):
            connection.execute("begin immediate")
            connection.executemany(INSERT, rows[at : at + batch])
            connection.execute("commit")
        return watch.rate(tasks)


def drain(url: str, batch: int) -> float:
    """Claim and finish all that is ready, `batch` at a time; return the processor time in seconds.

    Each claim and each finish is a transaction, as they are for a worker.
    """
    session = Ids().new(wall())
    began = time.process_time()
    with _connection(url) as connection:
        finishing = FINISH.format(columns=connection.execute(SHARED).get)
        while True:
            connection.execute("begin immediate")
            rows = list(connection.execute(CLAIM, (session, wall(), batch)))
            connection.execute("commit")
            if not rows:
                return time.process_time() - began
            ids = msgspec.json.encode([row[0] for row in rows]).decode()
            connection.execute("begin immediate")
            connection.execute(finishing, (wall(), ids, session))
            connection.execute(LEAVE, (ids, session))
            connection.execute("commit")


def commits(url: str, count: int, every: float) -> list[float]:
    """Insert one row at a time, one in `every` seconds; return how long each commit took."""
    times = []
    with _connection(url) as connection:
        for task in new_tasks(url, count):
            row = (
                task.id, task.kind, task.queue, task.tenant, task.priority, task.run_at,
                task.rank, task.created_at, task.payload, *[None] * 6,
            )  # fmt: skip
            began = time.perf_counter()
            connection.execute("begin immediate")
            connection.execute(INSERT, row)
            connection.execute("commit")
            times.append(time.perf_counter() - began)
            time.sleep(every)
    return times


@contextmanager
def _connection(url: str) -> Iterator[apsw.Connection]:
    # Set up as the store sets its own up: equally durable, equally large a cache.
    connection = connect(Path(url.removeprefix("sqlite:///")))
    try:
        yield connection
    finally:
        connection.close()
