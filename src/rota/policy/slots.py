"""Where the slots of a rule are: at a fixed distance, or where a cron expression matches (P5)."""

from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Final

from msgspec import Struct

from rota.config import DAY, HOUR, LONGEST_DELAY, MINUTE, SECOND
from rota.errors import InvalidSchedule
from rota.model import Micros
from rota.policy.cron import Expression
from rota.policy.daylight import MICROSECOND, ZERO, Change, at, change_at, local
from rota.schedule import Fold, Gap

LAST: Final = at(datetime(9997, 1, 1), ZERO)
"""The end of the year 9996: a little room before the calendar of Python ends, in any zone."""

_UNITS: Final = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second"))


class Occurrence(Struct, frozen=True):
    """One slot of a rule; `runs` is False if its local time does not exist and is skipped.

    `notes` says in words what is surprising about it; `local` is aware.
    """

    at: Micros
    local: datetime
    notes: tuple[str, ...] = ()
    runs: bool = True


class EverySlots:
    """A fixed interval: `anchor + n * every`, in real time whatever the clocks do (B013)."""

    def __init__(self, every: Micros, anchor: Micros, zone: tzinfo) -> None:
        if not SECOND <= every <= LONGEST_DELAY:
            raise InvalidSchedule("every", "must lie between 1 second and 10 years")
        self._every = every
        self._anchor = anchor
        self._zone = zone

    @property
    def words(self) -> str:
        """Say in words how far they are apart."""
        for unit, name in _UNITS:
            if self._every % unit == 0:
                count = self._every // unit
                return f"Every {name}" if count == 1 else f"Every {count:,} {name}s"
        return f"Every {self._every / SECOND:,g} seconds"

    def after(self, instant: Micros) -> Iterator[Occurrence]:
        """Yield the slots after an instant, the earliest first."""
        slot = instant + self._every - (instant - self._anchor) % self._every
        while slot < LAST:
            yield Occurrence(slot, local(self._zone, slot))
            slot += self._every

    def before(self, instant: Micros) -> Iterator[Occurrence]:
        """Yield the slots before an instant, the latest first."""
        slot = instant - ((instant - self._anchor) % self._every or self._every)
        while slot >= 0:
            yield Occurrence(slot, local(self._zone, slot))
            slot -= self._every


class CronSlots:
    """The local times of an expression as instants of a zone (R6.3, P5).

    Of an interval schedule a slot is wherever the clocks show a matching time: in both passes of a
    fold, and none for what a gap leaves out. A fixed time in a fold runs as `fold` says. Fixed
    times in a gap are one slot at the first instant after it, together with one that is there
    anyway; it does not run if `gap` says so or the gap is too long, unless it is there anyway.
    """

    def __init__(self, expression: Expression, zone: tzinfo, gap: Gap, fold: Fold) -> None:
        self._expression = expression
        self._zone = zone
        self._gap = gap
        self._fold = Fold.BOTH if expression.interval else fold

    @property
    def words(self) -> str:
        """Say in words when they are."""
        return f"{self._expression.words}, {self._zone}"

    def after(self, instant: Micros) -> Iterator[Occurrence]:
        """Yield the slots after an instant, the earliest first."""
        since = _naive(self._zone, instant)
        change = change_at(self._zone, since)
        while True:
            if change is not None:
                yield from self._through(change, instant)
                since = change.end if change.is_gap else change.end - MICROSECOND
                change = None
            for moment in self._expression.after(since):
                slot = self._plain(moment)
                if slot is None:
                    change = change_at(self._zone, moment)
                    break
                yield slot
            if change is None:
                return

    def before(self, instant: Micros) -> Iterator[Occurrence]:
        """Yield the slots before an instant, the latest first."""
        held = None
        for slot in self._back(instant):
            # What a gap left out is one slot with what is there after the gap anyway.
            if held is not None and slot.at != held.at:
                yield held
            held = slot
        if held is not None:
            yield held

    def _back(self, instant: Micros) -> Iterator[Occurrence]:
        until = _naive(self._zone, instant)
        change = change_at(self._zone, until)
        while True:
            if change is not None:
                yield from self._back_through(change, instant)
                until = change.start
                change = None
            for moment in self._expression.before(until):
                slot = self._plain(moment)
                if slot is None:
                    change = change_at(self._zone, moment)
                    break
                yield slot
            if change is None:
                return

    def _plain(self, moment: datetime) -> Occurrence | None:
        """Return the slot of a local time that exists once; None if it does not."""
        aware = moment.replace(tzinfo=self._zone)
        offset = aware.utcoffset() or ZERO
        if aware.replace(fold=1).utcoffset() != offset:
            return None
        return Occurrence(at(moment, offset), aware)

    def _through(self, change: Change, instant: Micros) -> Iterator[Occurrence]:
        """Yield the slots of a change that are after an instant, the earliest first."""
        if change.is_gap:
            yield from self._of_gap(change)
            return
        for fold in self._passes():
            since = max(change.start - MICROSECOND, change.shown(instant, fold))
            for moment in self._expression.after(since):
                if moment >= change.end:
                    break
                yield self._of_fold(change, moment, fold)

    def _back_through(self, change: Change, instant: Micros) -> Iterator[Occurrence]:
        """Yield the slots of a change that are before an instant, the latest first."""
        if change.is_gap:
            yield from (slot for slot in self._of_gap(change) if slot.at < instant)
            return
        for fold in reversed(self._passes()):
            for moment in self._expression.before(min(change.end, change.shown(instant, fold))):
                if moment < change.start:
                    break
                yield self._of_fold(change, moment, fold)

    def _passes(self) -> tuple[int, ...]:
        return {Fold.FIRST: (0,), Fold.SECOND: (1,), Fold.BOTH: (0, 1)}[self._fold]

    def _of_fold(self, change: Change, moment: datetime, fold: int) -> Occurrence:
        note = f"{change.why(moment)}; this is the {'second' if fold else 'first'} pass"
        if self._fold != Fold.BOTH:
            note += ", the only one in which it runs"
        aware = moment.replace(tzinfo=self._zone, fold=fold)
        return Occurrence(at(moment, change.new if fold else change.old), aware, (note,))

    def _of_gap(self, change: Change) -> Iterator[Occurrence]:
        """Yield the slot at the end of a gap in which there is a local time, if there is one."""
        there_anyway = self._expression.match(change.end)
        end = local(self._zone, change.at)
        if self._expression.interval:
            if there_anyway:
                yield Occurrence(change.at, end)
            return
        lost = next(self._expression.after(change.start - MICROSECOND))
        runs = self._gap == Gap.RUN_AFTER and change.made_up
        if runs:
            fate = "it runs at the first instant after that"
        elif self._gap == Gap.SKIP:
            fate = "it is skipped"
        else:
            fate = "it is skipped: more than 3 hours are not made up"
        note = f"{change.why(lost)}; {fate}"
        yield Occurrence(change.at, end, (note,), runs or there_anyway)


def _naive(zone: tzinfo, instant: Micros) -> datetime:
    return local(zone, instant).replace(tzinfo=None, fold=0)
