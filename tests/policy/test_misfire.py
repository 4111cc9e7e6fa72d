"""Missed slots run once, all within bounds, or not at all, and each is accounted for (R6.5)."""

from typing import Any

import pytest

from rota.config import CATCH_UP_MOST, COUNTED_SLOTS, DAY, HOUR, MINUTE, SECOND
from rota.model import Micros
from rota.policy.misfire import choose
from rota.schedule import Missed, Policy, Rule
from tests.policy.schedules import MINUTELY, NOON, minutes, planned, scheduled, told, utc

OUTAGE: Micros = NOON + 101 * MINUTE + 30 * SECOND


class TestAnOutage:
    @pytest.mark.parametrize(
        ("missed", "runs", "skips"),
        [
            # The slot of minute 101 comes 30 s late, which is on time.
            ("skip", [101], [(1, 100, 100, "missed")]),
            ("run_once", [101], [(1, 100, 100, "missed")]),
            ("run_all", [*range(1, 102)], []),
        ],
    )
    def test_of_101_minutes_follows_the_policy_and_the_schedule_carries_on(
        self, missed: str, runs: list[int], skips: list[Any]
    ) -> None:
        """Case B088: a hundred missed starts must not stop a schedule for good."""
        plan = planned(scheduled(missed=missed, overlap="allow"), OUTAGE)

        assert minutes(plan.runs) == runs
        assert told(plan.skips) == skips
        assert plan.next_slot == NOON + 102 * MINUTE

    @pytest.mark.parametrize(("most", "skipped"), [(1, 99), (40, 60), (0, 100)])
    def test_is_caught_up_with_to_a_stated_number_and_the_rest_is_on_record(
        self, most: int, skipped: int
    ) -> None:
        """Case B088: min(101, the cap), the newest of them."""
        schedule = scheduled(missed="run_all", max_catchup=most, overlap="allow")

        plan = planned(schedule, OUTAGE)

        assert minutes(plan.runs) == [*range(skipped + 1, 102)]
        assert told(plan.skips) == [(1, skipped, skipped, "missed")]

    def test_is_caught_up_with_no_further_back_than_the_stated_age(self) -> None:
        schedule = scheduled(missed="run_all", max_age=10 * MINUTE, overlap="allow")

        plan = planned(schedule, OUTAGE)

        assert minutes(plan.runs) == [*range(92, 102)]
        assert told(plan.skips) == [(1, 91, 91, "missed")]

    def test_that_is_longer_than_the_age_leaves_nothing_to_run_once(self) -> None:
        """Only the latest slot may stand for all, and a day is too old by then."""
        schedule = scheduled(Rule(expression="0 9 * * MON"))
        late = utc("2026-10-27T09:01")  # the slot was at 9:00 on Monday the 26th

        plan = planned(schedule, late)

        assert plan.runs == ()
        assert [(skip.count, skip.first) for skip in plan.skips] == [(1, utc("2026-10-26T09:00"))]
        assert plan.next_slot == utc("2026-11-02T09:00")

    def test_of_a_year_is_not_counted_out(self) -> None:
        """Case B088: the cost is bounded; that there were more is all that is said."""
        plan = planned(scheduled(), NOON + 365 * DAY)

        assert minutes(plan.runs) == [365 * 24 * 60]
        assert told(plan.skips) == [(1, 365 * 24 * 60 - 1, None, "missed")]

    def test_is_counted_out_exactly_as_far_as_it_is_counted(self) -> None:
        plan = planned(scheduled(), NOON + COUNTED_SLOTS * MINUTE)

        assert told(plan.skips) == [(1, COUNTED_SLOTS - 1, COUNTED_SLOTS - 1, "missed")]

    @pytest.mark.parametrize("missed", ["run_once", "run_all", "skip"])
    def test_of_ten_years_of_seconds_is_counted_by_arithmetic(self, missed: str) -> None:
        """Case B088: intervals cost the same however long it was."""
        schedule = scheduled(Rule(every=SECOND), missed=missed, grace=0, overlap="allow")
        seconds = 3650 * 24 * 60 * 60

        plan = planned(schedule, NOON + seconds * SECOND + 1)

        runs = {"run_once": 1, "run_all": 100, "skip": 0}[missed]
        assert len(plan.runs) == runs
        assert [skip.count for skip in plan.skips] == [seconds - runs]

    def test_over_a_deploy_loses_no_slot(self) -> None:
        """Case B092: the leader stops at 11:59:50, the next one starts at 12:00:40."""
        schedule = scheduled(Rule(expression="*/15 * * * *"), cursor=NOON - 15 * MINUTE)

        plan = planned(schedule, NOON + 40 * SECOND)

        assert plan.runs == (NOON,)
        assert plan.skips == ()

    def test_that_was_never_looked_for_is_found_all_the_same(self) -> None:
        """Case B091: what is due follows from what is stored, not from a look-back window."""
        schedule = scheduled()

        looks = [planned(schedule, NOON + gap * SECOND) for gap in (60, 61, 75, 105, 119)]

        assert [minutes(plan.runs) for plan in looks] == [[1]] * 5


