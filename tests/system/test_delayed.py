"""Tasks that are due later: at their time, once, never before (R2.2, R2.3)."""

import time

import pytest

from tests.system.harness import Site, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.alone]

LATE = 0.5
"""Seconds; far more than a quiet machine needs, and less than any poll would take by chance."""
LEASE = 2.0
TRIES = 3
"""It is the machine that may stand still; whether the worker is late, shows every time."""


def test_delayed_tasks_run_once_at_their_time_with_two_workers(site: Site) -> None:
    """Case B100: the delay is longer than the lease, and nobody takes them before."""
    for _ in range(2):
        site.start_worker(lease=LEASE)
    site.sessions(2)
    assert any(_latest(site, range(n, n + 20)) < LATE for n in range(0, 20 * TRIES, 20))
    assert site.rows("select distinct fence, lost from finished") == [(1, 0)]


def _latest(site: Site, numbers: range) -> float:
    """Submit tasks due later than a lease takes; return how late the latest of them began."""
    offset = time.time() - time.monotonic()
    due = {n: time.time() + 1.5 * LEASE + n % 20 / 20 for n in numbers}
    for n, at in due.items():
        site.app.submit("note", {"n": n}, run_at=_text(at))
    site.completed(numbers.stop)
    starts = [event for event in site.record.events("start") if event.n in due]
    late = [event.at + offset - due[event.n] for event in starts]
    assert sorted(event.n for event in starts) == list(numbers)
    assert min(late) >= 0
    return max(late)


def test_a_short_delay_is_heard_of_by_a_worker_that_sleeps(site: Site) -> None:
    """R2.2: also when the same process just submitted something that is due now."""
    site.start_worker()
    site.sessions()
    took = []
    for n in range(0, 10, 2):
        began = time.monotonic()
        site.app.submit("note", {"n": n})
        site.app.submit("note", {"n": n + 1}, delay=0.3)
        site.started(range(n + 2))
        took.append(site.record.events("start", n + 1)[0].at - began)

    assert min(took) >= 0.3
    # All but one: the machine may stand still.
    assert sorted(took)[-2] < 0.3 + LATE


def test_a_retry_is_on_time_whoever_runs_it(site: Site) -> None:
    """R2.2, R4.2: the worker that failed may be gone by then."""
    site.start_worker()
    assert any(_longest(site, range(n, n + 5)) < 0.3 + LATE for n in range(0, 5 * TRIES, 5))


def _longest(site: Site, numbers: range) -> float:
    """Have tasks fail once; return how long it took at most until they were tried again."""
    site.submit("retry_once", numbers, after=0.3)
    site.completed(numbers.stop)
    took = []
    for n in numbers:
        first, second = site.record.events("start", n)
        assert (first.attempt, second.attempt) == (1, 2)
        took.append(second.at - first.at)
    assert min(took) >= 0.3
    return max(took)


def test_a_delayed_task_survives_every_worker(site: Site) -> None:
    """Case B115, R2.2: the node that knew of it is killed before it is due."""
    first = site.start_worker(lease=LEASE)
    ((dead, _),) = site.sessions()
    began = time.monotonic()
    site.app.submit("note", {"n": 0}, delay=1.0)
    wait_until(lambda: site.rows("select 1 from scheduled") != [])
    first.kill()
    site.start_worker(lease=LEASE)
    wait_until(lambda: site.rows(f"select 1 from session where id <> '{dead}'"))
    up = time.monotonic()
    site.completed(1)
    (start,) = site.record.events("start")

    assert start.at >= began + 1.0
    assert start.at < max(began + 1.0, up) + 3 * LATE


def _text(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f"{at % 1:.6f}"[1:] + "Z"
