"""Effects in the database that Rota lies in happen once, whenever the worker is killed (R3.5)."""

import asyncio
import signal

from rota.model import State
from tests.system.effects import TABLE
from tests.system.harness import Site

LEASE = 6.0
"""Seconds; where a death is seen at once nobody waits for them, and no living worker loses it."""
SHORT = 2.0


def test_a_batch_that_is_killed_halfway_goes_on_and_repeats_nothing(site: Site) -> None:
    """R3.5: from its checkpoint; the effects that came after that are found to be done."""
    _make_table(site)
    (task_id,) = site.submit("send_each", range(1), total=500, kill_after=274)
    assert site.start_worker(lease=LEASE).ended() == -signal.SIGKILL
    assert len(_sent(site)) == 275

    site.start_worker(lease=LEASE)
    site.completed(1)

    assert sorted(_sent(site)) == list(range(500))
    assert site.task(task_id).result == 250
    assert site.record.times("start")[0] == 2


def test_what_is_completed_in_its_own_transaction_does_not_run_again(site: Site) -> None:
    """R3.5: the worker is killed right after the commit, and nothing was reported."""
    _make_table(site)
    (task_id,) = site.submit("send_and_complete", range(1), kill="after")
    assert site.start_worker(lease=SHORT).ended() == -signal.SIGKILL
    assert site.task(task_id).state is State.COMPLETED

    site.leases_over()
    site.submit("send_and_complete", range(1, 4))
    worker = site.start_worker(lease=LEASE)
    site.completed(4)

    assert sorted(_sent(site)) == [0, 1, 2, 3]
    assert site.record.times("start") == dict.fromkeys(range(4), 1)
    assert site.task(task_id).result == {"sent": 0}
    worker.terminate()
    assert worker.ended() == 0
    assert "3 results reported, 0 refused" in worker.log


def test_what_was_not_committed_runs_again(site: Site) -> None:
    """R3.5: the worker is killed right before the commit."""
    _make_table(site)
    site.submit("send_and_complete", range(1), kill="before")
    assert site.start_worker(lease=LEASE).ended() == -signal.SIGKILL
    assert _sent(site) == []

    site.start_worker(lease=LEASE)
    site.completed(1)

    assert _sent(site) == [0]
    assert site.record.times("start")[0] == 2


def _make_table(site: Site) -> None:
    asyncio.run(site.place.run(f"create table {TABLE[site.place.dialect]} (n integer)"))


def _sent(site: Site) -> list[int]:
    return [n for (n,) in site.rows(f"select n from {TABLE[site.place.dialect]}")]
