"""Schedules on real workers: each slot once, whoever is killed, stopped or started (R6.4)."""

import time
from itertools import pairwise
from typing import Any

import pytest

from rota.config import SECOND
from rota.schedule import SlotState
from tests.system.harness import Site, wait_until

pytestmark = pytest.mark.slow

LEASE = 1.0
TICK = 1.0
SPARE = 4.0
"""Seconds; a busy machine may take so long to start a handler."""


def fired(site: Site, name: str) -> list[Any]:
    """What became of the slots so far, the oldest first."""
    return list(reversed(site.app.schedules.slots(name, limit=100)))


def test_a_killed_worker_costs_no_slot_and_doubles_none(site: Site) -> None:
    """Case B119, B104: two workers, one is killed in the middle; the gap is below lease + tick."""
    workers = [site.start_worker(lease=LEASE) for _ in range(2)]
    site.sessions(2)
    schedule = site.app.schedules.create(
        "note", every="1s", overlap="allow", name="each-second", payload={"n": 1}
    )
    wait_until(lambda: len(fired(site, "each-second")) >= 2)
    workers[0].kill()
    wait_until(lambda: len(fired(site, "each-second")) >= 5)
    site.app.schedules.pause("each-second")
    slots = fired(site, "each-second")
    site.completed(len(slots))

    assert {slot.state for slot in slots} == {SlotState.FIRED}
    assert [b.slot - a.slot for a, b in pairwise(slots)] == [SECOND] * (len(slots) - 1)
    assert max(b.at - a.at for a, b in pairwise(slots)) < (LEASE + TICK + SPARE) * SECOND
    assert min(slot.at - slot.slot for slot in slots) >= 0
    tasks = site.rows("select slot, count(*) from finished group by slot order by slot")
    assert tasks == [(slot.slot, 1) for slot in slots]
    starts = [event.at for event in site.record.events("start", 1)]
    assert max(b - a for a, b in pairwise(sorted(starts))) < LEASE + TICK + SPARE
    assert site.app.schedules.get(schedule.id).fired == len(slots)


def test_restarts_make_no_copies_of_a_declared_schedule(site: Site) -> None:
    """Case B103: five restarts within one interval leave one schedule that comes once."""
    seen = set()
    ahead = (time.gmtime().tm_mon + 5) % 12 + 1
    for _ in range(5):
        worker = site.start_worker(recurring=f"0 0 1 {ahead} *")
        site.sessions()
        stored = wait_until(site.app.schedules.list)
        (schedule,) = stored
        seen.add((schedule.id, schedule.version, schedule.next_slot))
        worker.terminate()
        assert worker.ended() == 0

    assert len(seen) == 1
    assert site.rows("select 1 from scheduled union all select 1 from ready") == []
    assert schedule.source == "code:app"


def test_a_slot_between_two_workers_runs_once_and_late(site: Site) -> None:
    """Case B092: a rolling deployment; the old worker is gone before the slot, the new one late."""
    first = site.start_worker()
    site.sessions()
    site.app.schedules.create("note", every="2s", name="deployed", payload={"n": 1})
    # A worker that is told to stop takes nothing more, so what fired has to be done before.
    site.completed(1)
    first.terminate()
    assert first.ended() == 0
    missed = site.app.schedules.get("deployed").next_slot
    assert missed is not None
    wait_until(lambda: time.time() * SECOND > missed + SECOND // 2)
    second = site.start_worker()
    site.sessions()
    up = time.time() * SECOND
    wait_until(lambda: missed in {slot.slot for slot in fired(site, "deployed")})
    wait_until(lambda: site.rows(f"select 1 from finished where slot = {missed}"))
    site.app.schedules.pause("deployed")
    second.terminate()
    assert second.ended() == 0

    late = {slot.slot: slot.at - slot.slot for slot in fired(site, "deployed")}
    assert SECOND // 2 < late[missed] < up - missed + SPARE * SECOND
    made = site.rows(f"select count(*) from finished where slot = {missed}")
    assert made == [(1,)]
