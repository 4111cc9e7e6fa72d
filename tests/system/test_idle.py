"""What a worker costs when there is nothing to do, and after it has done much."""

import asyncio
import time

import psutil
import pytest

from rota.contrib.embedded import EmbeddedPostgres
from tests.support.places import Place
from tests.system.harness import Site, WorkerProcess, stays, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.alone]

WINDOW = 5.0
TASKS = 20_000
STATEMENTS = "select xact_commit + xact_rollback from pg_stat_database where datname = '{}'"


@pytest.fixture
def worker(site: Site) -> WorkerProcess:
    """A worker that has settled down, beside many tasks that are due far ahead."""
    site.submit("note", range(2_000), {"delay": "1d"})
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
    server = request.getfixturevalue("postgres_server") if postgres else None
    began, before = time.monotonic(), _statements(site, server)
    # A machine with much else to do makes everything cost more; it has three tries.
    quiet = any(_processor_share(worker) < 0.01 for _ in range(3))
    rate = (_statements(site, server) - before) / (time.monotonic() - began)

    assert quiet
    assert rate <= 10
    assert (rate > 0) == postgres


def test_a_worker_does_not_grow_with_what_it_has_done(site: Site) -> None:
    """Case B148: results that nobody reads, errors and reports leave nothing behind."""
    worker = site.start_worker(concurrency=50)
    _drain(site, TASKS)
    before = psutil.Process(worker.pid).memory_info().rss
    for _ in range(2):
        _drain(site, TASKS)

    assert psutil.Process(worker.pid).memory_info().rss - before < 10_000_000


def _drain(site: Site, count: int) -> None:
    site.app.submit_many(site.app.call("nothing", {"n": n}) for n in range(count))
    wait_until(lambda: site.rows("select 1 from ready limit 1") == [], 40)


def _statements(site: Site, server: EmbeddedPostgres | None) -> int:
    """How many statements there were on PostgreSQL, asked for from another database."""
    if server is None:
        return 0
    sql = STATEMENTS.format(site.url.rpartition("/")[2])
    ((count,),) = asyncio.run(Place("postgres", server.url).rows(sql))
    return int(count)


def _processor_share(worker: WorkerProcess) -> float:
    """Measure for some seconds how much of a core the worker uses."""
    process = psutil.Process(worker.pid)
    before = process.cpu_times()
    assert stays(lambda: worker.alive, WINDOW)
    after = process.cpu_times()
    return float(after.user + after.system - before.user - before.system) / WINDOW
