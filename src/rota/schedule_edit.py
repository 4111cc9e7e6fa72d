"""Changes schedules that exist: read, changed, and written if nobody else was faster (R6.8)."""

from collections.abc import Callable

from msgspec import Struct, structs

from rota.client import Client
from rota.clock import Micros, parse_id
from rota.declared import Declared
from rota.errors import InvalidSchedule, ScheduleChanged, ScheduleNotFound
from rota.options import check_reason
from rota.reconcile import PAGE, left_out, redeclared
from rota.registry import did_you_mean
from rota.schedule import Schedule, ScheduleFilter, Skip, SlotState
from rota.slot_task import reckoned

TRIES = 20
"""So often a change is made anew after somebody else was faster; a fire step is one of those."""


class Edit(Struct, frozen=True):
    """A schedule as it shall be, and slots that become no tasks because of that."""

    schedule: Schedule
    skips: tuple[Skip, ...] = ()


Change = Callable[[Schedule, Micros], Edit | None]
"""Says what a schedule shall become, or None if it is so already."""


async def found(client: Client, name: str) -> Schedule:
    """Return a schedule by its name or its id; `ScheduleNotFound`."""
    known = parse_id(name) or name
    (schedule,) = await client.patiently(lambda backend: backend.get_schedules([known]))
    if schedule is None:
        raise ScheduleNotFound(name, await _hint(client, name))
    return schedule


async def _hint(client: Client, name: str) -> str:
    some = await client.patiently(
        lambda backend: backend.find_schedules(ScheduleFilter(), after_name="", limit=PAGE)
    )
    return did_you_mean(name, [one.name for one in some])


async def edit(client: Client, name: str, change: Change, version: int | None = None) -> Schedule:
    """Carry out a change of a schedule and return it as it is then.

    It is made anew from what is stored whenever somebody else was faster, unless that is not the
    `version` which it was made for: `ScheduleChanged`.
    """
    for _ in range(TRIES):
        old = await found(client, name)
        if old.problem is not None:
            raise InvalidSchedule("name", f"{old.name} cannot be changed: {old.problem}")
        if version is not None and old.version != version:
            raise ScheduleChanged(old.name)
        made = change(old, client.backend.clock.now())
        if made is None:
            return old
        if await _write(client, made, old):
            return await found(client, old.id)
    raise ScheduleChanged(name)


async def _write(client: Client, made: Edit, old: Schedule) -> bool:
    new = made.schedule
    if await client.patiently(
        lambda backend: backend.change_schedule(new, old.version, old.cursor, made.skips)
    ):
        return True
    # The answer to a first call may have been lost: then it is ours that is there.
    (now,) = await client.patiently(lambda backend: backend.get_schedules([old.id]))
    return now is not None and _says(now) == _says(new)


def _says(one: Schedule) -> tuple[object, ...]:
    return (
        one.version,
        one.updated_at,
        one.rule,
        one.policy,
        one.work,
        one.paused_at,
        one.pause_reason,
    )


def declare(declared: Callable[[Schedule], Declared]) -> Change:
    """Return the change of what a schedule says; a new rule counts from now on."""

    def change(old: Schedule, now: Micros) -> Edit | None:
        wanted = declared(old)
        if (wanted.rule, wanted.policy, wanted.work) == (old.rule, old.policy, old.work):
            return None
        return Edit(*redeclared(old, wanted, now))

    return change


def pause(reason: str | None) -> Change:
    """Return the change that lets no slot run until `resume`; one that is paused stays so."""
    text = check_reason(reason)

    def change(old: Schedule, now: Micros) -> Edit | None:
        if old.paused_at is not None and text in (None, old.pause_reason):
            return None
        since = now if old.paused_at is None else old.paused_at
        return Edit(_next(old, now, paused_at=since, pause_reason=text))

    return change


def resume(old: Schedule, now: Micros) -> Edit | None:
    """Return the change after which slots run again, those after now; the others are skipped."""
    if old.paused_at is None:
        return None
    new = _next(old, now, paused_at=None, pause_reason=None, cursor=max(now, old.cursor))
    return Edit(reckoned(new), left_out(old, now, SlotState.PAUSED))


def _next(old: Schedule, now: Micros, **fields: object) -> Schedule:
    return structs.replace(old, version=old.version + 1, updated_at=now, **fields)
