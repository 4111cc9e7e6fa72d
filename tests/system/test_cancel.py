"""Running tasks that are asked to stop: soon, by their deadline, and whatever they do (R5)."""

import time

from rota.model import CancelOutcome, State
from tests.system.harness import PATIENCE, Site, stays, wait_until

LEASE = 30
SOON = 5.0
"""A request is heard of within about a second, long before the next regular heartbeat after 10."""


def cancel(site: Site, ids: list[str], deadline: float | None = None) -> None:
    """Ask every one of these running tasks to stop."""
    for task_id in ids:
        assert site.app.tasks.cancel(task_id, deadline=deadline) is CancelOutcome.ACCEPTED


def cancelled(site: Site, count: int, timeout: float = PATIENCE) -> None:
    """Wait until so many tasks are cancelled."""
    wait_until(lambda: site.count(State.CANCELLED) == count, timeout, f"{count} cancelled")


def test_a_running_handler_is_told_soon(site: Site) -> None:
    """R5.1, R5.2: an async one is cancelled where it waits."""
    ids = site.submit("note", range(1), seconds=60)
    site.start_worker(lease=LEASE)
    site.started(range(1))
    asked = time.monotonic()
    cancel(site, ids)
    cancelled(site, 1)

    assert time.monotonic() - asked < SOON
    assert site.task(ids[0]).reason == "cancelled by request"
    assert site.record.times("cancelled") == {0: 1}


def test_a_hundred_tasks_that_do_not_listen_are_ended_by_their_deadline(site: Site) -> None:
    """Issue 3, R5.2: their slots are free again, and the worker goes on."""
    ids = site.submit("deaf", range(100))
    worker = site.start_worker(lease=LEASE, concurrency=100)
    site.started(range(100))
    site.submit("note", range(100, 110))
    deadline = time.monotonic() + 2.0
    cancel(site, ids, 2.0)
    cancelled(site, 100)
    late = time.monotonic() - deadline
    site.completed(10)

    assert late < SOON
    assert {event.pid for event in site.record.events("end")} == {worker.pid}
    assert stays(lambda: site.count(State.CANCELLED) == 100, 0.5)
    worker.terminate()
    assert worker.ended() == 0


def test_what_holds_up_its_worker_loses_its_task_and_its_report_is_refused(site: Site) -> None:
    """R5.2, R3.2: the worker cannot even hear of it; another takes the task away in time."""
    (task_id,) = site.submit("burn", range(1), seconds=60.0)
    first = site.start_worker(lease=LEASE, concurrency=1)
    site.started(range(1))
    site.start_worker(lease=LEASE)
    site.sessions(2)
    cancel(site, [task_id], 1.0)
    cancelled(site, 1, 1.0 + SOON + 1.0)
    seen = time.monotonic()
    before = site.rows("select * from finished")
    site.record.release()
    wait_until(lambda: "1 results were refused" in first.log)

    assert site.record.events("end")[0].at > seen
    assert site.rows("select * from finished") == before


def test_a_thread_that_does_not_listen_leaves_its_slot(site: Site) -> None:
    """R5.2, R4.3."""
    (task_id,) = site.submit("deaf_in_thread", range(1), seconds=600.0)
    site.start_worker(lease=LEASE, concurrency=1)
    site.started(range(1))
    site.submit("note", range(1, 2))
    cancel(site, [task_id], 0.5)
    site.completed(1)

    assert "end" not in {event.what for event in site.record.events("", 0)}
    assert site.task(task_id).state is State.CANCELLED


def test_a_thread_over_its_time_limit_leaves_its_slot_and_is_tried_again(site: Site) -> None:
    """R4.3: reported as timed out while it still runs; what it returns later is dropped."""
    options = {"timeout": 0.5}
    (task_id,) = site.submit("deaf_in_thread", range(1), options, seconds=600.0)
    worker = site.start_worker(lease=LEASE, concurrency=1)
    wait_until(lambda: bool(site.task(task_id).errors))
    site.submit("note", range(1, 2))
    site.completed(1)
    task = site.task(task_id)

    assert task.errors[0].type == "TimedOut"
    assert task.state in (State.SCHEDULED, State.READY, State.RUNNING)
    assert "cannot be ended" in worker.log
