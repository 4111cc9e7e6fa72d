"""Handlers in processes: they keep the lease, and die without taking others along (R8.2)."""

import os
import signal

import psutil

from rota.model import State
from tests.system.harness import Site, WorkerProcess, gone, wait_until
from tests.system.heavy import with_heavy

LEASE = 3.0
"""Seconds; a machine that stands still for one of them costs no living worker its lease."""
SIZE = 3


def pool_of(worker: WorkerProcess, count: int = SIZE) -> list[int]:
    """Wait until the worker's pool has so many processes; return their ids."""

    def find() -> list[int]:
        children = psutil.Process(worker.pid).children()
        return pids if len(pids := [child.pid for child in children]) == count else []

    return wait_until(find, what=f"{count} processes")


def test_a_process_that_burns_time_keeps_its_lease(site: Site) -> None:
    """Case B130, R3.1: several lease lengths of pure Python."""
    with_heavy(site.app, site.record)
    site.submit("burn_in_process", range(1), seconds=1.5 * LEASE)
    site.start_worker(lease=LEASE, concurrency=1, pool=1)
    site.started(range(1))
    site.start_worker(lease=LEASE)
    site.completed(1)

    assert site.record.times("start") == {0: 1}
    assert site.rows("select distinct fence, lost from finished") == [(1, 0)]


def test_a_full_pool_survives_the_death_of_any_process(site: Site) -> None:
    """R8.2: kill -9 costs the one task an attempt; the worker and the others go on."""
    with_heavy(site.app, site.record)
    ids = site.submit("hold_in_process", range(SIZE), first=60)
    worker = site.start_worker(concurrency=10, pool=SIZE)
    site.started(range(SIZE))
    assert set(pool_of(worker)) == {event.pid for event in site.record.events("start")}

    for n in range(SIZE):
        os.kill(site.record.pid_of(n), signal.SIGKILL)
        site.completed(n + 1)
        done = site.task(ids[n])
        assert (done.state, done.attempt) == (State.COMPLETED, 2)
        assert [error.type for error in done.errors] == ["ProcessDied"]
        assert "SIGKILL" in done.errors[0].message
        assert site.count(State.RUNNING) == SIZE - n - 1
    site.submit("note", range(9, 10))
    site.completed(SIZE + 1)

    assert worker.alive
    assert site.record.times("end") == {0: 1, 1: 1, 2: 1, 9: 1}


def test_the_processes_of_a_killed_worker_end_with_it(site: Site) -> None:
    """R3.1: what they did would not be theirs to do any more."""
    with_heavy(site.app, site.record)
    site.submit("hold_in_process", range(SIZE), first=60)
    worker = site.start_worker(lease=LEASE, pool=SIZE)
    site.started(range(SIZE))
    processes = [psutil.Process(pid) for pid in pool_of(worker)]
    worker.kill()

    wait_until(lambda: gone(processes))


def test_a_service_manager_that_signals_every_process_costs_nothing(site: Site) -> None:
    """R3.6: SIGTERM to the worker and to its children alike; what runs is finished."""
    with_heavy(site.app, site.record)
    site.submit("hold_in_process", range(SIZE), first=1.0)
    worker = site.start_worker(pool=SIZE)
    site.started(range(SIZE))
    for pid in pool_of(worker):
        os.kill(pid, signal.SIGTERM)
    worker.terminate()

    assert worker.ended() == 0
    assert site.record.times("end") == dict.fromkeys(range(SIZE), 1)
    assert site.rows("select count(*) from finished where attempt = 1") == [(SIZE,)]


def test_what_a_process_cannot_finish_in_time_is_handed_back(site: Site) -> None:
    """R3.6: killed, and no attempt is spent."""
    with_heavy(site.app, site.record)
    (task,) = site.submit("hold_in_process", range(1), first=60)
    worker = site.start_worker(pool=1, grace=0)
    site.started(range(1))
    worker.terminate()

    assert worker.ended() == 0
    assert (site.task(task).state, site.task(task).attempt) == (State.READY, 0)
