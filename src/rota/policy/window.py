"""The slots of a schedule that have come: looked at one by one only as far as that may matter."""

from collections.abc import Iterable
from itertools import chain, islice, takewhile

from msgspec import Struct

from rota.config import COUNTED_SLOTS
from rota.model import Micros
from rota.policy.calendar import Calendar, Occurrence
from rota.schedule import Skip, SlotState

NEAR = 64
"""So many slots are walked from the cursor on; behind more, the newest are found from the end."""


class Window(Struct, frozen=True):
    """The slots in order that have come since a cursor, and the first after them that may run.

    `older` are those before `slots` that are too many to be looked at (case B088).
    """

    slots: tuple[Occurrence, ...]
    following: Micros | None
    older: Skip | None = None


def window(
    calendar: Calendar,
    cursor: Micros,
    until: Micros,
    *,
    every: Micros | None = None,
    enough: int = COUNTED_SLOTS,
) -> Window:
    """Return the slots after `cursor` up to `until`.

    Those at a fixed distance `every` are counted without being looked at, but for the newest
    `enough`. Of others the newest `COUNTED_SLOTS` are looked at to be counted, and no more.
    """
    near: list[Occurrence] = []
    walk = calendar.after(cursor)
    for one in walk:
        if one.at > until:
            return Window(tuple(near), _first_to_run(chain((one,), walk)))
        if len(near) == NEAR:
            looked_at = COUNTED_SLOTS if every is None else enough
            return _far(calendar, near[0].at, until, every, looked_at)
        near.append(one)
    return Window(tuple(near), None)


def following(calendar: Calendar, cursor: Micros) -> Micros | None:
    """Return the first slot after `cursor` that may run."""
    return _first_to_run(calendar.after(cursor))


def _far(
    calendar: Calendar, first: Micros, until: Micros, every: Micros | None, most: int
) -> Window:
    newest = takewhile(lambda one: one.at >= first, calendar.before(until + 1))
    looked_at = list(islice(newest, most))
    last = next(newest, None)
    older = None
    if last is not None:
        count = None if every is None else (last.at - first) // every + 1
        older = Skip(first, last.at, count, SlotState.MISSED)
    return Window(tuple(reversed(looked_at)), following(calendar, until), older)


def _first_to_run(occurrences: Iterable[Occurrence]) -> Micros | None:
    """Return the first that runs; after very many in a row that do not, the last of those.

    That one is then decided like any slot, and the search goes on from there.
    """
    at = None
    for one in islice(occurrences, COUNTED_SLOTS):
        at = one.at
        if one.runs:
            break
    return at
