"""Schedules, what becomes of their slots, and the tasks that they make."""

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from rota.model import Micros
from rota.schedule import Due, Firing, Run, Schedule, ScheduleFilter, Skip, Slot, SlotRun
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
)
from rota.store.sqlfiles import blocks
from rota.store.sqlite import cancel, gates
from rota.store.sqlite.rows import ids_in, numbers_in, to_json

_SQL = blocks("sqlite")


def create(connection: apsw.Connection, schedule: Schedule) -> bool:
    """Store a schedule; False if another one has its name."""
    connection.execute(_SQL["create_schedule"], columns(schedule))
    return bool(connection.execute(_SQL["has_schedule"], {"id": schedule.id}).get)


def change(
    connection: apsw.Connection,
    schedule: Schedule,
    version: int,
    cursor: Micros,
    skips: Sequence[Skip],
) -> bool:
    """Replace a schedule that is at this version and cursor; say whether it was."""
    given = columns(schedule) | {"old_version": version, "old_cursor": cursor}
    connection.execute(_SQL["change_schedule"], given | {"more_skipped": skipped(skips)})
    changed = connection.changes() > 0
    if changed and skips:
        _note_skips(connection, [(schedule.id, skip) for skip in skips], schedule.updated_at)
    return changed


def remove(connection: apsw.Connection, schedule_id: str) -> bool:
    """Remove a schedule, but not yet the record of its slots; say whether it was there."""
    connection.execute(_SQL["remove_schedule"], {"id": schedule_id})
    return connection.changes() > 0


def forget(connection: apsw.Connection, schedule_id: str) -> bool:
    """Remove some of the record of a schedule that is gone; say whether there may be more."""
    gone = []
    for block in ("forget_slots", "forget_skips"):
        connection.execute(_SQL[block], {"id": schedule_id, "limit": FORGOTTEN})
        gone.append(connection.changes())
    return FORGOTTEN in gone


def get(connection: apsw.Connection, names: Sequence[str]) -> list[Schedule | None]:
    """Return each schedule by its name or its id, or None."""
    rows = connection.execute(_SQL["get_schedules"], {"names": to_json(names)})
    found = [schedule_of(row) for row in rows]
    known = {schedule.id: schedule for schedule in found}
    known |= {schedule.name: schedule for schedule in found}
    return [known.get(name) for name in names]


def find(
    connection: apsw.Connection, where: ScheduleFilter, after_name: str, limit: int
) -> list[Schedule]:
    """Return a page of schedules by name."""
    given = msgspec.structs.asdict(where) | {"after": after_name, "limit": limit}
    return [schedule_of(row) for row in connection.execute(_SQL["find_schedules"], given)]


def live(connection: apsw.Connection, schedule_ids: Sequence[str], cap: int) -> list[int]:
    """Return how many tasks of each schedule are not over."""
    rows = connection.execute(_SQL["live"], {"ids": to_json(schedule_ids), "cap": cap})
    return [number for (number,) in rows]


def due(connection: apsw.Connection, now: Micros, limit: int) -> list[Due]:
    """Return the schedules that are to be fired, the earliest first."""
    given = {"now": now, "limit": limit, "cap": LIVE_COUNTED}
    rows = connection.execute(_SQL["due_schedules"], given)
    return [Due(schedule_of(columns_), live_) for *columns_, live_ in rows]


def next_firing(connection: apsw.Connection) -> Micros | None:
    """Return when the next schedule is to be fired."""
    found: Micros | None = connection.execute(_SQL["next_firing"]).get
    return found


def behind(connection: apsw.Connection, now: Micros, cap: int) -> int:
    """Count the schedules that were to be fired by now."""
    found: int = connection.execute(_SQL["schedules_behind"], {"now": now, "cap": cap}).get
    return found


def outdated(connection: apsw.Connection, tz_data: str, limit: int) -> list[Schedule]:
    """Return schedules whose next slot was worked out with other time zone data."""
    given = {"tz_data": tz_data, "limit": limit}
    return [schedule_of(row) for row in connection.execute(_SQL["outdated_schedules"], given)]


def fire(connection: apsw.Connection, firings: Sequence[Firing], now: Micros) -> list[bool]:
    """Carry out the firings whose schedules are as they expect; say which did."""
    expected = to_json([(firing.schedule_id, firing.version, firing.cursor) for firing in firings])
    places = connection.execute(_SQL["expected_firings"], {"expected": expected}).get
    applied = set(numbers_in(places))
    chosen = [firing for place, firing in enumerate(firings) if place in applied]
    if chosen:
        _carry_out(connection, chosen, now)
    return [place in applied for place in range(len(firings))]


