"""The days of a cron expression: which days of which months match (P4)."""

from calendar import monthrange
from collections.abc import Iterator
from datetime import MAXYEAR, MINYEAR, date, datetime
from typing import Final

from cronsim import CronSim

from rota.policy.cron.fields import Values

_SOME_DAY: Final = datetime(2000, 1, 1)
_EVERY_KIND_OF_MONTH: Final = range(2000, 2028)
"""Every leap year comes round: these hold each month with each of its lengths, begun on each
weekday, as the whole cycle of 400 years does."""


class Days:
    """The days that match; what a month has depends only on its length and its first weekday.

    Both fields must match if `both` or if one of them begins with a star; else one is enough (P4).
    """

    def __init__(self, days: Values, months: Values, weekdays: Values, both: bool) -> None:
        self._months = months.numbers()
        self._both = both or days.starred or weekdays.starred
        self._nearest = [item.day for item in days.specials() if item.kind == "nearest"]
        self._by_date = _spelt(days)
        self._sim = CronSim(f"0 0 {self._by_date or '*'} * {_spelt(weekdays)}", _SOME_DAY)
        self._found: dict[tuple[int, int], tuple[int, ...]] = {}

    def never(self) -> bool:
        """Say whether no day ever matches, from the kinds of months there are (P6, B029)."""
        return not any(
            self._of_month(year, month) for year in _EVERY_KIND_OF_MONTH for month in self._months
        )

    def match(self, day: date) -> bool:
        """Say whether a day matches."""
        return day.month in self._months and day.day in self._of_month(day.year, day.month)

    def onward(self, start: date) -> Iterator[tuple[int, int, int]]:
        """Yield year, month and day of each that matches, from a day on."""
        since = (start.year, start.month)
        for year in range(start.year, MAXYEAR):
            for month in self._months:
                if (year, month) >= since:
                    for day in self._of_month(year, month):
                        if day >= start.day or (year, month) > since:
                            yield year, month, day

    def back(self, start: date) -> Iterator[tuple[int, int, int]]:
        """Yield year, month and day of each that matches, from a day backwards."""
        until = (start.year, start.month)
        for year in range(start.year, MINYEAR, -1):
            for month in reversed(self._months):
                if (year, month) <= until:
                    for day in reversed(self._of_month(year, month)):
                        if day <= start.day or (year, month) < until:
                            yield year, month, day

    def _of_month(self, year: int, month: int) -> tuple[int, ...]:
        kind = monthrange(year, month)
        found = self._found.get(kind)
        if found is None:
            found = self._found[kind] = self._find(year, month, *kind)
        return found

    def _find(self, year: int, month: int, first_weekday: int, length: int) -> tuple[int, ...]:
        days = [date(year, month, day) for day in range(1, length + 1)]
        by_date = {day.day for day in days if self._by_date and self._sim.match_dom(day)}
        by_date |= {
            nearest_workday(day, first_weekday, length) for day in self._nearest if day <= length
        }
        by_weekday = {day.day for day in days if self._sim.match_dow(day)}
        return tuple(sorted(by_date & by_weekday if self._both else by_date | by_weekday))


def nearest_workday(day: int, first_weekday: int, length: int) -> int:
    """Return the day from Monday to Friday that is nearest a day, in the same month (B022).

    >>> nearest_workday(31, first_weekday=3, length=31)  # May 2025: the 31st is a Saturday
    30
    """
    weekday = (first_weekday + day - 1) % 7
    if weekday == 5:
        return day - 1 if day > 1 else day + 2
    if weekday == 6:
        return day + 1 if day < length else day - 2
    return day


def _spelt(values: Values) -> str:
    """Return a day field with its ranges written out; empty if only `nearest` is in it."""
    if values.starred and len(values.numbers()) == values.field.size:
        return "*"
    parts = [str(number) for number in values.numbers()]
    parts += [_SPELLING[item.kind].format(item) for item in values.specials()]
    return ",".join(filter(None, parts))


_SPELLING: Final[dict[str, str]] = {
    "last": "L",
    "last_workday": "LW",
    "nearest": "",
    "last_of": "{0.day}L",
    "nth": "{0.day}#{0.nth}",
}
