"""What the clocks of a zone do: local times that do not exist, and local times that exist twice.

Only UTC offsets are looked at. That a zone calls an offset daylight saving says nothing: in Morocco
and Ireland it is the other way round (B082).
"""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from msgspec import Struct

from rota.model import Micros

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LOCAL_EPOCH: Final = datetime(1970, 1, 1)
MICROSECOND: Final = timedelta(microseconds=1)
ZERO: Final = timedelta(0)
MADE_UP: Final = timedelta(hours=3)
"""What falls into a longer gap is not made up (P5): there a whole day is left out (B083)."""


class Change(Struct, frozen=True):
    """A jump of the clocks at the instant `at`, from one UTC offset to another.

    The local times from `start` up to `end` do not exist (a gap: the clocks go forward) or exist
    twice (a fold: they go back).
    """

    at: Micros
    old: timedelta
    new: timedelta
    start: datetime
    end: datetime

    @property
    def is_gap(self) -> bool:
        return self.old < self.new

    @property
    def made_up(self) -> bool:
        """Whether what falls into the gap may run after it."""
        return self.new - self.old <= MADE_UP

    def shown(self, instant: Micros, fold: int) -> datetime:
        """Return what clocks show at an instant that were not put back yet, or were already."""
        return LOCAL_EPOCH + timedelta(microseconds=instant) + (self.new if fold else self.old)

    def why(self, moment: datetime) -> str:
        """Say what is the matter with a local time that it meets."""
        clock = f"{moment:%Y-%m-%d %H:%M}" + (f":{moment:%S}" if moment.second else "")
        if self.is_gap:
            jump = f"the clocks go forward from {self.start:%H:%M} to {self.end:%H:%M}"
            if not self.made_up:
                jump = f"the clocks go forward from {self.start} to {self.end}"
            return f"{clock} does not exist: {jump}"
        return (
            f"{clock} exists twice: the clocks go back from {self.end:%H:%M} to {self.start:%H:%M}"
        )


def local(zone: tzinfo, instant: Micros) -> datetime:
    """Return an instant as an aware local time."""
    return (EPOCH + timedelta(microseconds=instant)).astimezone(zone)


def at(moment: datetime, offset: timedelta) -> Micros:
    """Return the instant of a local time that has this UTC offset."""
    return (moment - LOCAL_EPOCH - offset) // MICROSECOND


def change_at(zone: tzinfo, moment: datetime) -> Change | None:
    """Return the change that a local time meets: because of it it exists twice, or not at all."""
    moment = moment.replace(microsecond=0)  # clocks change at whole seconds
    aware = moment.replace(tzinfo=zone)
    old = aware.utcoffset() or ZERO
    new = aware.replace(fold=1).utcoffset() or ZERO
    if old == new:
        return None
    instant = _first_instant(zone, moment - max(old, new), moment - min(old, new), new)
    jump = instant.replace(tzinfo=None)
    return Change(at(jump, ZERO), old, new, jump + min(old, new), jump + max(old, new))


def _first_instant(zone: tzinfo, low: datetime, high: datetime, new: timedelta) -> datetime:
    """Return the first second after `low` in UTC with an offset; `high` has it."""
    while high - low > _SECOND:
        middle = low + (high - low) // 2
        middle -= timedelta(microseconds=middle.microsecond)
        if middle.replace(tzinfo=UTC).astimezone(zone).utcoffset() == new:
            high = middle
        else:
            low = middle
    return high


_SECOND: Final = timedelta(seconds=1)