def fire_extra(
    connection: apsw.Connection,
    schedule_id: str,
    runs: Sequence[Run],
    now: Micros,
    as_slots: bool,
) -> list[bool]:
    """Make tasks besides the firings; say for each whether it was made by this or before."""
    if not connection.execute(_SQL["has_schedule"], {"id": schedule_id}).get:
        return [False] * len(runs)
    if not as_slots:
        gates.enter(connection, [run.task for run in runs], now)
        return [True] * len(runs)
    made = _take_slots(connection, [(schedule_id, run) for run in runs], now, backfilled=True)
    gates.enter(connection, [run.task for run in runs if run.task.id in made], now)
    return [run.task.id in made for run in runs]


def slots(
    connection: apsw.Connection, schedule_id: str, before: Micros | None, limit: int
) -> list[Slot]:
    """Return what became of slots, the newest first."""
    until = ALWAYS if before is None else before
    given = {"id": schedule_id, "before": until, "limit": limit}
    return [slot_of(row) for row in connection.execute(_SQL["slots"], given)]


def slot_runs(
    connection: apsw.Connection, schedule_ids: Sequence[str], before: Micros | None, limit: int
) -> list[list[SlotRun]]:
    """Return the newest slots of each schedule with what became of their tasks."""
    until = ALWAYS if before is None else before
    given = {"ids": to_json(schedule_ids), "before": until, "limit": limit}
    rows = connection.execute(_SQL["slots_of"], given).fetchall()
    ids = to_json([row[4] for row in rows if row[4] is not None])
    tasks = connection.execute(_SQL["slot_tasks"], {"ids": ids}).fetchall()
    return grouped(rows, tasks, range(len(schedule_ids)))


def _carry_out(connection: apsw.Connection, firings: Sequence[Firing], now: Micros) -> None:
    runs = [(firing.schedule_id, run) for firing in firings for run in firing.runs]
    made = _take_slots(connection, runs, now, backfilled=False)
    replaced = [firing.schedule_id for firing in firings if firing.cancel_previous]
    if replaced:
        ids = ids_in(connection.execute(_SQL["live_ids"], {"ids": to_json(replaced)}).get)
        cancel.cancel(connection, ids, now, None, SUPERSEDED)
    gates.enter(connection, [run.task for _, run in runs if run.task.id in made], now)
    skips = [(firing.schedule_id, skip) for firing in firings for skip in firing.skips]
    if skips:
        _note_skips(connection, skips, now)
    changes = to_json([_change(firing, made) for firing in firings])
    connection.execute(_SQL["fire"], {"changes": changes, "now": now})


def _take_slots(
    connection: apsw.Connection,
    runs: Sequence[tuple[str, Run]],
    now: Micros,
    *,
    backfilled: bool,
) -> set[str]:
    """Record runs for their slots; return the ids of those tasks that have them now."""
    if not runs:
        return set()
    wanted = [{"schedule": id_, "slot": run.slot, "task_id": run.task.id} for id_, run in runs]
    given = {"runs": to_json(wanted)}
    connection.execute(_SQL["take_slots"], given | {"now": now, "backfilled": backfilled})
    # As a rule all of them were free, and need not be asked for one by one.
    if connection.changes() == len(runs):
        return {run.task.id for _, run in runs}
    return set(ids_in(connection.execute(_SQL["holding_slots"], given).get))


def _note_skips(
    connection: apsw.Connection, skips: Sequence[tuple[str, Skip]], now: Micros
) -> None:
    rows = [{"schedule": id_, **msgspec.structs.asdict(skip)} for id_, skip in skips]
    connection.execute(_SQL["note_skips"], {"skips": to_json(rows), "now": now})


def _change(firing: Firing, made: set[str]) -> dict[str, Any]:
    fired = [run.slot for run in firing.runs if run.task.id in made]
    return {
        "id": firing.schedule_id,
        "cursor": firing.new_cursor,
        "next_slot": firing.next_slot,
        "next_at": firing.next_at,
        "tz_data": firing.tz_data or None,
        "last_slot": max(fired, default=None),
        "fired": len(fired),
        "skipped": skipped(firing.skips),
    }
