"""The instants of a rule: local times of a zone, with what daylight saving does to them (R6.3)."""

from collections.abc import Iterator
from datetime import tzinfo

from rota.errors import InvalidSchedule
from rota.model import Micros
from rota.policy.cron import parse
from rota.policy.slots import LAST, CronSlots, EverySlots, Occurrence
from rota.schedule import Rule

__all__ = ["Calendar", "Occurrence"]


class Calendar:
    """The slots of a rule in a zone, strictly increasing, found without walking there.

    `InvalidSchedule` for an expression that cannot be read or never fires (rules P1-P6). No slot is
    before 1970 or after 9996.
    """

    def __init__(self, rule: Rule, zone: tzinfo) -> None:
        self._slots: CronSlots | EverySlots
        if rule.expression is not None and rule.every is None:
            expression = parse(rule.expression, seconds=rule.seconds, both_days=rule.both_days)
            self._slots = CronSlots(expression, zone, rule.gap, rule.fold)
        elif rule.every is not None and rule.expression is None:
            self._slots = EverySlots(rule.every, rule.anchor, zone)
        else:
            raise InvalidSchedule("expression", "give either an expression or every=, and not both")
        self._start = max(0, rule.starts_at or 0)
        self._end = LAST if rule.ends_at is None else min(LAST, rule.ends_at)

    def after(self, instant: Micros) -> Iterator[Occurrence]:
        """Yield the slots after an instant, the earliest first, skipped ones among them."""
        start = max(instant, self._start - 1)
        if start >= self._end:
            return
        for occurrence in self._slots.after(start):
            if occurrence.at >= self._end:
                return
            yield occurrence

    def before(self, instant: Micros) -> Iterator[Occurrence]:
        """Yield the slots before an instant, the latest first, skipped ones among them."""
        end = min(instant, self._end)
        if end <= self._start:
            return
        for occurrence in self._slots.before(end):
            if occurrence.at < self._start:
                return
            yield occurrence

    def between(self, start: Micros, end: Micros) -> Iterator[Occurrence]:
        """Yield the slots in `start <= slot < end`, the earliest first, skipped ones among them."""
        for occurrence in self.after(start - 1):
            if occurrence.at >= end:
                return
            yield occurrence

    @property
    def words(self) -> str:
        """Say in words when the rule has slots."""
        return self._slots.words
