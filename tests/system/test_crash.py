"""Workers that die: what they held runs again elsewhere, once to its end."""

import signal

import pytest

from rota.model import State
from tests.system.harness import Site, stays, wait_until

pytestmark = pytest.mark.slow

LEASE = 4.0
"""Seconds; a machine that stands still for two of them costs no living worker its lease."""


def test_what_a_killed_worker_held_runs_elsewhere_to_its_end(site: Site) -> None:
    """Cases B112, B121, B131, R3.1: after the lease, under a reused name, no attempt spent."""
    site.submit("note", range(5), first=60)
    first = site.start_worker(lease=LEASE, name="w1")
    site.started(range(5))
    first.kill()
    site.submit("note", range(5, 10))
    second = site.start_worker(lease=LEASE, name="w1")
    site.completed(10)

    again = [event for event in site.record.events("start") if event.pid == second.pid]
    assert sorted(event.n for event in again) == list(range(10))
    assert {event.attempt for event in again} == {1}
    assert site.record.times("end") == dict.fromkeys(range(10), 1)
    assert sorted(site.rows("select fence, lost, count(*) from finished group by 1, 2")) == [
        (1, 0, 5),
        (2, 1, 5),
    ]


def test_a_second_worker_steals_nothing_from_a_living_one(site: Site) -> None:
    """Case B110: an orphan is a task whose lease ran out, never one that I do not know."""
    site.submit("note", range(3), seconds=1.5 * LEASE)
    first = site.start_worker(lease=LEASE)
    site.started(range(3))
    site.start_worker(lease=LEASE)
    site.completed(3)

    assert [event.pid for event in site.record.events("start")] == [first.pid] * 3
    assert site.rows("select distinct fence, lost from finished") == [(1, 0)]


def test_a_task_that_kills_its_workers_is_set_aside(site: Site) -> None:
    """Cases B112, R3.8: a dead letter after three lost leases, while the others go on."""
    (killer,) = site.submit("kill_worker", range(1))
    others = site.submit("note", range(1, 4), {"priority": 10})
    for times in range(1, 4):
        worker = site.start_worker(lease=LEASE, concurrency=1)
        assert worker.ended() == -signal.SIGKILL
        assert site.record.times("start")[0] == times
    site.start_worker(lease=LEASE)
    site.completed(len(others))
    wait_until(lambda: site.task(killer).state is State.FAILED)
    dead = site.task(killer)

    assert (dead.reason, dead.lost, dead.attempt) == ("worker_lost", 3, 0)
    assert dead.errors[-1].type == "WorkerLost"
    assert stays(lambda: site.record.times("start")[0] == 3, 0.5)
