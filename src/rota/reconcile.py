"""Brings the schedules that are declared in one place and those that are stored together (R6.8).

Any number of processes may do it at once: each step is guarded by what it was decided from, and
whoever comes second finds nothing left to do.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct, structs

from rota.backend import Backend
from rota.clock import Ids, Micros, Rng
from rota.config import APP_NAME
from rota.declared import Declared
from rota.errors import InvalidSchedule, RotaError, ScheduleChanged
from rota.outage import through_outage
from rota.policy.firing import passed
from rota.schedule import Schedule, ScheduleFilter, Skip, SlotState
from rota.slot_task import calendar_of, reckoned
from rota.times import show_instant

PAGE = 500
MENTIONED = 10
AT_ONCE = 50
"""So many changes are under way at once, so that they share commits."""
ROUNDS = 10
"""So often it is looked again whether somebody else has changed something."""

log = logging.getLogger("rota.schedules")


class Change(StrEnum):
    """What a step does, or that it leaves alone what is not its own."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    LEFT = "left"


class Step(Struct, frozen=True, kw_only=True):
    """One schedule that is not as it was declared; `old` is stored, `new` is wanted.

    `fields` names what differs. LEFT is one of another source, or of a newer version of Rota.
    """

    name: str
    change: Change
    fields: tuple[str, ...] = ()
    old: Schedule | None = None
    new: Schedule | None = None
    skips: tuple[Skip, ...] = ()

    def __str__(self) -> str:
        head = f"schedule {self.name}:"
        if self.change is Change.DELETE:
            return f"{head} deleted, it is not declared any more"
        if self.change is Change.LEFT:
            return f"{head} left alone, {_why(self.old)}"
        done = "created" if self.change is Change.CREATE else f"updated ({', '.join(self.fields)})"
        return f"{head} {done}, {_next(self.new)}"


def _why(old: Schedule | None) -> str:
    if old is None:
        return "it is gone"
    if old.problem is not None:
        return old.problem
    whose = f"by {old.source}" if old.source else "at run time"
    return f"one of this name was made {whose}; rename one of them"


def _next(schedule: Schedule | None) -> str:
    if schedule is None or schedule.next_at is None:
        return "no run is left"
    paused = " once it is resumed" if schedule.paused_at is not None else ""
    return f"next at {show_instant(schedule.next_at)}{paused}"


async def plan(backend: Backend, declared: Sequence[Declared], source: str) -> list[Step]:
    """Return what differs between what is declared and what is stored of a source (R6.8)."""
    names = [wanted.name for wanted in declared]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidSchedule("name", f"{twice!r} is declared twice")
    now = backend.clock.now()
    own = await _stored(backend, source)
    found = await backend.get_schedules(names) if names else []
    ids = Ids()
    steps = [
        _step(wanted, old, source, ids, now) for wanted, old in zip(declared, found, strict=True)
    ]
    gone = [old for old in own if old.name not in set(names)]
    deletions = [Step(name=old.name, change=Change.DELETE, old=old) for old in gone]
    return [step for step in steps if step is not None] + deletions


async def _stored(backend: Backend, source: str) -> list[Schedule]:
    where, found, after = ScheduleFilter(source=source), list[Schedule](), ""
    while page := await backend.find_schedules(where, after_name=after, limit=PAGE):
        found += page
        after = page[-1].name
    return found


def _step(
    wanted: Declared, old: Schedule | None, source: str, ids: Ids, now: Micros
) -> Step | None:
    if old is None:
        new = new_schedule(wanted, source, ids.new(now), now)
        return Step(name=wanted.name, change=Change.CREATE, new=new)
    if old.source != source or old.problem is not None:
        return Step(name=wanted.name, change=Change.LEFT, old=old)
    fields = tuple(
        name for name in ("rule", "policy", "work") if getattr(wanted, name) != getattr(old, name)
    )
    if not fields:
        return None
    new, skips = redeclared(old, wanted, now)
    return Step(
        name=wanted.name, change=Change.UPDATE, fields=fields, old=old, new=new, skips=skips
    )


def new_schedule(declared: Declared, source: str, schedule_id: str, now: Micros) -> Schedule:
    """Return a schedule that begins now; no slot before that is ever made up for."""
    return reckoned(
        Schedule(
            id=schedule_id,
            name=declared.name,
            rule=declared.rule,
            policy=declared.policy,
            work=declared.work,
            source=source,
            created_at=now,
            updated_at=now,
            cursor=now,
        )
    )


