"""The fields of a cron expression: what may stand in each, and the values that it means (P1-P3)."""

import re
from typing import Final, Literal, NoReturn

from msgspec import Struct

from rota.errors import InvalidSchedule


class Field(Struct, frozen=True):
    """A field, its lowest and highest value, and how many values there are before it starts anew.

    The weekdays go from 0 to 7, but there are seven of them: 0 and 7 are both Sunday (P1).
    """

    name: str
    low: int
    high: int
    size: int
    names: tuple[str, ...] = ()


SECOND: Final = Field("second", 0, 59, 60)
MINUTE: Final = Field("minute", 0, 59, 60)
HOUR: Final = Field("hour", 0, 23, 24)
DAY: Final = Field("day-of-month", 1, 31, 31)
MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
MONTH: Final = Field("month", 1, 12, 12, MONTHS)
WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
WEEKDAY: Final = Field("day-of-week", 0, 7, 7, WEEKDAYS)
FIELDS: Final = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)

_DIGITS: Final = re.compile(r"[0-9]+")
_NEAREST: Final = re.compile(r"([0-9]+)W")
_LAST_OF: Final = re.compile(r"([0-9]+|[A-Z]{3})L")
_NTH: Final = re.compile(r"([^#]*)#([^#]*)")


class Span(Struct, frozen=True):
    """Every `step`-th value from `first` to `last`."""

    first: int
    last: int
    step: int = 1

    def values(self) -> range:
        """Return its values; those over the highest one of a field start anew at its lowest."""
        return range(self.first, self.last + 1, self.step)


class Special(Struct, frozen=True):
    """A day that differs from month to month.

    `last`: the last one of the month. `last_workday`: the last one from Monday to Friday (LW).
    `nearest`: the one from Monday to Friday nearest the `day`-th (15W). `last_of`: the last such
    weekday (5L). `nth`: the `nth` such weekday (5#2).
    """

    kind: Literal["last", "last_workday", "nearest", "last_of", "nth"]
    day: int = 0
    nth: int = 0


class Values(Struct, frozen=True):
    """What stands in one field; `starred` if it begins with a star, which is all that P4 asks."""

    field: Field
    text: str
    items: tuple[Span | Special, ...]
    starred: bool

    def numbers(self) -> tuple[int, ...]:
        """Return the values that the field has by number, in order; 7 is 0 among weekdays."""
        low, size = self.field.low, self.field.size
        spans = [item for item in self.items if isinstance(item, Span)]
        return tuple(
            sorted({(value - low) % size + low for span in spans for value in span.values()})
        )

    def specials(self) -> tuple[Special, ...]:
        """Return what else stands in it."""
        return tuple(item for item in self.items if isinstance(item, Special))


def read(field: Field, text: str) -> Values:
    """Return what a field means, in any case; `InvalidSchedule` names field and text."""
    if text == "?":
        if field not in (DAY, WEEKDAY):
            refuse(field, text, "'?' may stand for a day-of-month or a day-of-week alone; write *")
        return Values(field, text, (Span(field.low, field.low + field.size - 1),), True)
    items = tuple(_item(field, text, item) for item in text.upper().split(","))
    return Values(field, text, items, text.startswith("*"))


def refuse(field: Field, text: str, why: str) -> NoReturn:
    """Raise the refusal of what stands in a field."""
    raise InvalidSchedule("expression", f"{field.name} {text!r}: {why}")


def _item(field: Field, text: str, item: str) -> Span | Special:
    if not item:
        refuse(field, text, "a part of the list is empty")
    return _special(field, text, item) or _span(field, text, item)


def _span(field: Field, text: str, item: str) -> Span:
    """Read `*`, a value or a range, each with or without a step.

    A range that ends before it starts goes on at the start of the field (P2); a single value with
    a step stands for the range from there to the field's highest value (P3).
    """
    body, slash, by = item.partition("/")
    step = _step(field, text, by) if slash else 1
    if body == "*":
        return Span(field.low, field.low + field.size - 1, step)
    start, dash, end = body.partition("-")
    if dash and not (start and end):
        refuse(field, text, f"the range {body!r} needs a start and an end")
    first = _value(field, text, start)
    if not dash:
        return Span(first, field.high if slash else first, step)
    last = _value(field, text, end)
    if first == WEEKDAY.high != last and field is WEEKDAY:
        first = 0
    return Span(first, last + field.size if last < first else last, step)


def _step(field: Field, text: str, step: str) -> int:
    if not (_DIGITS.fullmatch(step) and 1 <= int(step) <= field.size):
        longer = "; for longer intervals give every=" if field in (SECOND, MINUTE, HOUR) else ""
        refuse(field, text, f"a step is a whole number from 1 to {field.size}{longer}")
    return int(step)


def _value(field: Field, text: str, value: str) -> int:
    if value in field.names:
        return field.names.index(value) + field.low
    if _DIGITS.fullmatch(value) and field.low <= int(value) <= field.high:
        return int(value)
    named = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
    refuse(field, text, f"{value!r} is none of {field.low} to {field.high}{named}")


def _special(field: Field, text: str, item: str) -> Special | None:
    if field is DAY:
        return _special_day(text, item)
    if field is WEEKDAY:
        return _special_weekday(text, item)
    return None


def _special_day(text: str, item: str) -> Special | None:
    if item == "L":
        return Special("last")
    if item == "LW":
        return Special("last_workday")
    if nearest := _NEAREST.fullmatch(item):
        return Special("nearest", _value(DAY, text, nearest[1]))
    return None


def _special_weekday(text: str, item: str) -> Special | None:
    if item == "L":
        refuse(WEEKDAY, text, "write SAT for Saturdays, or SATL for the last one of the month")
    if last := _LAST_OF.fullmatch(item):
        return Special("last_of", _value(WEEKDAY, text, last[1]) % 7)
    if nth := _NTH.fullmatch(item):
        weekday = _value(WEEKDAY, text, nth[1]) % 7
        if nth[2] not in {"1", "2", "3", "4", "5"}:
            refuse(WEEKDAY, text, "a month has each weekday at most five times; # takes 1 to 5")
        return Special("nth", weekday, int(nth[2]))
    return None
