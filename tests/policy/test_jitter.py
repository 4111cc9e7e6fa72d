"""Jitter spreads schedules over the time that they are given, always alike (R6.7)."""

from hypothesis import given
from hypothesis import strategies as st

from rota.clock import Ids, new_rng
from rota.config import MINUTE, SECOND
from rota.policy.jitter import offset
from tests.policy.schedules import NOON, planned, scheduled

ID = "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"


@given(st.uuids().map(str), st.integers(1, 3600 * SECOND))
def test_it_is_at_least_nothing_and_less_than_the_jitter(schedule_id: str, jitter: int) -> None:
    assert 0 <= offset(schedule_id, jitter) < jitter


def test_it_is_the_same_on_every_node_and_in_every_version() -> None:
    """Another value would move every schedule of everybody at the next update."""
    assert (offset(ID, 5 * MINUTE), offset(ID, 0)) == (281_104_051, 0)


def test_a_thousand_schedules_of_one_instant_are_spread_evenly() -> None:
    ids = Ids(new_rng(1)).many(NOON, 1_000)
    tenths = [offset(one, 5 * MINUTE) * 10 // (5 * MINUTE) for one in ids]

    assert all(60 <= tenths.count(tenth) <= 140 for tenth in range(10))


def test_a_slot_is_fired_when_its_offset_is_over_and_not_before() -> None:
    """Each slot of the schedule is put off by the same time; the next one shows it."""
    late = offset(ID, 5 * MINUTE)
    schedule = scheduled(id=ID, jitter=5 * MINUTE)

    early = planned(schedule, NOON + MINUTE + late - 1)
    fired = planned(schedule, NOON + MINUTE + late)

    assert schedule.next_at == NOON + MINUTE + late
    assert early.runs == ()
    assert fired.runs == (NOON + MINUTE,)
    assert (fired.next_slot, fired.next_at) == (NOON + 2 * MINUTE, NOON + 2 * MINUTE + late)
