"""A cron expression: the local times that match it, in order, either way (R6.1)."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

from rota.errors import InvalidSchedule
from rota.policy.cron.days import Days
from rota.policy.cron.fields import FIELDS, Values, read
from rota.policy.cron.text import split
from rota.policy.cron.words import in_words


class Expression:
    """Local times without a zone. `interval` if it follows real time when the clocks change (P5):
    its field for hours, minutes or, where it has one, seconds begins with a star.
    """

    def __init__(self, text: str, values: list[Values], both_days: bool) -> None:
        second, minute, hour, day, month, weekday = values
        self.text = text
        self.interval = second.starred or minute.starred or hour.starred
        self._hours = hour.numbers()
        self._minutes = minute.numbers()
        self._seconds = second.numbers()
        self._days = Days(day, month, weekday, both_days)
        self._values = values
        self._both_days = both_days

    @property
    def words(self) -> str:
        """Say in words when it matches."""
        return in_words(self._values, self._both_days)

    def never(self) -> bool:
        """Say whether there is no such time in the whole calendar."""
        return self._days.never()

    def match(self, moment: datetime) -> bool:
        """Say whether a local time matches."""
        return (
            moment.second in self._seconds
            and moment.minute in self._minutes
            and moment.hour in self._hours
            and not moment.microsecond
            and self._days.match(moment)
        )

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Yield the matching times after a local time, the earliest first."""
        day = moment.year, moment.month, moment.day
        for found in self._days.onward(moment):
            if found == day:
                times = self._times_after(moment.hour, moment.minute, moment.second)
            else:
                times = self._times_after(-1, 0, 0)
            for time in times:
                yield datetime(*found, *time)

    def before(self, moment: datetime) -> Iterator[datetime]:
        """Yield the matching times before a local time, the latest first."""
        day = moment.year, moment.month, moment.day
        second = moment.second + bool(moment.microsecond)
        for found in self._days.back(moment):
            if found == day:
                times = self._times_before(moment.hour, moment.minute, second)
            else:
                times = self._times_before(24, 0, 0)
            for time in times:
                yield datetime(*found, *time)

    def _times_after(self, hour: int, minute: int, second: int) -> Iterator[tuple[int, int, int]]:
        hours, minutes, seconds = self._hours, self._minutes, self._seconds
        for h in hours[bisect_left(hours, hour) :]:
            for m in minutes[bisect_left(minutes, minute) :] if h == hour else minutes:
                same = h == hour and m == minute
                for s in seconds[bisect_right(seconds, second) :] if same else seconds:
                    yield h, m, s

    def _times_before(self, hour: int, minute: int, second: int) -> Iterator[tuple[int, int, int]]:
        hours, minutes, seconds = self._hours, self._minutes, self._seconds
        for h in reversed(hours[: bisect_right(hours, hour)]):
            for m in reversed(minutes[: bisect_right(minutes, minute)] if h == hour else minutes):
                same = h == hour and m == minute
                for s in reversed(seconds[: bisect_left(seconds, second)] if same else seconds):
                    yield h, m, s


@lru_cache(maxsize=4096)
def parse(text: str, *, seconds: bool = False, both_days: bool = False) -> Expression:
    """Return the expression that a text stands for; `InvalidSchedule` if it never fires.

    With `seconds` it begins with a field for them. With `both_days` a day has to match both day
    fields even where neither begins with a star.

    >>> next(parse("0 9 * * MON-FRI").after(datetime(2026, 1, 2, 9))).isoformat()
    '2026-01-05T09:00:00'
    """
    fields = zip(FIELDS, split(text, seconds), strict=True)
    expression = Expression(text, [read(*field) for field in fields], both_days)
    if expression.never():
        day, month, weekday = (values.text for values in expression._values[3:])
        raise InvalidSchedule(
            "expression",
            f"{text!r} never fires: no day matches day-of-month {day!r}, month {month!r} "
            f"and day-of-week {weekday!r}",
        )
    return expression