def redeclared(old: Schedule, declared: Declared, now: Micros) -> tuple[Schedule, tuple[Skip, ...]]:
    """Return a schedule that says something else, and what becomes of the slots that had come.

    With a new rule those of the old one do not run any more, and the new one counts from now on.
    Otherwise nothing is skipped: what was due before the change is still decided. A schedule that
    was over and is not any more begins now, too.
    """
    new = structs.replace(
        old,
        rule=declared.rule,
        policy=declared.policy,
        work=declared.work,
        version=old.version + 1,
        updated_at=now,
    )
    if declared.rule == old.rule and old.next_slot is not None:
        return reckoned(new), ()
    state = SlotState.MISSED if old.paused_at is None else SlotState.PAUSED
    return reckoned(structs.replace(new, cursor=max(now, old.cursor))), left_out(old, now, state)


def left_out(old: Schedule, now: Micros, state: SlotState) -> tuple[Skip, ...]:
    """Return the slots of a schedule that have come by now and shall not run, as one skip."""
    if old.next_slot is None:
        return ()  # it was over: it had no slots any more
    skip = passed(old, calendar_of(old.rule), now, state)
    return () if skip is None else (skip,)


async def apply(backend: Backend, declared: Sequence[Declared], source: str) -> list[Step]:
    """Carry out what `plan` says, and say what was done by this call; safe to repeat."""
    done: list[Step] = []
    for _ in range(ROUNDS):
        steps = await plan(backend, declared, source)
        left = [step for step in steps if step.change is Change.LEFT]
        to_do = [step for step in steps if step.change is not Change.LEFT]
        for begin in range(0, len(to_do), AT_ONCE):
            some = to_do[begin : begin + AT_ONCE]
            answers = await asyncio.gather(*(_carry_out(backend, step) for step in some))
            done += (step for step, carried_out in zip(some, answers, strict=True) if carried_out)
        if not to_do:
            return done + left
    raise ScheduleChanged(to_do[0].name)


async def _carry_out(backend: Backend, step: Step) -> bool:
    if step.change is Change.DELETE and step.old is not None:
        # False: somebody else has deleted it; that is as good.
        return await backend.remove_schedule(step.old.id)
    if step.new is None:
        return True
    if step.old is None:
        return await backend.create_schedule(step.new)
    return await backend.change_schedule(step.new, step.old.version, step.old.cursor, step.skips)


async def reconcile(backend: Backend, declared: Sequence[Declared], source: str) -> list[Step]:
    """Apply what is declared and log a line of each step; for the start of a worker (R6.8).

    A program without a name that declares nothing deletes nothing: they may be another's.
    """
    if not declared and source == f"code:{APP_NAME}":
        await _mention(backend, source)
        return []
    steps = await apply(backend, declared, source)
    for step in steps:
        level = logging.WARNING if step.change is Change.LEFT else logging.INFO
        log.log(level, "%s", step)
    return steps


async def _mention(backend: Backend, source: str) -> None:
    where = ScheduleFilter(source=source)
    some = await backend.find_schedules(where, after_name="", limit=MENTIONED)
    if some:
        log.warning(
            "this program declares no schedules, and leaves alone what others without a name "
            "declared: %s; give each a name, Rota(…, name=…), or: rota schedules delete NAME",
            ", ".join(one.name for one in some),
        )


async def at_start(
    connect: Callable[[], Backend], declared: Sequence[Declared], source: str, rng: Rng
) -> None:
    """Reconcile what a program declares while its worker starts, however long the store is away.

    Beside the worker, on a line of its own: what keeps it from being done keeps no task waiting.
    A worker behind a server that declares nothing leaves it alone: its key is for work.
    """
    backend = connect()
    if backend.distant and not declared:
        return
    try:
        await through_outage(backend.open, backend.clock, rng)
        await through_outage(lambda: reconcile(backend, declared, source), backend.clock, rng)
    except RotaError as error:
        log.error("the schedules that %s declares are not up to date: %s", source, error)
    except Exception:
        log.exception("the schedules that %s declares are not up to date", source)
    finally:
        await backend.close()
