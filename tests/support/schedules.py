"""Makes schedules and firings whose every field has a readable default, and brings them to a store.

The schedule of a test has a slot each minute, the first at `NOW`.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from rota.config import MINUTE
from rota.model import Micros, NewTask, State, TaskFilter
from rota.schedule import Firing, Policy, Rule, Run, Schedule, Skip, SlotState, Work
from rota.store.base import Store
from tests.support.factories import NOW, Make

MINUTELY = Rule(expression="* * * * *", tz="Europe/Berlin")
REPORT = Work(kind="report", payload='{"school":7}', queue="default", priority=5)


NO_GATE: dict[str, Any] = {"concurrency_key": None, "max_concurrency": None}
"""For tasks that need not wait for one another."""


def slot(n: int) -> Micros:
    """The n-th slot; the first is number 0."""
    return NOW + n * MINUTE


def a_schedule(make: Make, name: str = "report", **fields: Any) -> Schedule:
    """A schedule whose next slot comes at `NOW`; `next_at` is that of its slot."""
    defaults: dict[str, Any] = {
        "id": make.id(),
        "name": name,
        "rule": MINUTELY,
        "policy": Policy(),
        "work": REPORT,
        "created_at": NOW - MINUTE,
        "updated_at": NOW - MINUTE,
        "cursor": NOW - MINUTE,
        "next_slot": NOW,
        "next_at": NOW,
        "tz_data": "2026a",
    }
    return Schedule(**defaults | fields)


def task_of(make: Make, schedule: Schedule, at: Micros | None, **fields: Any) -> NewTask:
    """The task of a slot, at the gate of its schedule."""
    defaults: dict[str, Any] = {
        "kind": schedule.work.kind,
        "payload": schedule.work.payload,
        "run_at": NOW if at is None else at,
        "concurrency_key": f"schedule:{schedule.id}",
        "max_concurrency": 1,
        "schedule": schedule.id,
        "slot": at,
    }
    return make.task(**defaults | fields)


def runs_of(make: Make, schedule: Schedule, *at: Micros, **fields: Any) -> tuple[Run, ...]:
    """The runs of these slots."""
    return tuple(Run(one, task_of(make, schedule, one, **fields)) for one in at)


def firing(
    make: Make,
    schedule: Schedule,
    *at: Micros,
    upto: Micros | None = None,
    skips: Sequence[Skip] = (),
    cancel_previous: bool = False,
    **fields: Any,
) -> Firing:
    """What makes tasks of these slots, decided from the schedule as it is handed in."""
    cursor = max((*at, schedule.cursor)) if upto is None else upto
    return Firing(
        schedule_id=schedule.id,
        version=schedule.version,
        cursor=schedule.cursor,
        runs=runs_of(make, schedule, *at, **fields),
        skips=tuple(skips),
        new_cursor=cursor,
        next_slot=cursor + MINUTE,
        next_at=cursor + MINUTE,
        tz_data=schedule.tz_data,
        cancel_previous=cancel_previous,
    )


def missed(first: Micros, last: Micros, state: SlotState = SlotState.MISSED) -> Skip:
    """Slots each minute that became no tasks."""
    return Skip(first, last, (last - first) // MINUTE + 1, state)


async def stored(store: Store, make: Make, name: str = "report", **fields: Any) -> Schedule:
    """A schedule that is in the store."""
    schedule = a_schedule(make, name, **fields)
    assert await store.create_schedule(schedule)
    return schedule


async def read(store: Store, schedule: Schedule) -> Schedule:
    """A schedule, which must be there, as it is by now."""
    (found,) = await store.get_schedules([schedule.id])
    assert found is not None
    return found


def edited(schedule: Schedule, **fields: Any) -> Schedule:
    """The schedule in its next version."""
    return structs.replace(schedule, version=schedule.version + 1, **fields)


async def states(store: Store, schedule: Schedule) -> dict[int | None, State]:
    """The state of each slot's task."""
    tasks = await store.find(TaskFilter(schedule=schedule.id), limit=1000)
    assert len({task.slot for task in tasks}) == len(tasks)
    return {task.slot: task.state for task in tasks}
