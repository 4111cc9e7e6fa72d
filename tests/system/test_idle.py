"""What a worker costs when there is nothing to do, and after it has done much."""

import asyncio
import re
import time
from pathlib import Path

import psutil
import pytest

from tests.system.harness import Site, WorkerProcess, stays, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.alone]

WINDOW = 5.0
TASKS = 20_000
LOGGED = "alter database {} set log_statement = 'all'"
STATEMENT = re.compile(rb"LOG:  (?:execute \S+|statement): ")


@pytest.fixture
def worker(site: Site) -> WorkerProcess:
    """A worker that has settled down, beside many tasks that are due far ahead."""
    site.submit("note", range(2_000), {"delay": "1d"})
    if site.place.dialect == "postgres":
        # For connections that begin from now on: those of the worker, not those of the test.
        asyncio.run(site.place.rows(LOGGED.format(site.url.rpartition("/")[2])))
    worker = site.start_worker()
    site.submit("note", range(2_000, 2_001))
    site.completed(1)
    assert stays(lambda: worker.alive, 1.0)
    return worker


def test_an_idle_worker_costs_next_to_nothing(
    site: Site, worker: WorkerProcess, request: pytest.FixtureRequest
) -> None:
    """R2.4: under 1 % of a core and ten statements a second, heartbeats and duties included."""
    postgres = site.place.dialect == "postgres"
    log = request.getfixturevalue("postgres_server").log_file if postgres else None
    began, before = time.monotonic(), _statements(log)
    # A machine with much else to do makes everything cost more; it has three tries.
    quiet = any(_processor_share(worker) < 0.01 for _ in range(3))
    rate = (_statements(log) - before) / (time.monotonic() - began)

    assert quiet
    assert rate <= 10
    assert (rate > 0) == postgres


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_worker_does_not_grow_with_what_it_has_done(site: Site) -> None:
    """Case B148: as test_memory_slope has it on SQLite, for longer."""
    worker = site.start_worker(concurrency=50)
    _drain(site, TASKS)
    before = psutil.Process(worker.pid).memory_info().rss
    for _ in range(2):
        _drain(site, TASKS)

    assert psutil.Process(worker.pid).memory_info().rss - before < 10_000_000


def _drain(site: Site, count: int) -> None:
    site.app.submit_many(site.app.call("nothing", {"n": n}) for n in range(count))
    wait_until(lambda: site.rows("select 1 from ready limit 1") == [], 40)


def _statements(log: Path | None) -> int:
    """Count what a PostgreSQL server was asked for, of those whose statements it logs.

    Its own counters would not do: a connection reports to them up to ten seconds late, and they
    count what the server does for itself.
    """
    return 0 if log is None else len(STATEMENT.findall(log.read_bytes()))


def _processor_share(worker: WorkerProcess) -> float:
    """Measure for some seconds how much of a core the worker uses."""
    process = psutil.Process(worker.pid)
    before = process.cpu_times()
    assert stays(lambda: worker.alive, WINDOW)
    after = process.cpu_times()
    return float(after.user + after.system - before.user - before.system) / WINDOW