class TestAHiccup:
    def test_of_a_second_drops_nothing(self) -> None:
        """Case B089: the loop wakes at T + 1.2 s."""
        plan = planned(scheduled(), NOON + MINUTE + 1_200_000)

        assert (minutes(plan.runs), plan.skips) == ([1], ())

    def test_of_three_seconds_runs_all_three_of_a_schedule_of_seconds(self) -> None:
        schedule = scheduled(Rule(every=SECOND), overlap="allow")

        plan = planned(schedule, NOON + 3 * SECOND + 1)

        assert plan.runs == (NOON + SECOND, NOON + 2 * SECOND, NOON + 3 * SECOND)

    @pytest.mark.parametrize(("late", "runs"), [(0, [1]), (MINUTE, [1, 2]), (MINUTE + 1, [2])])
    def test_ends_with_the_grace_time(self, late: Micros, runs: list[int]) -> None:
        """To the microsecond; one that is later was missed, and one run stands for both."""
        plan = planned(scheduled(overlap="allow"), NOON + MINUTE + late)

        assert minutes(plan.runs) == runs

    def test_is_never_more_slots_than_can_be_caught_up_with(self) -> None:
        """Whatever grace somebody chooses, a plan stays small."""
        schedule = scheduled(Rule(every=SECOND), grace=DAY, overlap="allow", missed="run_all")

        plan = planned(schedule, NOON + HOUR)

        assert len(plan.runs) == CATCH_UP_MOST + 100
        assert [skip.count for skip in plan.skips] == [3_600 - CATCH_UP_MOST - 100]


class TestAStepOfTheClock:
    @pytest.mark.parametrize(("missed", "runs"), [("run_once", [60]), ("skip", [])])
    def test_forward_is_an_outage_and_no_burst(self, missed: str, runs: list[int]) -> None:
        """Case B094: every 5 minutes, 60 minutes forward; never 12 runs."""
        schedule = scheduled(Rule(expression="*/5 * * * *"), missed=missed)

        plan = planned(schedule, NOON + 62 * MINUTE)

        assert minutes(plan.runs) == runs
        assert sum(skip.count or 0 for skip in plan.skips) == 12 - len(runs)
        assert plan.next_slot == NOON + 65 * MINUTE

    def test_forward_is_made_good_where_that_was_chosen(self) -> None:
        """Case B094: `run_all` asks for exactly this burst."""
        schedule = scheduled(
            Rule(expression="*/5 * * * *"), missed="run_all", overlap="queue", max_pending=100
        )

        assert minutes(planned(schedule, NOON + 62 * MINUTE).runs) == [*range(5, 61, 5)]

    def test_back_repeats_nothing_and_the_next_slot_is_on_time(self) -> None:
        """Case B164: an hour back for ten seconds; cursor and next slot stay where they are."""
        schedule = scheduled(MINUTELY)

        plan = planned(schedule, NOON - HOUR)

        assert (plan.runs, plan.skips) == ((), ())
        assert (plan.new_cursor, plan.next_slot) == (NOON, NOON + MINUTE)


@pytest.mark.parametrize("missed", Missed)
def test_nothing_is_missed_where_nothing_was_due(missed: Missed) -> None:
    assert list(choose(Policy(missed=missed), [], NOON)) == []
