"""Stopping: take nothing more, finish what runs, hand back the rest, spend no attempt (R3.6)."""

import time

import pytest

from rota.model import State
from tests.system.harness import Site, wait_until

pytestmark = pytest.mark.slow

LEASE = 3.0
"""Seconds; a machine that stands still for one of them costs no living worker its lease."""
SOON = 8.0
"""Beyond this many seconds nothing has happened at once; what is waited for takes 30 and more."""


def test_a_worker_that_is_asked_to_stop_finishes_what_runs(site: Site) -> None:
    """R3.6: also beyond the lease, which is renewed meanwhile; the rest is left to others."""
    site.submit("note", range(2), seconds=1.5 * LEASE)
    first = site.start_worker(lease=LEASE, concurrency=2)
    site.started(range(2))
    waiting = site.submit("note", range(2, 6), seconds=0.1)
    first.terminate()
    site.start_worker(lease=LEASE)

    assert first.ended() == 0
    site.completed(6)
    assert {site.record.pid_of(n) for n in range(2)} == {first.pid}
    assert site.record.times("start") == site.record.times("end") == dict.fromkeys(range(6), 1)
    assert {site.task(task_id).attempt for task_id in waiting} == {1}


@pytest.mark.parametrize("kind", ["note", "hold"])
def test_a_second_request_hands_back_at_once(site: Site, kind: str) -> None:
    """Case B145, R3.6: no attempt is spent, and another worker takes over without any wait."""
    ids = site.submit(kind, range(3), first=60)
    first = site.start_worker(lease=30)
    site.started(range(3))
    second = site.start_worker(lease=30, concurrency=3)
    site.sessions(2)
    first.terminate()
    wait_until(lambda: "still run" in first.log)
    first.terminate()
    began = time.monotonic()
    assert first.ended(SOON) == 0
    site.completed(3)

    taken = [e for e in site.record.events("start") if e.pid == second.pid]
    assert sorted(e.n for e in taken) == [0, 1, 2]
    assert max(e.at for e in taken) - began < SOON
    assert {(t.attempt, t.lost) for t in map(site.task, ids)} == {(1, 0)}


def test_what_outlives_the_grace_time_is_handed_back(site: Site) -> None:
    """Case B145: async handlers are cancelled, threads are left behind; both tasks are ready."""
    ids = site.submit("note", range(1), seconds=30) + site.submit("hold", range(1, 2), seconds=30)
    worker = site.start_worker(lease=30, grace=0.5)
    site.started(range(2))
    worker.terminate()

    assert worker.ended(0.5 + SOON) == 0
    assert site.record.events("cancelled", 0) != []
    assert [site.task(id_).state for id_ in ids] == [State.READY] * 2
    assert site.rows("select distinct attempt, lost, session from ready") == [(0, 0, None)]


def test_delayed_tasks_are_untouched_by_stopping(site: Site) -> None:
    """Case B113: no worker ever held them."""
    site.submit("note", range(20), {"delay": "10m"})
    for round_ in range(1, 3):
        worker = site.start_worker(lease=LEASE)
        site.submit("note", range(100, 101))
        site.completed(round_)
        worker.terminate()
        assert worker.ended() == 0

    assert site.rows("select attempt, fence, count(*) from scheduled group by 1, 2") == [(0, 0, 20)]
    assert set(site.record.times("start")) == {100}
