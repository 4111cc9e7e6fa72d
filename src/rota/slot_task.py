"""What a slot of a schedule becomes: the task, and the slot that comes after it (R6.4)."""

from functools import lru_cache

from msgspec import structs

from rota import zones
from rota.model import Micros, NewTask, rank_of
from rota.policy.calendar import Calendar
from rota.policy.firing import reckon
from rota.schedule import Overlap, Rule, Schedule


@lru_cache(16_384)
def calendar_of(rule: Rule) -> Calendar:
    """Return the slots of a rule in its zone, by the present time zone data (R6.2).

    Reading an expression takes as long as finding a hundred slots, and schedules fire again.
    """
    return Calendar(rule, zones.zone(rule.tz))


def reckoned(schedule: Schedule) -> Schedule:
    """Return the schedule with its next slot worked out from its cursor, and by which data."""
    return structs.replace(reckon(schedule, calendar_of(schedule.rule)), tz_data=zones.version())


def task_of(
    schedule: Schedule, slot: Micros | None, *, task_id: str, run_at: Micros, now: Micros
) -> NewTask:
    """Return the task of a slot, or of none, that runs at `run_at`."""
    work = schedule.work
    key = gate_of(schedule)
    return NewTask(
        id=task_id,
        kind=work.kind,
        payload=work.payload,
        queue=work.queue,
        tenant=work.tenant,
        priority=work.priority,
        run_at=run_at,
        rank=rank_of(run_at, work.priority),
        created_at=now,
        timeout=work.timeout,
        retry=work.retry,
        expires_at=None if work.expires_in is None else run_at + work.expires_in,
        tags=work.tags,
        headers=work.headers,
        concurrency_key=key,
        max_concurrency=None if key is None else work.max_concurrency,
        schedule=schedule.id,
        slot=slot,
    )


def gate_of(schedule: Schedule) -> str | None:
    """Return the gate that the runs of a schedule share; None if they may run side by side."""
    if schedule.work.concurrency_key is not None:
        return schedule.work.concurrency_key
    return None if schedule.policy.overlap is Overlap.ALLOW else f"schedule:{schedule.id}"
