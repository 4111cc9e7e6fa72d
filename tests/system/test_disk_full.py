"""A disk that is full: callers are told, workers wait, and what was accepted stays (F19)."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rota import StoreFull
from rota.model import State
from tests.system.harness import Site, wait_until

pytestmark = pytest.mark.slow


@contextmanager
def full(site: Site, pid: int = 0, room: int = 0) -> Iterator[None]:
    """Let the log of a process's writes grow by `room` bytes and no more, nor any longer file."""
    size = (site.folder / "rota.db-wal").stat().st_size
    _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + room, most))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))


def fill(site: Site, accepted: list[str]) -> None:
    """Submit one task after the other until there is an error."""
    for n in range(10_000):
        accepted += site.submit("note", range(n, n + 1))


def test_a_caller_is_told_that_the_disk_is_full(sqlite_site: Site) -> None:
    """Case B169: an error at once, nothing half stored, and it works again with room."""
    site = sqlite_site
    accepted = site.submit("note", range(1))
    with full(site, room=100_000), pytest.raises(StoreFull):
        fill(site, accepted)
    accepted += site.submit("note", range(10))

    assert sorted(id_ for (id_,) in site.rows("select id from ready")) == sorted(accepted)
    assert site.rows("pragma integrity_check") == [("ok",)]


def test_results_wait_for_room_on_the_disk(sqlite_site: Site) -> None:
    """F19: what succeeded is neither reported as failed nor run again."""
    site = sqlite_site
    site.submit("wait", range(40))
    worker = site.start_worker(lease=30, concurrency=20)
    site.started(range(20))
    with full(site, worker.pid):
        site.record.release()
        wait_until(lambda: "could not be reported yet" in worker.log)
    site.completed(40)

    assert site.record.times("start") == dict.fromkeys(range(40), 1)
    assert site.rows("select distinct attempt, lost from finished") == [(1, 0)]


def test_a_worker_outlives_a_disk_that_is_full_for_long(sqlite_site: Site) -> None:
    """F19, case B169: it loses its lease, waits for room, and goes on by itself."""
    site = sqlite_site
    site.submit("note", range(10), seconds=0.2, first=60)
    worker = site.start_worker(lease=2)
    site.started(range(10))
    with full(site, worker.pid):
        wait_until(lambda: len(site.record.events("cancelled")) == 10)
        wait_until(lambda: "the session is unavailable" in worker.log)
    site.completed(10)

    assert worker.alive
    assert site.count(State.FAILED) == 0
    assert site.rows("pragma integrity_check") == [("ok",)]
