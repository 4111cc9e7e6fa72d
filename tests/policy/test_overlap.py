"""A schedule does not overlap itself unless it may, and then as far as it may (R6.6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.config import MINUTE, SECOND
from rota.policy.overlap import choose
from rota.schedule import Overlap, Policy, Rule
from tests.policy.schedules import NOON, planned, scheduled

SECONDS = Rule(every=SECOND)
THREE = NOON + 3 * SECOND


@pytest.mark.parametrize(
    ("overlap", "live", "runs"),
    [
        ("skip", 0, [1]),
        ("skip", 1, []),
        ("coalesce", 0, [1, 2]),  # one starts, one is pending
        ("coalesce", 1, [1]),
        ("coalesce", 2, []),
        ("queue", 0, [1, 2, 3]),
        ("queue", 1, [1, 2]),  # it runs, two wait
        ("queue", 2, [1]),
        ("queue", 3, []),
        ("cancel_previous", 0, [3]),
        ("cancel_previous", 5, [3]),
        ("allow", 5, [1, 2, 3]),
    ],
)
def test_of_three_slots_at_once_run(overlap: str, live: int, runs: list[int]) -> None:
    """R6.6, with `queue` to a bound of two."""
    plan = planned(scheduled(SECONDS, overlap=overlap, max_pending=2), THREE, live)

    assert [(slot - NOON) // SECOND for slot in plan.runs] == runs
    assert sum(skip.count or 0 for skip in plan.skips) == 3 - len(runs)
    assert {skip.state for skip in plan.skips} <= {"skipped:overlap"}


@pytest.mark.parametrize(("live", "cancels"), [(0, False), (1, True), (7, True)])
def test_the_previous_run_is_cancelled_only_if_there_is_one(live: int, cancels: bool) -> None:
    plan = planned(scheduled(overlap="cancel_previous"), NOON + MINUTE, live)

    assert (len(plan.runs), plan.cancel_previous) == (1, cancels)


def test_nothing_is_cancelled_where_no_slot_has_come() -> None:
    assert not planned(scheduled(overlap="cancel_previous"), NOON + 1, 1).cancel_previous


@pytest.mark.parametrize("overlap", ["skip", "coalesce", "queue", "allow"])
def test_only_the_policy_that_says_so_cancels(overlap: str) -> None:
    assert not planned(scheduled(overlap=overlap), NOON + MINUTE, 1).cancel_previous


def test_a_run_that_is_not_over_does_not_stop_the_schedule() -> None:
    """The slot is on record as skipped, and the next one comes."""
    plan = planned(scheduled(), NOON + MINUTE, live=1)

    assert [(skip.first, skip.count, skip.state) for skip in plan.skips] == [
        (NOON + MINUTE, 1, "skipped:overlap")
    ]
    assert plan.next_slot == NOON + 2 * MINUTE


@given(
    st.sampled_from(Overlap),
    st.integers(0, 5),
    st.integers(0, 9),
    st.lists(st.integers(), max_size=9, unique=True).map(sorted),
)
def test_there_are_never_more_live_than_the_policy_has_room_for(
    overlap: Overlap, pending: int, live: int, slots: list[int]
) -> None:
    runs = choose(Policy(overlap=overlap, max_pending=pending), slots, live)

    most = {Overlap.SKIP: 1, Overlap.COALESCE: 2, Overlap.QUEUE: 1 + pending}.get(overlap)
    assert set(runs) <= set(slots)
    assert list(runs) == sorted(runs)
    assert most is None or not runs or live + len(runs) <= most
