"""The slots of a rule by brute force: every minute of UTC is looked at in local time.

Shares nothing with what fires schedules but the zones themselves.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from msgspec import Struct

from rota.clock import instant, micros
from rota.config import MINUTE, SECOND
from rota.model import Micros
from rota.schedule import Fold, Gap, Rule

LONGEST_GAP = 180
"""Minutes; what a longer gap leaves out is not made up for (rule P5)."""


class Fields(Struct, frozen=True):
    """The values of an expression's fields; `interval` if minute or hour began with `*` (P5)."""

    minutes: frozenset[int]
    hours: frozenset[int]
    interval: bool
    seconds: tuple[int, ...] = (0,)
    weekdays: frozenset[int] = frozenset(range(7))

    def match(self, local: datetime) -> bool:
        """Whether the clocks show a matching minute; Monday is 0."""
        return (
            local.minute in self.minutes
            and local.hour in self.hours
            and local.weekday() in self.weekdays
        )


class Minute(Struct, frozen=True):
    """A minute of UTC as it is in a zone.

    `again` says that the clocks will show it once more, `repeated` that they did before, `left_out`
    are the local minutes that a gap right before it left out.
    """

    at: Micros
    local: datetime
    again: bool
    repeated: bool
    left_out: tuple[datetime, ...]


@lru_cache(64)
def minutes(zone: str, start: Micros, end: Micros) -> tuple[Minute, ...]:
    """Return every minute from `start` on and before `end`."""
    return tuple(_minutes(ZoneInfo(zone), start, end))


def _minutes(zone: ZoneInfo, start: Micros, end: Micros) -> Iterator[Minute]:
    first = start - start % MINUTE
    before = instant(first - MINUTE).astimezone(zone).utcoffset()
    for at in range(first, end, MINUTE):
        aware = instant(at).astimezone(zone)
        offset = aware.utcoffset()
        assert offset is not None
        assert before is not None
        local = aware.replace(tzinfo=None, fold=0)
        missing = max(int((offset - before) / timedelta(minutes=1)), 0)
        left_out = tuple(local - timedelta(minutes=n) for n in range(missing, 0, -1))
        other = local.replace(tzinfo=zone, fold=1).utcoffset()
        again = aware.fold == 0 and other != offset
        yield Minute(at, local, again, bool(aware.fold), left_out)
        before = offset


def slots(
    rule: Rule, fields: Fields | None, after: Micros, until: Micros
) -> list[tuple[Micros, bool]]:
    """Return the slots in `after < slot <= until` in order, and whether each may run."""
    found = _interval(rule, after, until) if fields is None else _cron(rule, fields, after, until)
    first = after + 1 if rule.starts_at is None else max(after + 1, rule.starts_at)
    last = until if rule.ends_at is None else min(until, rule.ends_at - 1)
    return [(at, runs) for at, runs in found if first <= at <= last]


def _interval(rule: Rule, after: Micros, until: Micros) -> Iterator[tuple[Micros, bool]]:
    every = rule.every or 0
    number = (after - rule.anchor) // every
    while (at := rule.anchor + number * every) <= until:
        yield at, True
        number += 1


def _cron(
    rule: Rule, fields: Fields, after: Micros, until: Micros
) -> Iterator[tuple[Micros, bool]]:
    day = timedelta(days=1)
    # Whole days, so that one table does for all schedules of a zone.
    start = micros(datetime.combine(instant(after), datetime.min.time(), UTC))
    end = micros(datetime.combine(instant(until) + day, datetime.min.time(), UTC))
    for minute in minutes(rule.tz, start, end):
        there = fields.match(minute.local) and _pass_runs(rule, fields, minute)
        lost = not fields.interval and any(map(fields.match, minute.left_out))
        made_up = lost and rule.gap is Gap.RUN_AFTER and len(minute.left_out) <= LONGEST_GAP
        if lost and (0 not in fields.seconds or not there):
            yield minute.at, made_up
        if there:
            for second in fields.seconds:
                yield minute.at + second * SECOND, True


def _pass_runs(rule: Rule, fields: Fields, minute: Minute) -> bool:
    if fields.interval or rule.fold is Fold.BOTH:
        return True
    return not (minute.repeated if rule.fold is Fold.FIRST else minute.again)
