"""Schedules and their slots for tests of what becomes of them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from rota import zones
from rota.config import MINUTE, SECOND
from rota.model import Micros
from rota.policy.calendar import Calendar
from rota.policy.firing import Plan, plan, reckon
from rota.schedule import Policy, Rule, Schedule, Skip, Work

NOON: Micros = 1_792_411_200 * SECOND
"""2026-10-19 12:00 UTC, a Monday."""
MINUTELY = Rule(expression="* * * * *")
WORK = Work(kind="report", payload="{}", queue="default", priority=5)


def utc(text: str) -> Micros:
    """An instant of which the zone is UTC."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


def calendar(schedule: Schedule) -> Calendar:
    """The slots of a schedule."""
    return Calendar(schedule.rule, zones.zone(schedule.rule.tz))


def scheduled(rule: Rule = MINUTELY, *, cursor: Micros = NOON, **fields: Any) -> Schedule:
    """A schedule whose slots up to `cursor` are decided; policy by its fields' names."""
    policy = {name: fields.pop(name) for name in Policy.__struct_fields__ if name in fields}
    schedule = Schedule(
        id=fields.pop("id", "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"),
        name="report",
        rule=rule,
        policy=msgspec.convert(policy, Policy),
        work=WORK,
        created_at=cursor,
        updated_at=cursor,
        cursor=cursor,
        **fields,
    )
    return reckon(schedule, calendar(schedule))


def planned(schedule: Schedule, now: Micros, live: int = 0) -> Plan:
    """What becomes of a schedule now."""
    return plan(schedule, calendar(schedule), now, live)


def minutes(instants: Sequence[Micros], since: Micros = NOON) -> list[int]:
    """How many minutes each instant is after noon."""
    return [(instant - since) // MINUTE for instant in instants]


def told(skips: Sequence[Skip]) -> list[tuple[int, int, int | None, str]]:
    """Skips as minutes after noon: first, last, count, why."""
    return [
        ((s.first - NOON) // MINUTE, (s.last - NOON) // MINUTE, s.count, s.state.rpartition(":")[2])
        for s in skips
    ]
