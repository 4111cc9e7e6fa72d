"""A cron expression in words (B014: what was understood is echoed back)."""

from collections.abc import Callable, Sequence
from typing import Final

from cronsim.explain import Expression as Explained

from rota.policy.cron.fields import Span, Special, Values

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def in_words(fields: Sequence[Values], both_days: bool) -> str:
    """Say when an expression matches."""
    second, minute, hour, day, month, weekday = fields
    explained = Explained([*map(_spelt, (second, minute, hour)), "*", "*", "*"])
    time, takes_every_day = explained.translate_time()
    days = _days(day, weekday, both_days)
    if not days and takes_every_day:
        days = "every day"
    parts = [time, days, _months(month)]
    words = " ".join(filter(None, parts))
    return words[0].upper() + words[1:]


def _days(day: Values, weekday: Values, both_days: bool) -> str:
    by_date = "" if _whole(day) else f"on {_listed(day, _date)}"
    by_weekday = "" if _whole(weekday) else _listed(weekday, _weekday)
    if by_date and by_weekday:
        if both_days or day.starred or weekday.starred:
            return f"{by_date}, if it is {by_weekday}"
        return f"{by_date}, and on {by_weekday}"
    return by_date or (f"on {by_weekday}" if by_weekday else "")


def _months(month: Values) -> str:
    if _whole(month):
        return ""
    return f"in {_listed(month, lambda item: _span(item, _month, 'month'))}"


def _date(item: Span | Special) -> str:
    if isinstance(item, Span):
        return _span(item, lambda number: f"the {_ordinal((number - 1) % 31 + 1)}", "day")
    if item.kind == "nearest":
        return f"the workday (Monday to Friday) nearest the {_ordinal(item.day)}"
    which = "day" if item.kind == "last" else "workday (Monday to Friday)"
    return f"the last {which} of the month"


def _weekday(item: Span | Special) -> str:
    if isinstance(item, Span):
        if item.step > 1:
            return _joined([_WEEKDAYS[day % 7] for day in item.values()])
        return _span(item, lambda number: _WEEKDAYS[number % 7], "day")
    which = "last" if item.kind == "last_of" else _ordinal(item.nth)
    return f"the {which} {_WEEKDAYS[item.day]} of the month"


def _month(number: int) -> str:
    return _MONTHS[(number - 1) % 12]


def _span(item: Span | Special, name: Callable[[int], str], unit: str) -> str:
    """Name a value or a range; the end of a range with a step is the last value that it has."""
    assert isinstance(item, Span)
    last = item.values()[-1]
    if last == item.first:
        return name(item.first)
    ends = f"{name(item.first)} to {name(last)}"
    return ends if item.step == 1 else f"every {_ordinal(item.step)} {unit} from {ends}"


def _listed(values: Values, name: Callable[[Span | Special], str]) -> str:
    return _joined([name(item) for item in values.items])


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _whole(values: Values) -> bool:
    """Say whether a field begins with a star and leaves nothing out."""
    return values.starred and len(values.numbers()) == values.field.size


def _spelt(values: Values) -> str:
    """Spell a field of a time without ranges that wrap."""
    spans = [item for item in values.items if isinstance(item, Span)]
    if any(span.last > values.field.high for span in spans):
        return ",".join(map(str, values.numbers()))
    return values.text


def _ordinal(number: int) -> str:
    """Return a number that counts.

    >>> [_ordinal(number) for number in (1, 2, 3, 4, 11, 13, 21, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '13th', '21st', '22nd']
    """
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
