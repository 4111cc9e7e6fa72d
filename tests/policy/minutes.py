"""A slow way to the slots of a cron expression: walk every minute of UTC and look at the clock.

It shares nothing with the fast one: expressions are made of parts that bring their own meaning, and
nothing is known of a zone but what its clock shows at an instant.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import NamedTuple

from hypothesis import strategies as st

Day = Callable[[datetime], bool]

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
LONGEST_GAP = timedelta(hours=3)
LONGEST_FOLD = timedelta(hours=4)


class Field(NamedTuple):
    """The text of a field, and whether a local time matches it."""

    text: str
    matches: Day


class Expression(NamedTuple):
    """Five fields, and whether both of the days have to match."""

    fields: tuple[Field, Field, Field, Field, Field]
    both_days: bool

    @property
    def text(self) -> str:
        return " ".join(field.text for field in self.fields)

    @property
    def interval(self) -> bool:
        return any(field.text.startswith("*") for field in self.fields[:2])

    def matches(self, local: datetime) -> bool:
        minute, hour, *_ = self.fields
        return minute.matches(local) and hour.matches(local) and self.matches_day(local)

    def matches_day(self, local: datetime) -> bool:
        _, _, day, month, weekday = self.fields
        if not month.matches(local):
            return False
        star = day.text.startswith("*") or weekday.text.startswith("*")
        days = day.matches(local), weekday.matches(local)
        return all(days) if star or self.both_days else any(days)


def slots(
    expression: Expression, zone: tzinfo, window: tuple[datetime, datetime], *, gap: str, fold: str
) -> list[datetime]:
    """The slots that run from the start up to the end of a window, both whole minutes of UTC."""
    start, end = window
    shown = list(_clock(zone, start - LONGEST_FOLD, end + LONGEST_FOLD))
    seen = defaultdict(list)
    for instant, local in shown:
        if expression.matches(local):
            seen[local].append(instant)
    found = set()
    for instants in seen.values():
        if expression.interval or fold == "both":
            found.update(instants)
        else:
            found.add(instants[0] if fold == "first" else instants[-1])
    if gap == "run_after" and not expression.interval:
        found.update(_made_up(expression, shown))
    return sorted(instant for instant in found if start <= instant < end)


def _clock(zone: tzinfo, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    instant = start
    while instant < end:
        yield instant, instant.astimezone(zone).replace(tzinfo=None, fold=0)
        instant += MINUTE


def _made_up(expression: Expression, shown: list[tuple[datetime, datetime]]) -> Iterator[datetime]:
    for (_, before), (instant, after) in pairwise(shown):
        if MINUTE < after - before <= LONGEST_GAP + MINUTE:
            lost = before + MINUTE
            while lost < after:
                if expression.matches(lost):
                    yield instant
                lost += MINUTE


def _numbers(low: int, high: int, of: Callable[[datetime], int]) -> st.SearchStrategy[Field]:
    """A field of numbers: stars, steps, ranges either way, and lists of them."""
    every = list(range(low, high + 1))
    number = st.sampled_from(every)
    step = st.integers(1, len(every))

    def stepped(by: int) -> tuple[str, list[int]]:
        return f"*/{by}", every[::by]

    def onward(first: int, by: int) -> tuple[str, list[int]]:
        return f"{first}/{by}", list(range(first, high + 1, by))

    def ranged(first: int, last: int, by: int) -> tuple[str, list[int]]:
        run = every[first - low :] + every[: first - low]
        return f"{first}-{last}/{by}", run[: run.index(last) + 1 : by]

    part = st.one_of(
        number.map(lambda value: (str(value), [value])),
        step.map(stepped),
        st.builds(onward, number, step),
        st.builds(ranged, number, number, step),
    )

    def field(parts: list[tuple[str, list[int]]]) -> Field:
        values = {value for _, part in parts for value in part}
        return Field(",".join(text for text, _ in parts), lambda local: of(local) in values)

    star = st.just(Field("*", lambda local: True))
    return star | st.lists(part, min_size=1, max_size=3).map(field)


def _month_ends(local: datetime) -> bool:
    return (local + DAY).month != local.month


def _workday(local: datetime) -> bool:
    return local.weekday() < 5


def _last_workday(local: datetime) -> bool:
    rest = [local + days * DAY for days in range(1, 4)]
    return _workday(local) and not any(_workday(day) for day in rest if day.month == local.month)


def _nearest(number: int) -> Field:
    def matches(local: datetime) -> bool:
        month = [local + days * DAY for days in range(-31, 32)]
        month = [day for day in month if (day.year, day.month) == (local.year, local.month)]
        if number not in {day.day for day in month}:
            return False
        nearest = min(filter(_workday, month), key=lambda day: abs(day.day - number))
        return local.day == nearest.day

    return Field(f"{number}W", matches)


def _weekday(local: datetime) -> int:
    return local.isoweekday() % 7


def _nth(weekday: int, nth: int) -> Field:
    return Field(
        f"{weekday}#{nth}",
        lambda local: _weekday(local) == weekday and (local.day - 1) // 7 + 1 == nth,
    )


def _last_of(weekday: int) -> Field:
    return Field(
        f"{weekday}L",
        lambda local: _weekday(local) == weekday and (local + 7 * DAY).month != local.month,
    )


DAYS = (
    _numbers(1, 31, lambda local: local.day)
    | st.sampled_from([Field("L", _month_ends), Field("LW", _last_workday)])
    | st.integers(1, 31).map(_nearest)
)
WEEKDAYS = st.one_of(
    st.just(Field("*", lambda local: True)),
    _numbers(0, 6, _weekday).filter(lambda field: not any(c in field.text for c in "/")),
    st.builds(_nth, st.integers(0, 6), st.integers(1, 5)),
    st.integers(0, 6).map(_last_of),
)
ANY_DAY = st.just(Field("*", lambda local: True))
HOURS = _numbers(0, 23, lambda local: local.hour)
EARLY = _numbers(0, 5, lambda local: local.hour).filter(lambda field: "/" not in field.text)


def expressions() -> st.SearchStrategy[Expression]:
    """Expressions that are mostly dense around a change of the clocks."""
    fields = st.tuples(
        _numbers(0, 59, lambda local: local.minute),
        HOURS | EARLY,
        ANY_DAY | DAYS,
        ANY_DAY | _numbers(1, 12, lambda local: local.month),
        ANY_DAY | WEEKDAYS,
    )
    return st.builds(Expression, fields, st.booleans())


def changes(zone: tzinfo, years: range) -> list[datetime]:
    """When the clocks of a zone change in some years, to the minute before which they did."""
    week = timedelta(days=7)
    instant = datetime(years[0], 1, 1, tzinfo=UTC)
    found = []
    last = instant.astimezone(zone).utcoffset()
    while instant.year in years:
        instant += week
        offset = instant.astimezone(zone).utcoffset()
        if offset != last:
            found.append(_first(zone, instant - week, instant, offset))
            last = offset
    return found


def _first(zone: tzinfo, low: datetime, high: datetime, offset: timedelta | None) -> datetime:
    while high - low > MINUTE:
        middle = low + (high - low) // 2
        if middle.astimezone(zone).utcoffset() == offset:
            high = middle
        else:
            low = middle
    return high.replace(second=0, microsecond=0)
