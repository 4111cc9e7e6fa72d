"""Schedules as the tables of both stores have them, and back."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from rota.config import COUNTED_SLOTS, PENDING_MOST, PRIORITY_DEFAULT
from rota.model import Micros, State
from rota.schedule import Policy, Rule, Schedule, Skip, Slot, SlotRun, SlotState, Work

SUPERSEDED: Final = "cancelled: a later run of its schedule takes its place"
"""Why a task was cancelled that an overlap policy has replaced."""
FORGOTTEN: Final = 10_000
"""So much of the record of a removed schedule goes in one transaction."""
ALWAYS: Final[Micros] = 2**62
"""After every slot."""
LIVE_COUNTED: Final = PENDING_MOST + 1
"""No overlap policy tells more live tasks than these apart."""

_encode = msgspec.json.Encoder().encode
_rule_of = msgspec.json.Decoder(Rule).decode
_policy_of = msgspec.json.Decoder(Policy).decode
_work_of = msgspec.json.Decoder(Work).decode
_UNREADABLE: Final = (
    Rule(),
    Policy(),
    Work(kind="", payload="{}", queue="", priority=PRIORITY_DEFAULT),
)


def schedule_of(row: Iterable[Any]) -> Schedule:
    """Return the schedule in a row of `get_schedules`; what cannot be read is told, not raised."""
    id_, name, source, rule, policy, work, version, created_at, updated_at, cursor, *rest = row
    next_slot, next_at, tz_data, paused_at, pause_reason, last_slot, last_fired_at, *counts = rest
    fired, skipped = counts
    problem = None
    try:
        parts = _rule_of(rule), _policy_of(policy), _work_of(work)
    except msgspec.ValidationError as error:
        parts, problem = _UNREADABLE, str(error)
    return Schedule(
        id=id_,
        name=name,
        rule=parts[0],
        policy=parts[1],
        work=parts[2],
        source=source,
        version=version,
        created_at=created_at,
        updated_at=updated_at,
        cursor=cursor,
        next_slot=next_slot,
        next_at=next_at,
        tz_data=tz_data,
        paused_at=paused_at,
        pause_reason=pause_reason,
        last_slot=last_slot,
        last_fired_at=last_fired_at,
        fired=fired,
        skipped=skipped,
        problem=problem,
    )


def columns(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule's columns by name."""
    values = msgspec.structs.asdict(schedule)
    del values["problem"]
    for name in ("rule", "policy", "work"):
        values[name] = to_json(values[name])
    return values | {"kind": schedule.work.kind, "tenant": schedule.work.tenant}


def slot_of(row: Iterable[Any]) -> Slot:
    """Return what became of a slot, from a row of `slots`."""
    slot, state, at, task_id, backfilled, last, count = row
    return Slot(slot, SlotState(state), at, task_id, bool(backfilled), last, count)


def grouped(
    rows: Iterable[Any], tasks: Iterable[Any], places: Iterable[Any]
) -> list[list[SlotRun]]:
    """Return what the rows of `slots_of` and `slot_tasks` say, by the places asked for."""
    known = {id_: (State(state), *rest) for id_, state, *rest in tasks}
    found: dict[Any, list[SlotRun]] = {place: [] for place in places}
    for place, *row in rows:
        slot = slot_of(row)
        found[place].append(SlotRun(slot, *known.get(slot.task_id, ())))
    return list(found.values())


def skipped(skips: Sequence[Skip]) -> int:
    """Return how many slots were skipped, as far as they are counted."""
    return sum(COUNTED_SLOTS if skip.count is None else skip.count for skip in skips)


def to_json(value: Any) -> str:
    """Return a value as JSON text."""
    return _encode(value).decode()
