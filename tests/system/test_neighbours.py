"""A worker that is killed is missed at once by whoever shares its machine, and by nobody else."""

import os
import shutil
import signal
import subprocess
import time

import psutil
import pytest

from rota.node.neighbours import own_mark
from tests.system.harness import Site, stays, wait_until

LEASE = 60
"""So long that nothing in here can come of its end."""
AT_ONCE = 2.0

pytestmark = pytest.mark.skipif(own_mark() is None, reason="needs Linux's /proc")


def test_what_a_killed_worker_held_runs_again_within_two_seconds(site: Site) -> None:
    """Issue 3: on the same machine nobody waits for the lease."""
    # It is the machine that may be late; whether the neighbour is, shows every time.
    assert any(_again_after(site, range(n, n + 5)) < AT_ONCE for n in (0, 5, 10))
    assert site.rows("select distinct fence, lost, attempt from finished") == [(2, 1, 1)]


def _again_after(site: Site, numbers: range) -> float:
    """Kill a worker beside another one; return after how many seconds all ran there."""
    site.submit("note", numbers, first=60)
    first = site.start_worker(lease=LEASE)
    site.started(numbers)
    second = site.start_worker(lease=LEASE)
    site.sessions(2)
    first.kill()
    killed = time.monotonic()
    site.completed(numbers.stop)
    again = [event for event in site.record.events("start") if event.pid == second.pid]
    assert sorted(event.n for event in again) == list(numbers)
    second.terminate()
    assert second.ended() == 0
    return max(event.at for event in again) - killed


def test_a_worker_that_is_started_after_the_death_sees_it_too(site: Site) -> None:
    """Nobody was there when it happened."""
    site.submit("note", range(3), first=60)
    first = site.start_worker(lease=LEASE)
    site.started(range(3))
    first.kill()
    site.start_worker(lease=LEASE)
    site.completed(3)

    assert site.rows("select distinct lost from finished") == [(1,)]


def test_a_supervisor_tells_of_the_death_of_its_child(site: Site) -> None:
    """R8.2: its tasks run again although there is no other worker to see it."""
    site.submit("note", range(2), first=60)
    parent = site.start_worker(processes=2, lease=LEASE, concurrency=1)
    site.started(range(2))
    victim = site.record.pid_of(0)
    other = site.record.pid_of(1)
    # The other one stands still, so that it cannot be what sees the death.
    os.kill(other, signal.SIGSTOP)
    os.kill(victim, signal.SIGKILL)
    killed = time.monotonic()
    try:
        sql = f"select 1 from session where pid = {victim} and closed_at is not null"
        wait_until(lambda: site.rows(sql))
        seconds = time.monotonic() - killed
    finally:
        os.kill(other, signal.SIGCONT)
    site.completed(1)

    assert seconds < 4 * AT_ONCE, "long before the lease ends"
    assert parent.alive
    assert psutil.pid_exists(other)


def test_a_worker_that_stands_still_is_left_to_its_lease(site: Site) -> None:
    """It is not dead: it may go on at any moment."""
    site.submit("note", range(1), first=60)
    first = site.start_worker(lease=LEASE)
    site.started(range(1))
    site.start_worker(lease=LEASE)
    site.sessions(2)
    first.pause()

    assert stays(lambda: len(site.rows("select 1 from session where closed_at is null")) == 2, 3.0)
    first.resume()


def test_a_worker_in_another_namespace_is_left_to_its_lease(site: Site) -> None:
    """Its process has another number here, and what has its number is another process."""
    command = [shutil.which("unshare") or "", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if not command[0] or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("no pid namespace can be made here")
    site.submit("note", range(2), first=4.0)
    inside = site.start_worker(under=command, lease=LEASE)
    site.started(range(2))
    outside = site.start_worker(lease=LEASE)
    site.sessions(2)
    site.completed(2)

    assert outside.alive
    assert site.rows("select distinct fence, lost from finished") == [(1, 0)]
    inside.kill()
    # Dead now, but whoever is outside cannot know that.
    assert stays(lambda: len(site.rows("select 1 from session where closed_at is null")) == 2, 3.0)
