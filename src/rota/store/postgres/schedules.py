"""Schedules, what becomes of their slots, and the tasks that they make."""

from collections.abc import Sequence

import msgspec

from rota.config import COUNTED_SLOTS
from rota.model import Micros
from rota.schedule import Due, Firing, Run, Schedule, ScheduleFilter, Skip, Slot, SlotRun
from rota.store.postgres.faults import driver
from rota.store.postgres.rows import possible_ids
from rota.store.postgres.statements import Connection, execute, fetch, fetch_value
from rota.store.schedule_rows import (
    ALWAYS,
    FORGOTTEN,
    LIVE_COUNTED,
    SUPERSEDED,
    columns,
    grouped,
    schedule_of,
    skipped,
    slot_of,
    to_json,
)


async def create(connection: Connection, schedule: Schedule) -> bool:
    """Store a schedule; False if another one has its name."""
    if await execute(connection, "create_schedule", **columns(schedule)):
        return True
    # Asked anew: what stood in the way may have been stored since the first statement began.
    return bool(await fetch_value(connection, "has_schedule", id=schedule.id))


async def change(
    connection: Connection, schedule: Schedule, version: int, cursor: Micros, skips: Sequence[Skip]
) -> bool:
    """Replace a schedule that is at this version and cursor; say whether it was."""
    given = columns(schedule) | {"old_version": version, "old_cursor": cursor}
    given |= {"skips": to_json(skips), "more_skipped": skipped(skips)}
    try:
        changed = await fetch_value(connection, "change_schedule", **given)
    except driver().UniqueViolationError:
        # Somebody else took its new name at the same time.
        return False
    return changed is not None


async def remove(connection: Connection, schedule_id: str) -> bool:
    """Remove a schedule, but not yet the record of its slots; say whether it was there.

    Nothing is added to the record once the schedule is gone. What a crash leaves of it nobody can
    read any more, and it goes with its age.
    """
    known = possible_ids([schedule_id])
    return bool(known) and await execute(connection, "remove_schedule", id=known[0]) > 0


async def forget(connection: Connection, schedule_id: str) -> bool:
    """Remove some of the record of a schedule that is gone; say whether there may be more."""
    given = {"id": schedule_id, "limit": FORGOTTEN}
    slots_ = await execute(connection, "forget_slots", **given)
    skips = await execute(connection, "forget_skips", **given)
    return FORGOTTEN in (slots_, skips)


async def get(connection: Connection, names: Sequence[str]) -> list[Schedule | None]:
    """Return each schedule by its name or its id, or None."""
    rows = await fetch(connection, "get_schedules", ids=possible_ids(names), names=names)
    found = [schedule_of(row) for row in rows]
    known = {schedule.id: schedule for schedule in found}
    known |= {schedule.name: schedule for schedule in found}
    return [known.get(name) for name in names]


async def find(
    connection: Connection, where: ScheduleFilter, after_name: str, limit: int
) -> list[Schedule]:
    """Return a page of schedules by name."""
    given = msgspec.structs.asdict(where)
    rows = await fetch(connection, "find_schedules", **given, after=after_name, limit=limit)
    return [schedule_of(row) for row in rows]


async def live(connection: Connection, schedule_ids: Sequence[str], cap: int) -> list[int]:
    """Return how many tasks of each schedule are not over."""
    ids = possible_ids(schedule_ids)
    rows = await fetch(connection, "live", ids=ids, cap=cap)
    counts = {id_: row[0] for id_, row in zip(ids, rows, strict=True)}
    return [counts.get(id_, 0) for id_ in schedule_ids]


async def due(connection: Connection, now: Micros, limit: int) -> list[Due]:
    """Return the schedules that are to be fired, the earliest first."""
    rows = await fetch(connection, "due_schedules", now=now, limit=limit, cap=LIVE_COUNTED)
    return [Due(schedule_of(columns_), live_) for *columns_, live_ in rows]


async def outdated(connection: Connection, tz_data: str, limit: int) -> list[Schedule]:
    """Return schedules whose next slot was worked out with other time zone data."""
    rows = await fetch(connection, "outdated_schedules", tz_data=tz_data, limit=limit)
    return [schedule_of(row) for row in rows]


async def fire(connection: Connection, firings: Sequence[Firing], now: Micros) -> list[bool]:
    """Carry out firings by one statement; say for each whether it applied."""
    given = {"firings": to_json(firings), "now": now, "most": COUNTED_SLOTS}
    rows = await fetch(connection, "fire", **given, reason=SUPERSEDED)
    applied = {row[0] for row in rows}
    return [place in applied for place in range(1, len(firings) + 1)]


async def fire_extra(
    connection: Connection, schedule_id: str, runs: Sequence[Run], now: Micros, as_slots: bool
) -> list[bool]:
    """Make tasks besides the firings by one statement; say for each whether it was made."""
    known = possible_ids([schedule_id])
    if not known:
        return [False] * len(runs)
    given = {"id": known[0], "runs": to_json(runs), "now": now, "slots": as_slots}
    return [row[0] for row in await fetch(connection, "fire_extra", **given)]


async def slots(
    connection: Connection, schedule_id: str, before: Micros | None, limit: int
) -> list[Slot]:
    """Return what became of slots, the newest first."""
    known = possible_ids([schedule_id])
    if not known:
        return []
    until = ALWAYS if before is None else before
    rows = await fetch(connection, "slots", id=known[0], before=until, limit=limit)
    return [slot_of(row) for row in rows]


async def slot_runs(
    connection: Connection, schedule_ids: Sequence[str], before: Micros | None, limit: int
) -> list[list[SlotRun]]:
    """Return the newest slots of each schedule with what became of their tasks."""
    ids = possible_ids(schedule_ids)
    until = ALWAYS if before is None else before
    rows = await fetch(connection, "slots_of", ids=ids, before=until, limit=limit)
    tasks = await fetch(
        connection, "slot_tasks", ids=[row[4] for row in rows if row[4] is not None]
    )
    by_id = dict(zip(ids, grouped(rows, tasks, range(1, len(ids) + 1)), strict=True))
    return [by_id.get(id_, []) for id_ in schedule_ids]
