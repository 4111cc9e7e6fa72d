"""The verbs of the store on PostgreSQL; what each promises is written in `rota.store.base`."""

import asyncio
from collections.abc import Sequence
from functools import partial

from rota.model import (
    Accepted,
    CancelOutcome,
    Claimed,
    DeadLetterGroup,
    Lanes,
    Look,
    Micros,
    NewTask,
    Note,
    Retention,
    RetryOutcome,
    Session,
    Share,
    Staged,
    State,
    Task,
    TaskFilter,
    Transition,
)
from rota.orders import GroupOrder
from rota.schedule import Due, Firing, GateUse, Run, Schedule, ScheduleFilter, Skip, Slot, SlotRun
from rota.shares import AnySettings, Depth, Limit, LimitUse, Settings, Taken
from rota.store.base import Heard, Pulse, Store, Traits, Wake
from rota.store.postgres import (
    accept,
    callers,
    cancel,
    claim,
    dead_letters,
    finish,
    gates,
    hints,
    notes,
    reads,
    rows,
    schedules,
    schema,
    sharing,
    tally,
)
from rota.store.postgres.access import AccessVerbs
from rota.store.postgres.actions import ActionsVerbs
from rota.store.postgres.address import Address
from rota.store.postgres.alerts import AlertsVerbs
from rota.store.postgres.connections import COMMON, MIGRATION, Line, Lines, Role
from rota.store.postgres.diagnosis import DiagnosisVerbs
from rota.store.postgres.faults import driver
from rota.store.postgres.prune import Pruner
from rota.store.postgres.pulse import PostgresPulse
from rota.store.postgres.remote import RemoteVerbs
from rota.store.postgres.statistics import StatisticsVerbs
from rota.store.postgres.submissions import SubmissionsVerbs
from rota.store.timing import Timings, timed


