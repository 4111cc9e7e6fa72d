"""What a schedule will do, found by the function that fires it: `policy.calendar` (R6.8)."""

from collections.abc import Iterator
from itertools import islice

from msgspec import structs

from rota.clock import Micros
from rota.policy.calendar import Occurrence
from rota.policy.jitter import offset
from rota.schedule import Policy, Rule, Schedule
from rota.slot_task import calendar_of
from rota.times import show_duration, show_instant


def upcoming(
    rule: Rule, policy: Policy, after: Micros, count: int, schedule_id: str | None = None
) -> list[Occurrence]:
    """Return the next `count` slots that run after an instant, each with its surprises in words.

    Of one that is skipped the next one tells. Jitter is known for a schedule that exists.
    """
    found = islice(_running(rule, after), min(count, policy.max_runs or count))
    if not policy.jitter:
        return list(found)
    return [
        structs.replace(slot, notes=(*slot.notes, _jitter(slot.at, policy.jitter, schedule_id)))
        for slot in found
    ]


def ahead(
    schedule: Schedule, rule: Rule, policy: Policy, after: Micros, count: int
) -> list[Occurrence]:
    """Return what `upcoming` does, of a schedule that exists and may have few runs left."""
    most = policy.max_runs
    left = count if most is None else min(count, max(most - schedule.fired, 0))
    return upcoming(rule, structs.replace(policy, max_runs=None), after, left, schedule.id)


def slots_between(rule: Rule, start: Micros, end: Micros, most: int) -> list[Micros]:
    """Return the slots that run in `start <= slot < end`, at most `most` of them."""
    running = (slot.at for slot in calendar_of(rule).between(start, end) if slot.runs)
    return list(islice(running, most))


def _running(rule: Rule, after: Micros) -> Iterator[Occurrence]:
    passed: tuple[str, ...] = ()
    for slot in calendar_of(rule).after(after):
        if slot.runs:
            yield structs.replace(slot, notes=passed + slot.notes) if passed else slot
            passed = ()
        else:
            passed += slot.notes


def _jitter(slot: Micros, jitter: Micros, schedule_id: str | None) -> str:
    if schedule_id is None:
        return f"jitter: starts up to {show_duration(jitter)} later, always the same for a schedule"
    later = offset(schedule_id, jitter)
    return f"jitter: starts {show_duration(later)} later, at {show_instant(slot + later)}"
