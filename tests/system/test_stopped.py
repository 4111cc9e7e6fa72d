"""A worker that stands still beyond its lease: it comes back to find that it holds nothing."""

import re

import pytest

from tests.system.harness import Site, WorkerProcess, wait_until

pytestmark = pytest.mark.slow

LEASE = 2.0
LONG = 20.0
"""The lease of who takes over: a busy machine must not cost it."""


@pytest.mark.parametrize("kind", ["outlive", "outlive_in_thread"])
def test_a_worker_that_was_stopped_changes_nothing_when_it_goes_on(site: Site, kind: str) -> None:
    """Case B109, R3.2: the rows of what ran elsewhere meanwhile stay as they are."""
    site.submit(kind, range(4))
    first = site.start_worker(lease=LEASE)
    site.started(range(4))
    first.pause()
    second = site.start_worker(lease=LONG)
    site.completed(4)
    before = site.rows("select * from finished order by id")
    first.resume()
    _goes_on(site, first, second)

    assert site.rows("select * from finished where fence > 1 order by id") == before
    ended = [(event.pid, event.fence) for event in site.record.events("end") if event.n < 4]
    assert ended.count((second.pid, 2)) == 4
    assert len(site.rows("select id from session")) == 3


def test_a_report_of_a_session_that_is_over_is_refused_and_counted(site: Site) -> None:
    """Case B109, R3.2: the fence of an old hand-out opens nothing."""
    site.submit("outlive", range(3))
    # It must not ask the store before its next regular beat, or it would know.
    first = site.start_worker(lease=30, soonest=30)
    site.started(range(3))
    # What a reaper would do if the worker had been silent for its whole lease.
    site.rows("update session set closed_at = 1")
    second = site.start_worker(lease=LONG)
    site.completed(3)
    wait_until(lambda: _refused(first) == 3)
    first.terminate()

    assert first.ended() == 0
    assert "0 results reported, 3 refused" in first.log
    assert site.rows("select distinct fence, lost, session from finished") == [
        (2, 1, site.sessions()[0][0])
    ]
    assert site.sessions()[0][1] == second.pid


def test_one_worker_runs_again_what_it_lost_itself(site: Site) -> None:
    """R3.2: alone in the world it takes the task anew while the thread of old still runs."""
    site.submit("outlive_in_thread", range(2))
    worker = site.start_worker(lease=LEASE)
    site.started(range(2))
    worker.pause()
    site.leases_over()
    worker.resume()
    site.submit("hold", range(2, 4))
    site.completed(4)
    wait_until(lambda: site.record.times("end")[0] == site.record.times("end")[1] == 2)

    for n in range(2):
        assert [event.fence for event in site.record.events("start", n)] == [1, 2]
        assert [event.fence for event in site.record.events("end", n)] == [2, 1]


def _refused(worker: WorkerProcess) -> int:
    return sum(int(count) for count in re.findall(r"(\d+) results were refused", worker.log))


def _goes_on(site: Site, first: WorkerProcess, second: WorkerProcess) -> None:
    """Wait until the first worker has its new session, and see that it works under it."""
    wait_until(lambda: "is over; its tasks run elsewhere" in first.log)
    second.terminate()
    assert second.ended() == 0
    site.submit("note", range(10, 12))
    site.completed(6)
    assert site.record.pid_of(10) == first.pid
