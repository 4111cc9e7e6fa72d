"""Several workers under one process, which replaces those that die (R8.2)."""

import os
import signal

import psutil
import pytest

from tests.system.harness import Site, WorkerProcess, gone, wait_until

pytestmark = pytest.mark.slow

LEASE = 10.0
"""Seconds; where a death is seen at once nobody waits for them."""


def children(parent: WorkerProcess, count: int = 2) -> list[int]:
    """Wait until the supervisor has so many living children; return their ids."""

    def find() -> list[int]:
        found = [child.pid for child in parent.children()]
        return found if len(found) == count else []

    return wait_until(find)


@pytest.fixture
def parent(sqlite_site: Site) -> WorkerProcess:
    """A supervisor of two workers that have begun to work."""
    parent = sqlite_site.start_worker(processes=2, lease=LEASE, concurrency=2)
    sqlite_site.sessions(2)
    return parent


def test_a_worker_that_dies_is_replaced(sqlite_site: Site, parent: WorkerProcess) -> None:
    """R3.1: by a new process; what the dead one held runs elsewhere."""
    site = sqlite_site
    site.submit("note", range(4), first=60)
    site.started(range(4))
    victim = site.record.pid_of(0)
    os.kill(victim, signal.SIGKILL)
    lost = len({e.n for e in site.record.events("start") if e.pid == victim})
    wait_until(lambda: victim not in children(parent))
    site.completed(lost)

    assert f"ended with {-signal.SIGKILL}" in parent.log
    assert parent.alive


def test_stopping_the_supervisor_stops_its_workers_in_good_order(
    sqlite_site: Site, parent: WorkerProcess
) -> None:
    """R3.6: what runs is finished, and the exit code says that all went well."""
    site = sqlite_site
    below = [psutil.Process(pid) for pid in children(parent)]
    site.submit("note", range(4), seconds=1.0)
    site.started(range(4))
    parent.terminate()

    assert parent.ended() == 0
    assert gone(below)
    assert site.record.times("end") == dict.fromkeys(range(4), 1)


def test_a_killed_supervisor_leaves_no_worker_behind(
    sqlite_site: Site, parent: WorkerProcess
) -> None:
    """R3.6: its workers notice, finish what runs and end."""
    site = sqlite_site
    below = [psutil.Process(pid) for pid in children(parent)]
    site.submit("note", range(4), seconds=1.0)
    site.started(range(4))
    parent.kill()
    wait_until(lambda: gone(below))

    assert site.record.times("end") == dict.fromkeys(range(4), 1)
    assert site.rows("select id from session where closed_at is null") == []
