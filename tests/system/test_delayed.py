"""Tasks that are due later: at their time, once, never before (R2.2, R2.3)."""

import time

import pytest

from tests.system.harness import Site, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.alone]

LATE = 0.5
"""Seconds; far more than a quiet machine needs, and less than any poll would take by chance."""


def test_delayed_tasks_run_once_at_their_time_with_two_workers(site: Site) -> None:
    """Case B100: the delay is longer than the lease, and nobody takes them before."""
    for _ in range(2):
        site.start_worker(lease=1)
    site.sessions(2)
    offset = time.time() - time.monotonic()
    due = {n: time.time() + 2.0 + n / 20 for n in range(20)}
    for n, at in due.items():
        site.app.submit("note", {"n": n}, run_at=_text(at))
    site.completed(20)
    late = {event.n: event.at + offset - due[event.n] for event in site.record.events("start")}

    assert site.record.times("start") == dict.fromkeys(range(20), 1)
    assert min(late.values()) >= 0
    assert max(late.values()) < LATE
    assert site.rows("select distinct fence, lost from finished") == [(1, 0)]


def test_a_short_delay_is_heard_of_by_a_worker_that_sleeps(site: Site) -> None:
    """R2.2: also when the same process just submitted something that is due now."""
    site.start_worker()
    site.sessions()
    for n in range(0, 10, 2):
        began = time.monotonic()
        site.app.submit("note", {"n": n})
        site.app.submit("note", {"n": n + 1}, delay=0.3)
        site.started(range(n + 2))
        took = site.record.events("start", n + 1)[0].at - began

        assert 0.3 <= took < 0.3 + LATE


def test_a_retry_is_on_time_whoever_runs_it(site: Site) -> None:
    """R2.2, R4.2: the worker that failed may be gone by then."""
    site.start_worker()
    site.submit("retry_once", range(5), after=0.3)
    site.completed(5)

    for n in range(5):
        first, second = site.record.events("start", n)
        assert 0.3 <= second.at - first.at < 0.3 + LATE
        assert (first.attempt, second.attempt) == (1, 2)


def test_a_delayed_task_survives_every_worker(site: Site) -> None:
    """Case B115, R2.2: the node that knew of it is killed before it is due."""
    first = site.start_worker(lease=1)
    site.sessions()
    began = time.monotonic()
    site.app.submit("note", {"n": 0}, delay=1.0)
    wait_until(lambda: site.rows("select 1 from scheduled") != [])
    first.kill()
    site.start_worker(lease=1)
    site.completed(1)

    assert 1.0 <= site.record.events("start")[0].at - began < 1.0 + LATE


def _text(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f"{at % 1:.6f}"[1:] + "Z"
