"""Each slot of a schedule is decided once: it runs, or it is on record why not (R6.4-R6.7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from rota.config import DAY, HOUR, MINUTE, SECOND
from rota.model import Micros
from rota.policy.firing import Plan, passed, reckon
from rota.policy.jitter import offset
from rota.policy.window import following
from rota.schedule import Gap, Missed, Overlap, Rule, Schedule, Skip, SlotState
from tests.policy.schedules import (
    MINUTELY,
    NOON,
    calendar,
    minutes,
    planned,
    scheduled,
    told,
    utc,
)

SPRING = utc("2027-03-27T00:00")
"""A day before Berlin's clocks go forward, at 2027-03-28 01:00 UTC."""
IN_THE_GAP = Rule(expression="30 2 * * *", tz="Europe/Berlin", gap=Gap.SKIP)
SIXTY_IN_THE_GAP = structs.replace(IN_THE_GAP, expression="0-59 2 * * *")

RULES = [
    MINUTELY,
    Rule(expression="*/7 * * * *", tz="America/New_York"),
    Rule(expression="0 9 * * MON-FRI", tz="Europe/Berlin"),
    IN_THE_GAP,
    SIXTY_IN_THE_GAP,
    Rule(every=90 * SECOND, anchor=7 * SECOND),
    Rule(every=HOUR, starts_at=SPRING + 5 * HOUR, ends_at=SPRING + 50 * HOUR),
]


def schedules() -> st.SearchStrategy[Schedule]:
    """Any schedule, a day before the clocks go forward."""
    return st.builds(
        scheduled,
        st.sampled_from(RULES),
        cursor=st.integers(SPRING - DAY, SPRING + DAY),
        missed=st.sampled_from(Missed),
        grace=st.sampled_from([0, MINUTE, HOUR]),
        max_catchup=st.integers(0, 20),
        max_age=st.sampled_from([HOUR, DAY]),
        overlap=st.sampled_from(Overlap),
        max_pending=st.integers(1, 5),
        jitter=st.sampled_from([0, 10 * MINUTE]),
    )


def due(schedule: Schedule, plan: Plan) -> dict[Micros, bool]:
    """The slots that a plan has to decide, and whether each may run; found by walking."""
    end = plan.new_cursor + 1
    return {one.at: one.runs for one in calendar(schedule).between(schedule.cursor + 1, end)}


def carried_out(schedule: Schedule, plan: Plan) -> Schedule:
    """The schedule as the store has it afterwards."""
    return structs.replace(
        schedule,
        cursor=plan.new_cursor,
        next_slot=plan.next_slot,
        next_at=plan.next_at,
        fired=schedule.fired + len(plan.runs),
    )


@given(schedules(), st.integers(0, 2 * DAY), st.integers(0, 4))
def test_every_slot_runs_or_lies_in_exactly_one_skip(
    schedule: Schedule, later: Micros, live: int
) -> None:
    """Nothing disappears silently, and nothing is told twice."""
    plan = planned(schedule, schedule.cursor + later, live)
    slots = due(schedule, plan)

    told_of = [slot for slot in slots for skip in plan.skips if skip.first <= slot <= skip.last]
    assert sorted([*plan.runs, *told_of]) == list(slots)
    for skip in plan.skips:
        inside = [slot for slot in slots if skip.first <= slot <= skip.last]
        assert skip.count == len(inside)
        assert (skip.first, skip.last) == (inside[0], inside[-1])
    assert all(slots[slot] for slot in plan.runs)


