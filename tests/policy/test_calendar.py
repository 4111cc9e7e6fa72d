"""The slots of a rule: intervals, bounds, and how quickly they are found (R6.1, R2.4)."""

from datetime import UTC
from itertools import islice
from timeit import repeat

import pytest

from rota.config import DAY, HOUR, MINUTE, SECOND
from rota.errors import InvalidSchedule
from rota.policy.calendar import Calendar
from rota.schedule import Rule
from rota.zones import zone
from tests.policy.moments import at, calendar, utc

START = at("2026-01-01T00:00Z")
MICROSECONDS_50 = 50e-6


def interval(every: int, anchor: int = START, **options: object) -> Calendar:
    rule = Rule(every=every, anchor=anchor, tz="Europe/Berlin", **options)  # type: ignore[arg-type]
    return Calendar(rule, zone(rule.tz))


class TestAFixedInterval:
    def test_is_counted_from_its_anchor(self) -> None:
        """B013: a true interval, without a short step at the end of an hour."""
        found = interval(7 * MINUTE)

        assert [slot.at - START for slot in islice(found.after(START), 10)] == [
            n * 7 * MINUTE for n in range(1, 11)
        ]

    @pytest.mark.parametrize("offset", [-1, 0, 1, MINUTE, -MINUTE])
    def test_has_the_same_slots_both_ways_on_either_side_of_the_anchor(self, offset: int) -> None:
        found = interval(90 * SECOND)
        for middle in (START + offset, START + 1000 * DAY + offset, START - 1000 * DAY + offset):
            later = next(found.after(middle)).at
            earlier = next(found.before(middle)).at

            assert earlier < middle < later
            assert later - earlier == (90 if (middle - START) % (90 * SECOND) else 180) * SECOND
            assert (later - START) % (90 * SECOND) == 0

    def test_follows_real_time_when_the_clocks_change(self) -> None:
        """P5"""
        for day in ("2026-03-29T00:00Z", "2026-10-25T00:00Z"):
            slots = list(islice(interval(HOUR, at(day)).after(at(day)), 6))

            assert [slot.at - at(day) for slot in slots] == [n * HOUR for n in range(1, 7)]
            assert all(slot.runs and not slot.notes for slot in slots)

    def test_is_told_in_local_time(self) -> None:
        slot = next(interval(DAY).after(at("2026-07-01T00:00Z")))

        assert slot.local.isoformat() == "2026-07-02T02:00:00+02:00"

    @pytest.mark.parametrize("every", [0, -SECOND, SECOND - 1, 3651 * DAY])
    def test_is_refused_if_it_is_shorter_than_a_second_or_longer_than_ten_years(
        self, every: int
    ) -> None:
        """P6: what never ends, or never comes, is refused."""
        with pytest.raises(InvalidSchedule) as refusal:
            interval(every)

        assert refusal.value.field == "every"

    @pytest.mark.parametrize(
        ("every", "words"),
        [
            (SECOND, "Every second"),
            (90 * SECOND, "Every 90 seconds"),
            (15 * MINUTE, "Every 15 minutes"),
            (HOUR, "Every hour"),
            (7 * DAY, "Every 7 days"),
            (1_500_000, "Every 1.5 seconds"),
        ],
    )
    def test_is_said_in_words(self, every: int, words: str) -> None:
        assert interval(every).words == words


def test_an_expression_is_said_in_words_with_its_zone() -> None:
    assert calendar("0 9 * * MON-FRI", "Europe/Berlin").words == (
        "At 09:00 on Monday to Friday, Europe/Berlin"
    )


@pytest.mark.parametrize("rule", [Rule(), Rule(expression="* * * * *", every=MINUTE)])
def test_a_rule_is_either_an_expression_or_an_interval(rule: Rule) -> None:
    with pytest.raises(InvalidSchedule, match="either an expression or every="):
        Calendar(rule, UTC)


@pytest.mark.parametrize("rule", [Rule(expression="0 * * * *"), Rule(every=HOUR)])
class TestBounds:
    def test_take_the_start_but_not_the_end(self, rule: Rule) -> None:
        """R6.1: `starts_at <= slot < ends_at`"""
        bounded = Rule(
            expression=rule.expression,
            every=rule.every,
            starts_at=START + HOUR,
            ends_at=START + 4 * HOUR,
        )
        found = Calendar(bounded, UTC)
        slots = [START + HOUR, START + 2 * HOUR, START + 3 * HOUR]

        assert [slot.at for slot in found.after(0)] == slots
        assert [slot.at for slot in found.before(START + DAY)] == slots[::-1]
        assert [slot.at for slot in found.after(START + HOUR)] == slots[1:]
        assert [slot.at for slot in found.before(START + 3 * HOUR)] == slots[1::-1]
        assert not list(found.after(START + 3 * HOUR))
        assert not list(found.before(START + HOUR))

    def test_between_take_the_start_but_not_the_end(self, rule: Rule) -> None:
        found = Calendar(rule, UTC).between(START, START + 2 * HOUR)

        assert [slot.at for slot in found] == [START, START + HOUR]

    def test_are_those_of_the_calendar_where_none_are_given(self, rule: Rule) -> None:
        found = Calendar(rule, UTC)

        assert [slot.at for slot in found.before(HOUR)] == [0]
        assert not list(found.before(0))
        assert not list(found.before(-DAY))
        assert next(found.after(-DAY)).at == 0
        assert len(list(found.after(at("9996-12-31T20:00Z")))) == 3
        assert not list(found.after(at("9999-12-31T20:00Z")))
        assert not list(found.after(10**20))
        assert utc(next(found.before(10**20)).at) == "9996-12-31T23:00Z"


class TestALook:
    @pytest.mark.parametrize("tz", ["UTC", "Europe/Berlin", "America/New_York"])
    @pytest.mark.parametrize(
        "text", ["* * * * *", "*/5 * * * *", "@hourly", "0 9 * * MON-FRI", "30 4 1 * *", "@yearly"]
    )
    def test_takes_less_than_50_microseconds(self, text: str, tz: str) -> None:
        """Issue 4: ten thousand schedules fire in the same minute. The best look of many."""
        found = calendar(text, tz)
        moment = at("2026-11-30T12:34Z")

        best = min(repeat(lambda: next(found.after(moment)), repeat=40, number=5)) / 5

        assert best < MICROSECONDS_50

    def test_goes_on_where_it_is_instead_of_looking_again(self) -> None:
        found = calendar("0 9 * * MON-FRI", "Europe/Berlin")

        def year() -> None:
            assert len(list(islice(found.after(START), 261))) == 261

        assert min(repeat(year, repeat=10, number=1)) / 261 < MICROSECONDS_50 / 2
