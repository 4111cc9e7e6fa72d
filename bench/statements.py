"""Counts the statements that a worker runs, each way where it can be done without touching it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from bench.options import Options
from bench.process import WorkerProcess
from bench.stores import Ground

Counter = Callable[[], int]


@contextmanager
def statement_counter(options: Options, ground: Ground, url: str) -> Iterator[Counter]:
    """Run a worker and yield a function that says how many statements it has run so far.

    PostgreSQL writes them to its log. On SQLite the worker's process traces its connections; the
    looks at `data_version`, which read no table and take no lock, are left out.
    """
    if options.store == "sqlite":
        with WorkerProcess(url, traced=True) as worker:
            yield worker.statements
        return
    name = urlsplit(url).path.removeprefix("/")
    ground.rows(url, f"alter database {name} set log_statement = 'all'")
    with WorkerProcess(url):
        yield lambda: _logged(ground, name)


def _logged(ground: Ground, name: str) -> int:
    """Return how many statements the log has of this database; looked at from another one."""
    sql = f"""
        select count(*)
        from regexp_split_to_table(pg_read_file(pg_current_logfile()), '\\n') as line
        where line like '[{name}] LOG:  execute %' or line like '[{name}] LOG:  statement: %'
    """
    return int(ground.rows(ground.home, sql)[0][0])