@given(schedules(), st.integers(0, 2 * DAY), st.integers(0, 4))
def test_the_next_slot_is_the_first_one_that_may_run_after_all_that_is_decided(
    schedule: Schedule, later: Micros, live: int
) -> None:
    """Case B101: strictly after; and a slot that is due already is never put off."""
    now = schedule.cursor + later
    plan = planned(schedule, now, live)
    late = offset(schedule.id, schedule.policy.jitter)

    assert plan.new_cursor >= schedule.cursor
    assert plan.next_slot == following(calendar(schedule), plan.new_cursor)
    assert plan.next_slot is None or plan.next_slot > max(plan.new_cursor, *plan.runs, 0)
    assert plan.next_slot is None or plan.next_at == plan.next_slot + late > now
    assert all(schedule.cursor < run <= plan.new_cursor for run in plan.runs)
    assert all(run + late <= now for run in plan.runs)


@given(schedules(), st.integers(0, 2 * DAY), st.integers(0, 4))
def test_no_more_is_caught_up_with_than_the_policy_says(
    schedule: Schedule, later: Micros, live: int
) -> None:
    """R6.5: late runs are bounded in number and age; R6.6: so are runs at once."""
    policy = schedule.policy
    now = schedule.cursor + later
    plan = planned(schedule, now, live)
    lateness = [now - run - offset(schedule.id, policy.jitter) for run in plan.runs]
    missed = [late for late in lateness if late > policy.grace]

    most = {Missed.RUN_ONCE: 1, Missed.RUN_ALL: policy.max_catchup, Missed.SKIP: 0}
    assert len(missed) <= most[policy.missed]
    assert all(late <= policy.max_age for late in missed)
    assert plan.cancel_previous == (
        policy.overlap is Overlap.CANCEL_PREVIOUS and live > 0 and bool(plan.runs)
    )


@given(schedules(), st.lists(st.integers(-HOUR, 6 * HOUR), max_size=12))
def test_whatever_the_clock_does_no_slot_comes_twice_and_none_is_left_out(
    schedule: Schedule, steps: list[Micros]
) -> None:
    """Cases B164, B166, B101: fired again and again while the clock steps back and forth."""
    schedule = structs.replace(
        schedule, policy=structs.replace(schedule.policy, overlap=Overlap.ALLOW)
    )
    begin, now = schedule.cursor, schedule.cursor
    seen: list[Micros] = []
    for step in steps:
        now += step
        plan = planned(schedule, now)
        ranges = [skip for skip in plan.skips if skip.count]
        slots = [slot for slot in due(schedule, plan) if _inside(slot, ranges)]
        seen += sorted([*plan.runs, *slots])
        schedule = carried_out(schedule, plan)

    every = [one.at for one in calendar(schedule).between(begin + 1, schedule.cursor + 1)]
    assert seen == every


def _inside(slot: Micros, skips: list[Skip]) -> bool:
    return any(skip.first <= slot <= skip.last for skip in skips)


class TestDaylightSaving:
    def test_a_time_that_is_skipped_is_on_record_when_the_next_one_comes(self) -> None:
        """R6.3: 02:30 on the 28th does not exist; Berlin's 02:30 is 01:30 UTC, then 00:30."""
        schedule = scheduled(IN_THE_GAP, cursor=utc("2027-03-27T12:00"))

        plan = planned(schedule, utc("2027-03-29T00:30"))

        assert schedule.next_slot == utc("2027-03-29T00:30")
        assert plan.runs == (utc("2027-03-29T00:30"),)
        assert plan.skips == (
            Skip(utc("2027-03-28T01:00"), utc("2027-03-28T01:00"), 1, SlotState.GAP),
        )

    def test_a_gap_in_an_outage_is_told_apart_from_what_was_missed(self) -> None:
        schedule = scheduled(IN_THE_GAP, cursor=utc("2027-03-25T12:00"))

        plan = planned(schedule, utc("2027-03-30T12:00"))

        assert [(skip.state, skip.count) for skip in plan.skips] == [
            (SlotState.MISSED, 2),
            (SlotState.GAP, 1),
            (SlotState.MISSED, 1),
        ]
        assert plan.runs == (utc("2027-03-30T00:30"),)


