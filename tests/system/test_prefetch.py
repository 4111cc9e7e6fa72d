"""A worker holds what it runs: nothing that is not due, nothing that another could run now."""

import time
from collections import Counter

import psutil
import pytest

from rota.model import State
from rota.node.claimer import STALE
from tests.system.harness import Site, stays

pytestmark = pytest.mark.slow

SLOTS = 3
HELD = "select session, id from ready where session is not null"


def test_a_worker_holds_none_of_what_is_not_due(site: Site) -> None:
    """Case B142: ten thousand tasks due in an hour stay in the store and out of memory."""
    worker = site.start_worker()
    site.submit("note", range(1))
    site.completed(1)
    before = psutil.Process(worker.pid).memory_info().rss
    site.submit("note", range(10_000), {"delay": "1h"})

    assert stays(lambda: site.rows("select count(*) from ready") == [(0,)], 1.5)
    assert psutil.Process(worker.pid).memory_info().rss - before < 20_000_000
    assert site.count(State.SCHEDULED) == 10_000


def test_a_free_worker_takes_at_once_what_a_busy_one_cannot_run(site: Site) -> None:
    """Case B143: a long task, then a short one; there are two workers with one slot each."""
    for _ in range(2):
        site.start_worker(concurrency=1)
    site.sessions(2)
    site.submit("wait", range(1))
    site.started(range(1))
    took = []
    for n in range(1, 6):
        began = time.monotonic()
        site.submit("note", range(n, n + 1))
        site.completed(n)
        took.append(site.record.events("start", n)[0].at - began)

    # What another reserves comes back after as long; a busy machine may be late once or twice.
    assert sorted(took)[2] < STALE
    assert site.record.pid_of(0) not in {site.record.pid_of(n) for n in range(1, 6)}
    assert site.record.events("end", 0) == []


def test_workers_hold_no_more_slow_tasks_than_they_have_slots(site: Site) -> None:
    """Case B139: the rest is there for others, and each gets its share.

    What has ended is held until its report is stored, and counts no more. The buffer covers what
    ends while a claim is under way, and no claim takes as long as these tasks.
    """
    for _ in range(2):
        site.start_worker(concurrency=SLOTS)
    site.sessions(2)
    site.submit("note", range(18), seconds=1.5)
    most = 0
    while site.count(State.COMPLETED) < 18:
        held = site.rows(HELD)
        # Read after the store: what has not ended by now had not ended then.
        ended = {event.task for event in site.record.events("end")}
        workers = Counter(str(session) for session, task in held if str(task) not in ended)
        most = max(most, *workers.values(), 0)

    assert SLOTS <= most < 2 * SLOTS
    assert {event.pid for event in site.record.events("start")} == {w.pid for w in site.workers}


def test_what_waits_behind_a_long_task_is_handed_back_to_free_workers(site: Site) -> None:
    """Case B143: quick tasks made the buffer large, then a long one came before the others."""
    calls = [site.app.call("nothing", {"n": n}) for n in range(1_000)]
    calls += [site.app.call("wait", {"n": 0})]
    calls += [site.app.call("note", {"n": n}) for n in range(1, 100)]
    first = site.start_worker(concurrency=1)
    site.sessions()
    site.app.submit_many(calls)
    site.started(range(1))
    second = site.start_worker(concurrency=1)
    site.completed(len(calls) - 1)

    assert site.record.events("end", 0) == []
    assert site.record.pid_of(0) == first.pid
    assert {e.pid for e in site.record.events("start") if e.n > 0} == {second.pid}