@timed(Store)
class PostgresStore(
    AccessVerbs,
    StatisticsVerbs,
    AlertsVerbs,
    SubmissionsVerbs,
    ActionsVerbs,
    RemoteVerbs,
    DiagnosisVerbs,
):
    """A store in the schema `rota` of a PostgreSQL database, 14 or newer.

    `postgresql://user:password@host/database`; with `?pgbouncer=1` it works through a pooler in
    transaction mode, which carries no hints to this process.
    """

    traits = Traits(dialect="postgres", shared_clock=True, embedded=False, announces=True)

    def __init__(self, url: str) -> None:
        driver()
        self.timings = Timings()
        self._address = Address(url)
        self._lines = Lines(self._address)
        self._hints = hints.Sender(self._lines)
        self._pruner = Pruner(self._address)

    def __repr__(self) -> str:
        return f"PostgresStore({self._address.shown!r})"

    # -- its own life ---------------------------------------------------------------------------

    async def open(self) -> None:
        self._lines.open()
        await self._lines.run(Role.DUTY, schema.check)

    async def close(self) -> None:
        await self._hints.close()
        await self._pruner.close()
        await self._lines.close()

    async def migrate(self) -> list[str]:
        line = Line(self._address, MIGRATION, None)
        try:
            return await schema.migrate(line)
        finally:
            await line.close()

    async def clock(self) -> Micros:
        return int(await self._value(Role.DUTY, "read_clock"))

    # -- accepting ------------------------------------------------------------------------------

    async def submit(self, tasks: Sequence[NewTask], now: Micros) -> list[Accepted]:
        if any(task.key is not None for task in tasks):
            return await self._do(Role.SUBMIT, accept.store_keyed, tasks, now)
        if tasks:
            await self._do(Role.SUBMIT, accept.store_plain, tasks, now)
        return [Accepted(task.id) for task in tasks]

    async def notify(self, at: Micros) -> None:
        self._hints.send(at)

    async def listen(self, wake: Wake) -> None:
        if self._address.pooled:
            wake(None)
            await asyncio.Event().wait()
        await hints.listen(self._address, wake, COMMON)

    async def announce(self, text: str) -> None:
        await hints.announce(self._lines, text)

    async def follow(self, heard: Heard) -> None:
        if self._address.pooled:
            await hints.look_again(heard)
        await hints.follow(self._address, heard, COMMON)

    # -- sessions -------------------------------------------------------------------------------

    async def open_session(self, session: Session) -> None:
        await self._execute(
            Role.DUTY,
            "open_session",
            id=session.id,
            name=session.name,
            host=session.host,
            pid=session.pid,
            version=session.version,
            queues=session.queues,
            kinds=session.kinds,
            slots=session.slots,
            started_at=session.started_at,
            lease_until=session.lease_until,
            closed_at=session.closed_at,
            process=session.process,
            owner=session.owner,
        )

    async def close_session(self, session_id: str, now: Micros) -> None:
        await self._execute(Role.DUTY, "close_session", session=session_id, now=now)

    async def end_expired(self, now: Micros, limit: int) -> list[str]:
        await self._execute(Role.DUTY, "end_expired_sessions", now=now, limit=limit)
        found = await self._fetch(Role.DUTY, "ended_sessions_holding", limit=limit)
        return [row[0] for row in found]

    async def sessions(self, *, live_at: Micros | None = None) -> list[Session]:
        found = await self._fetch(Role.READ, "list_sessions", live_at=live_at)
        return [rows.session_of(row) for row in found]

    def pulse(self) -> Pulse:
        return PostgresPulse(self._address)

    # -- holding --------------------------------------------------------------------------------

    async def lanes(self, looks: Sequence[Look], limit: int) -> Lanes:
        return await self._do(Role.CLAIM, claim.lanes, looks, limit)

    async def take(
        self,
        session_id: str,
        shares: Sequence[Share],
        avoid: Sequence[str],
        now: Micros,
        version: int,
        *,
        number: int | None = None,
    ) -> Taken:
        taking = partial(claim.take, now=now, version=version, number=number)
        return await self._do(Role.CLAIM, taking, session_id, shares, avoid)

    async def held(self, session_id: str, limit: int, *, free: bool = False) -> list[Claimed]:
        block = "held_free" if free else "held"
        found = await self._fetch(Role.CLAIM, block, session=session_id, limit=limit)
        return [Claimed(*row) for row in found]

    async def finish(
        self, session_id: str, transitions: Sequence[Transition], now: Micros
    ) -> list[bool]:
        if not transitions:
            return []
        return await self._do(Role.FINISH, finish.finish, session_id, transitions, now)

    async def stage(self, now: Micros, limit: int) -> Staged:
        next_at = await self._value(Role.DUTY, "next_due")
        if next_at is None or next_at > now:
            return Staged(0, next_at)
        return await self._do(Role.DUTY, gates.stage, now, limit)

    async def admit(self, keys: Sequence[str], now: Micros) -> int:  # noqa: ARG002 - rows are counted
        return await self._do(Role.FINISH, gates.admit, keys) if keys else 0

    async def waiting_gates(self, after: str, limit: int) -> list[str]:
        return await self._do(Role.DUTY, gates.waiting, after, limit)

    async def gate_use(self, key: str, cap: int) -> GateUse:
        return await self._do(Role.READ, gates.use, key, cap)

    async def note(self, session_id: str, notes_: Sequence[Note]) -> list[bool]:
        return await self._do(Role.FINISH, notes.note, session_id, notes_)

    async def revoke_overdue(self, now: Micros, limit: int) -> list[str]:
        return await self._do(Role.DUTY, cancel.revoke_overdue, now, limit)

    async def expire(self, now: Micros, limit: int) -> int:
        return await self._do(Role.DUTY, cancel.expire, now, limit)

    async def prune(self, now: Micros, retention: Retention, limit: int) -> int:
        return await self._pruner.prune(now, retention, limit)

    # -- callers --------------------------------------------------------------------------------

    async def cancel(
        self, ids: Sequence[str], now: Micros, deadline: Micros | None = None
    ) -> list[CancelOutcome]:
        return await cancel.cancel(self._lines, ids, now, deadline)

    async def retry(self, ids: Sequence[str], now: Micros) -> list[RetryOutcome]:
        return await self._do(Role.CALL, callers.retry, ids, now)

    async def get(self, ids: Sequence[str]) -> list[Task | None]:
        found = await self._fetch(Role.READ, "get", ids=rows.possible_ids(ids))
        tasks = {task.id: task for task in map(rows.task_of, found)}
        return [tasks.get(task_id) for task_id in ids]

    async def find(
        self, where: TaskFilter, *, before_id: str | None = None, limit: int = 50
    ) -> list[Task]:
        return await self._do(Role.READ, reads.find, where, before_id, limit)

    async def find_ids(
        self, where: TaskFilter, *, before_id: str | None = None, limit: int = 50
    ) -> list[str]:
        return await self._do(Role.READ, reads.find_ids, where, before_id, limit)

    async def ahead(self, task_id: str, cap: int) -> int:
        known = rows.possible_ids([task_id])
        return int(await self._value(Role.READ, "ahead", id=known[0], cap=cap)) if known else 0

    async def replay(
        self, ids: Sequence[str], copies: Sequence[str], now: Micros
    ) -> list[Accepted | None]:
        return await self._do(Role.CALL, dead_letters.replay, ids, copies, now)

    async def edit_payload(self, task_id: str, payload: str) -> bool:
        return await self._do(Role.CALL, dead_letters.edit_payload, task_id, payload)

    async def discard(self, ids: Sequence[str], reason: str, now: Micros) -> list[bool]:
        return await self._do(Role.CALL, dead_letters.discard, ids, reason, now)

    async def restore(self, ids: Sequence[str]) -> list[bool]:
        return await self._do(Role.CALL, dead_letters.restore, ids)

    async def groups(
        self,
        where: TaskFilter,
        limit: int,
        order: GroupOrder = GroupOrder.COUNT,
        *,
        since: Micros,
    ) -> list[DeadLetterGroup]:
        return await self._do(Role.READ, dead_letters.groups, where, limit, order, since)

    async def tallies(self, since: Micros) -> dict[tuple[str, str, State], int]:
        return await self._do(Role.READ, tally.tallies, since)

    async def count(self, where: TaskFilter, cap: int) -> dict[State, int]:
        return await self._do(Role.READ, reads.count, where, cap)

    # -- schedules ------------------------------------------------------------------------------

    async def create_schedule(self, schedule: Schedule) -> bool:
        return await self._do(Role.CALL, schedules.create, schedule)

    async def change_schedule(
        self, schedule: Schedule, version: int, cursor: Micros, skips: Sequence[Skip] = ()
    ) -> bool:
        return await self._do(Role.CALL, schedules.change, schedule, version, cursor, skips)

    async def remove_schedule(self, schedule_id: str) -> bool:
        removed = await self._do(Role.CALL, schedules.remove, schedule_id)
        # Bit by bit: a schedule may have millions of slots, and other callers use the line.
        while removed and await self._do(Role.CALL, schedules.forget, schedule_id):
            pass
        return removed

    async def get_schedules(self, names: Sequence[str]) -> list[Schedule | None]:
        return await self._do(Role.READ, schedules.get, names)

    async def find_schedules(
        self, where: ScheduleFilter, *, after_name: str = "", limit: int = 100
    ) -> list[Schedule]:
        return await self._do(Role.READ, schedules.find, where, after_name, limit)

    async def live(self, schedule_ids: Sequence[str], cap: int) -> list[int]:
        return await self._do(Role.DUTY, schedules.live, schedule_ids, cap)

    async def due_schedules(self, now: Micros, limit: int) -> list[Due]:
        return await self._do(Role.FIRE, schedules.due, now, limit)

    async def next_firing(self) -> Micros | None:
        next_at: Micros | None = await self._value(Role.DUTY, "next_firing")
        return next_at

    async def schedules_behind(self, now: Micros, cap: int) -> int:
        return int(await self._value(Role.DUTY, "schedules_behind", now=now, cap=cap))

    async def outdated_schedules(self, tz_data: str, limit: int) -> list[Schedule]:
        return await self._do(Role.DUTY, schedules.outdated, tz_data, limit)

    async def fire(self, firings: Sequence[Firing], now: Micros) -> list[bool]:
        return await self._do(Role.FIRE, schedules.fire, firings, now) if firings else []

    async def fire_extra(
        self, schedule_id: str, runs: Sequence[Run], now: Micros, *, slots: bool
    ) -> list[bool]:
        return await self._do(Role.FIRE, schedules.fire_extra, schedule_id, runs, now, slots)

    async def slots(self, schedule_id: str, before: Micros | None, limit: int) -> list[Slot]:
        return await self._do(Role.READ, schedules.slots, schedule_id, before, limit)

    async def slot_runs(
        self, schedule_ids: Sequence[str], before: Micros | None, limit: int
    ) -> list[list[SlotRun]]:
        return await self._do(Role.READ, schedules.slot_runs, schedule_ids, before, limit)

    # -- sharing --------------------------------------------------------------------------------

    async def settings(self) -> Settings:
        return await self._do(Role.CLAIM, sharing.settings)

    async def put_settings(self, new: AnySettings, version: int) -> bool:
        return await self._do(Role.CALL, sharing.put_settings, new, version)

    async def drop_settings(self, old: AnySettings) -> bool:
        return await self._do(Role.CALL, sharing.drop_settings, old)

    async def put_limit(self, limit: Limit, version: int) -> bool:
        return await self._do(Role.CALL, sharing.put_limit, limit, version)

    async def drop_limit(self, limit_id: str) -> bool:
        return await self._do(Role.CALL, sharing.drop_limit, limit_id)

    async def limit_use(self, limit_ids: Sequence[str], now: Micros) -> list[LimitUse]:
        return await self._do(Role.READ, sharing.limit_use, limit_ids, now)

    async def depths(
        self, queues: Sequence[str], tenants: Sequence[str], cap: int
    ) -> tuple[list[Depth], list[Depth]]:
        return await self._do(Role.SUBMIT, sharing.depths, queues, tenants, cap)

    async def queues_with_work(self, limit: int) -> list[str]:
        return await self._do(Role.CLAIM, sharing.queues_with_work, limit)