class TestBounds:
    def test_a_schedule_is_over_after_its_last_run(self) -> None:
        """What comes after that is no slot any more, and not on record as skipped."""
        schedule = scheduled(max_runs=10, fired=8, missed="run_all", overlap="allow")

        plan = planned(schedule, NOON + 5 * MINUTE)

        assert minutes(plan.runs) == [1, 2]
        assert (plan.skips, plan.next_slot, plan.next_at) == ((), None, None)

    def test_a_schedule_that_is_over_makes_nothing(self) -> None:
        schedule = scheduled(max_runs=1, fired=1)

        plan = planned(schedule, NOON + DAY)

        assert schedule.next_slot is None
        assert (plan.runs, plan.skips, plan.next_slot) == ((), (), None)

    def test_slots_begin_and_end_where_the_rule_says(self) -> None:
        """`starts_at <= slot < ends_at`."""
        rule = structs.replace(MINUTELY, starts_at=NOON + 3 * MINUTE, ends_at=NOON + 6 * MINUTE)
        schedule = scheduled(rule, missed="run_all", overlap="allow")

        plan = planned(schedule, NOON + HOUR)

        assert schedule.next_slot == NOON + 3 * MINUTE
        assert minutes(plan.runs) == [3, 4, 5]
        assert (plan.skips, plan.next_slot) == ((), None)

    def test_a_slot_26_days_ahead_is_one_slot_then(self) -> None:
        """Case B040: nothing is counted in a unit that runs over."""
        schedule = scheduled(Rule(expression="0 4 1 * *"), cursor=utc("2026-02-03T00:00"))
        first = utc("2026-03-01T04:00")

        assert schedule.next_at == first
        assert planned(schedule, first - 1).runs == ()
        assert planned(schedule, first).runs == (first,)

    def test_a_rule_whose_every_time_is_skipped_ends_without_a_run(self) -> None:
        """The last Sunday of March at 02:30 never exists in Berlin; finding that out is bounded."""
        rule = structs.replace(IN_THE_GAP, expression="30 2 25-31 3 SUN", both_days=True)

        schedule = scheduled(rule, cursor=SPRING)

        assert schedule.next_slot is None or schedule.next_slot > utc("3000-01-01T00:00")


class TestPassed:
    @pytest.mark.parametrize(
        ("rule", "count"),
        [(MINUTELY, 7_200), (Rule(every=MINUTE), 7_200), (Rule(every=SECOND), 432_000)],
    )
    def test_what_a_pause_left_out_is_one_range(self, rule: Rule, count: int) -> None:
        """R6.8: five days, counted as far as that is cheap."""
        schedule = scheduled(rule)

        skip = passed(schedule, calendar(schedule), NOON + 5 * DAY, SlotState.PAUSED)

        assert skip is not None
        assert (skip.count, skip.last, skip.state) == (count, NOON + 5 * DAY, SlotState.PAUSED)

    @pytest.mark.parametrize(("later", "expected"), [(MINUTE - 1, None), (MINUTE, 1)])
    def test_a_pause_between_two_slots_left_out_none(
        self, later: Micros, expected: int | None
    ) -> None:
        schedule = scheduled()

        skip = passed(schedule, calendar(schedule), NOON + later, SlotState.PAUSED)

        assert (skip and skip.count) == expected

    def test_a_year_of_minutes_is_not_counted_out(self) -> None:
        schedule = scheduled()

        skip = passed(schedule, calendar(schedule), NOON + 365 * DAY, SlotState.PAUSED)

        assert skip is not None
        assert told([skip]) == [(1, 365 * 24 * 60, None, "paused")]


def test_reckoning_changes_nothing_but_what_comes_next() -> None:
    schedule = scheduled()
    other = structs.replace(schedule, next_slot=None, next_at=None)

    assert reckon(other, calendar(other)) == schedule


def test_the_same_is_decided_on_every_node() -> None:
    """Whichever node comes first: nothing depends on anything but what is handed in."""
    assert planned(scheduled(), NOON + DAY) == planned(scheduled(), NOON + DAY)
