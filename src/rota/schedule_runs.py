"""Runs of a schedule besides its slots: at once, or of slots of the past (R6.8)."""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from rota.backend import Backend
from rota.client import Client
from rota.clock import Ids, Micros
from rota.errors import InvalidTask, ScheduleBusy, ScheduleNotFound
from rota.model import Accepted
from rota.schedule import Overlap, Run, Schedule, Slot, SlotState
from rota.schedule_edit import found
from rota.schedule_preview import slots_between
from rota.slot_task import task_of

BACKFILL_MOST = 10_000
"""So many slots a call makes up for at most; more are asked for in parts."""
COUNTED = 100_000
RUN = 500
LIVE_CAP = 1_000


class BackfillReport(Struct, frozen=True):
    """What became of the slots of a range: how many became tasks, how many had one already.

    After a dry run `made` is how many would become tasks.
    """

    slots: int = 0
    made: int = 0
    existing: int = 0
    dry_run: bool = False


async def run_now(
    client: Client, ids: Ids, name: str, *, force: bool, task_id: str | None = None
) -> Accepted:
    """Make a task of a schedule that stands for no slot and runs now, or waits at its gate.

    With a `task_id` that was made for this a repeat finds the task of the first call.
    """
    schedule = await found(client, name)
    if task_id is not None:
        known = task_id
        (there,) = await client.patiently(lambda backend: backend.get([known]))
        if there is not None:
            return Accepted(known, created=False)
    _check_readable(schedule)
    if schedule.policy.overlap is Overlap.SKIP and not force:
        (live,) = await client.patiently(lambda backend: backend.live([schedule.id], LIVE_CAP))
        if live:
            raise ScheduleBusy(schedule.name, live)
    now = client.backend.clock.now()
    task = task_of(schedule, None, task_id=task_id or ids.new(now), run_at=now, now=now)
    run = Run(now, task)
    (made,) = await client.patiently(
        lambda backend: backend.fire_extra(schedule.id, [run], slots=False)
    )
    if not made:
        raise ScheduleNotFound(name)
    return Accepted(task.id)


async def backfill(
    client: Client, ids: Ids, name: str, start: Micros, end: Micros, *, dry_run: bool
) -> BackfillReport:
    """Make a task of each slot in `start <= slot < end` that has none (R6.8)."""
    schedule = await found(client, name)
    _check_readable(schedule)
    now = client.backend.clock.now()
    if end <= start:
        raise InvalidTask("end", "must lie after start")
    if end > now:
        raise InvalidTask("end", "lies in the future; the schedule itself fires what comes")
    slots = slots_between(schedule.rule, start, end, COUNTED)
    if len(slots) > BACKFILL_MOST:
        many = f"{len(slots):,}" if len(slots) < COUNTED else f"{COUNTED:,} or more"
        raise InvalidTask(
            "end", f"{many} slots lie in that range; ask for at most {BACKFILL_MOST:,} at a time"
        )
    if dry_run:
        existing = await _existing(client, schedule, slots, end)
        return BackfillReport(len(slots), len(slots) - existing, existing, dry_run=True)
    made = 0
    for begin in range(0, len(slots), RUN):
        made += await _make(client, ids, schedule, slots[begin : begin + RUN], now)
    return BackfillReport(len(slots), made, len(slots) - made)


async def _make(
    client: Client, ids: Ids, schedule: Schedule, slots: Sequence[Micros], now: Micros
) -> int:
    # They run from now on: with the slot's own time they would pass all that waits.
    runs = [
        Run(slot, task_of(schedule, slot, task_id=task_id, run_at=now, now=now))
        for slot, task_id in zip(slots, ids.many(now, len(slots)), strict=True)
    ]
    answers = await client.patiently(
        lambda backend: backend.fire_extra(schedule.id, runs, slots=True)
    )
    return sum(answers)


async def _existing(
    client: Client, schedule: Schedule, slots: Sequence[Micros], end: Micros
) -> int:
    wanted, before, existing = set(slots), end, 0
    while wanted:
        page = await client.patiently(partial(_page, schedule.id, before))
        existing += sum(one.state is SlotState.FIRED and one.slot in wanted for one in page)
        if not page or page[-1].slot <= slots[0]:
            break
        before = page[-1].slot
    return existing


async def _page(schedule_id: str, before: Micros, backend: Backend) -> list[Slot]:
    return await backend.slots(schedule_id, before, RUN)


def _check_readable(schedule: Schedule) -> None:
    if schedule.problem is not None:
        raise InvalidTask("name", f"{schedule.name} cannot be run: {schedule.problem}")
