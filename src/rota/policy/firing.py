"""What becomes of a schedule's slots: what runs, what is skipped and why, what comes next (R6)."""

from collections.abc import Collection, Iterator
from itertools import groupby

from msgspec import Struct, structs

from rota.model import Micros
from rota.policy import misfire, overlap
from rota.policy.calendar import Calendar, Occurrence
from rota.policy.jitter import offset
from rota.policy.window import Window, following, window
from rota.schedule import Overlap, Schedule, Skip, SlotState


class Plan(Struct, frozen=True, kw_only=True):
    """What shall become of a schedule: the slots that run, in order, and how far it has come."""

    runs: tuple[Micros, ...]
    skips: tuple[Skip, ...]
    new_cursor: Micros
    next_slot: Micros | None
    next_at: Micros | None
    cancel_previous: bool = False


def plan(schedule: Schedule, calendar: Calendar, now: Micros, live: int) -> Plan:
    """Decide every slot of a schedule that has come by `now`, while `live` tasks are not over.

    Each slot between the old and the new cursor runs or lies in exactly one skip, up to the last
    run that `max_runs` allows; the cursor never goes back, and the next slot is after it (B101).
    """
    policy = schedule.policy
    delay = offset(schedule.id, policy.jitter)
    until = max(now - delay, schedule.cursor)
    come = _come(schedule, calendar, until)
    due = [one.at for one in come.slots if one.runs]
    may_run = misfire.choose(policy, due, until)
    runs = tuple(overlap.choose(policy, may_run, live))
    left = _left(schedule)
    over = left is not None and len(runs) >= left
    if over:
        runs = runs[:left]
        come = _up_to(come, runs[-1] if runs else schedule.cursor)
    next_slot = None if over else come.following
    return Plan(
        runs=runs,
        skips=tuple(_skips(come, set(runs), set(may_run))),
        new_cursor=until,
        next_slot=next_slot,
        next_at=None if next_slot is None else next_slot + delay,
        cancel_previous=bool(runs) and live > 0 and policy.overlap is Overlap.CANCEL_PREVIOUS,
    )


def reckon(schedule: Schedule, calendar: Calendar) -> Schedule:
    """Return the schedule with the slot after its cursor as its next; None left if it is over."""
    next_slot = None
    if _left(schedule) != 0:
        next_slot = following(calendar, schedule.cursor)
    delay = offset(schedule.id, schedule.policy.jitter)
    next_at = None if next_slot is None else next_slot + delay
    return structs.replace(schedule, next_slot=next_slot, next_at=next_at)


def passed(schedule: Schedule, calendar: Calendar, until: Micros, state: SlotState) -> Skip | None:
    """Return the slots after the cursor up to `until` that would run, as one skip; None if none."""
    come = _come(schedule, calendar, until)
    slots = [one.at for one in come.slots if one.runs]
    older = come.older
    if older is None:
        return Skip(slots[0], slots[-1], len(slots), state) if slots else None
    count = None if older.count is None else older.count + len(slots)
    return Skip(older.first, slots[-1] if slots else older.last, count, state)


def _come(schedule: Schedule, calendar: Calendar, until: Micros) -> Window:
    every = schedule.rule.every
    if every is None:
        return window(calendar, schedule.cursor, until)
    enough = misfire.enough(schedule.policy, every)
    return window(calendar, schedule.cursor, until, every=every, enough=enough)


def _left(schedule: Schedule) -> int | None:
    """Return how many runs the schedule has left, None if any number."""
    most = schedule.policy.max_runs
    return None if most is None else max(most - schedule.fired, 0)


def _up_to(come: Window, last: Micros) -> Window:
    """Leave out the slots after the last run of a schedule: it was over by then."""
    older = come.older if come.older is not None and come.older.last <= last else None
    slots = tuple(one for one in come.slots if one.at <= last)
    return structs.replace(come, slots=slots, older=older)


def _skips(come: Window, runs: Collection[Micros], may_run: Collection[Micros]) -> Iterator[Skip]:
    """Yield the slots that do not run as ranges of neighbours that share the reason."""

    def reason(one: Occurrence) -> SlotState:
        if not one.runs:
            return SlotState.GAP
        if one.at in runs:
            return SlotState.FIRED
        return SlotState.OVERLAP if one.at in may_run else SlotState.MISSED

    older = come.older
    for state, group in groupby(come.slots, reason):
        ones = list(group)
        skip = Skip(ones[0].at, ones[-1].at, len(ones), state)
        if older is not None and state is SlotState.MISSED:
            count = None if older.count is None else older.count + len(ones)
            skip = structs.replace(skip, first=older.first, count=count)
        elif older is not None:
            yield older
        older = None
        if state is not SlotState.FIRED:
            yield skip
    if older is not None:
        yield older
