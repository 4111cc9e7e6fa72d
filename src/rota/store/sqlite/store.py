"""The verbs: each is one piece of work for the writer or for a reader."""

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rota.clock import wall
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
from rota.store.base import Heard, Store, Traits, Wake
from rota.store.sqlite import (
    accept,
    callers,
    cancel,
    claim,
    dead_letters,
    finish,
    gates,
    note,
    schedules,
    schema,
    sessions,
    sharing,
    tally,
    upkeep,
)
from rota.store.sqlite.access import AccessVerbs
from rota.store.sqlite.actions import ActionsVerbs
from rota.store.sqlite.alerts import AlertsVerbs
from rota.store.sqlite.diagnosis import DiagnosisVerbs
from rota.store.sqlite.pulse import SQLitePulse
from rota.store.sqlite.readers import Readers
from rota.store.sqlite.remote import RemoteVerbs
from rota.store.sqlite.statistics import StatisticsVerbs
from rota.store.sqlite.submissions import SubmissionsVerbs
from rota.store.sqlite.watch import Watch, others
from rota.store.sqlite.writer import Writer
from rota.store.timing import Timings, timed


@timed(Store)
class SQLiteStore(
    AccessVerbs,
    StatisticsVerbs,
    AlertsVerbs,
    SubmissionsVerbs,
    ActionsVerbs,
    RemoteVerbs,
    DiagnosisVerbs,
):
    """The store in one file. Several processes may use it at once, on one machine."""

    traits = Traits(dialect="sqlite", shared_clock=False, embedded=True)

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.timings = Timings()
        self._watch = Watch(self.path)
        self._writer: Writer | None = None
        self._readers: Readers | None = None
        self._process = 0

    async def open(self) -> None:
        if self._writer is not None and self._process == os.getpid():
            return
        await asyncio.to_thread(schema.check, self.path)
        self._process = os.getpid()
        self._writer = Writer(self.path)
        self._readers = Readers(self.path)

    async def close(self) -> None:
        writer, readers = self._writer, self._readers
        self._writer = self._readers = None
        if writer is None or readers is None or self._process != os.getpid():
            return
        await asyncio.to_thread(writer.close)
        await asyncio.to_thread(readers.close)

    async def migrate(self) -> list[str]:
        return await asyncio.to_thread(schema.migrate, self.path)

    async def clock(self) -> Micros:
        return wall()

    async def submit(self, tasks: Sequence[NewTask], now: Micros) -> list[Accepted]:
        return await self._write.do(partial(accept.submit, tasks=tasks, now=now))

    async def notify(self, at: Micros) -> None:
        self._watch.tell(at)

    async def listen(self, wake: Wake) -> None:
        await self._watch.listen(wake)

    async def announce(self, text: str) -> None:
        pass  # who works on a file sees that it has changed, whoever changed it

    async def follow(self, heard: Heard) -> None:
        await self._watch.follow(heard, lambda: self._write.do(others))

    async def open_session(self, session: Session) -> None:
        await self._write.do(partial(sessions.open_session, session=session))

    async def close_session(self, session_id: str, now: Micros) -> None:
        await self._write.do(partial(sessions.close_session, session_id=session_id, now=now))

    async def end_expired(self, now: Micros, limit: int) -> list[str]:
        return await self._write.do(partial(sessions.end_expired, now=now, limit=limit))

    async def sessions(self, *, live_at: Micros | None = None) -> list[Session]:
        return await self._read.do(partial(sessions.sessions, live_at=live_at))

    def pulse(self) -> SQLitePulse:
        return SQLitePulse(self.path)

    async def lanes(self, looks: Sequence[Look], limit: int) -> Lanes:
        return await self._read.do(partial(claim.lanes, looks=looks, limit=limit))

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
        return await self._write.do(
            partial(
                claim.take,
                session_id=session_id,
                shares=shares,
                avoid=avoid,
                now=now,
                version=version,
                number=number,
            )
        )

    async def held(self, session_id: str, limit: int, *, free: bool = False) -> list[Claimed]:  # noqa: ARG002 - there is one writer
        return await self._read.do(partial(claim.held, session_id=session_id, limit=limit))

    async def finish(
        self, session_id: str, transitions: Sequence[Transition], now: Micros
    ) -> list[bool]:
        work = partial(finish.finish, session_id=session_id, transitions=transitions, now=now)
        return await self._write.do(work)

    async def stage(self, now: Micros, limit: int) -> Staged:
        # Looked at beside the writers: mostly nothing is due, and a stager looks at every change.
        next_at = await self._read.do(upkeep.next_due)
        if next_at is None or next_at > now:
            return Staged(0, next_at)
        return await self._write.do(partial(upkeep.stage, now=now, limit=limit))

    async def admit(self, keys: Sequence[str], now: Micros) -> int:
        # Looked at beside the writers: who makes room has committed that before it asks.
        if not keys or await self._read.do(partial(gates.choose, keys=keys)) == gates.NONE:
            return 0
        return await self._write.do(partial(gates.admit, keys=keys, now=now))

    async def waiting_gates(self, after: str, limit: int) -> list[str]:
        return await self._read.do(partial(gates.waiting, after=after, limit=limit))

    async def gate_use(self, key: str, cap: int) -> GateUse:
        return await self._read.do(partial(gates.use, key=key, cap=cap))

    async def note(self, session_id: str, notes: Sequence[Note]) -> list[bool]:
        return await self._write.do(partial(note.note, session_id=session_id, notes=notes))

    async def revoke_overdue(self, now: Micros, limit: int) -> list[str]:
        # Looked at beside the writers, here and below: mostly there is nothing to do.
        if await self._read.do(partial(cancel.overdue, now=now, limit=1)) == cancel.NONE:
            return []
        return await self._write.do(partial(cancel.revoke_overdue, now=now, limit=limit))

    async def expire(self, now: Micros, limit: int) -> int:
        if not await self._read.do(partial(cancel.any_over, now=now)):
            return 0
        return await self._write.do(partial(cancel.expire, now=now, limit=limit))

    async def prune(self, now: Micros, retention: Retention, limit: int) -> int:
        work = partial(upkeep.prune, now=now, retention=retention, limit=limit)
        return await self._write.do(work)

    async def cancel(
        self, ids: Sequence[str], now: Micros, deadline: Micros | None = None
    ) -> list[CancelOutcome]:
        return await self._write.do(partial(cancel.cancel, ids=ids, now=now, deadline=deadline))

    async def retry(self, ids: Sequence[str], now: Micros) -> list[RetryOutcome]:
        return await self._write.do(partial(callers.retry, ids=ids, now=now))

    async def get(self, ids: Sequence[str]) -> list[Task | None]:
        return await self._read.do(partial(callers.get, ids=ids), view=True)

    async def find(
        self, where: TaskFilter, *, before_id: str | None = None, limit: int = 50
    ) -> list[Task]:
        return await self._read.do(
            partial(callers.find, where=where, before_id=before_id, limit=limit), view=True
        )

    async def find_ids(
        self, where: TaskFilter, *, before_id: str | None = None, limit: int = 50
    ) -> list[str]:
        return await self._read.do(
            partial(callers.find_ids, where=where, before_id=before_id, limit=limit), view=True
        )

    async def ahead(self, task_id: str, cap: int) -> int:
        return await self._read.do(partial(callers.ahead, task_id=task_id, cap=cap))

    async def replay(
        self, ids: Sequence[str], copies: Sequence[str], now: Micros
    ) -> list[Accepted | None]:
        return await self._write.do(partial(dead_letters.replay, ids=ids, copies=copies, now=now))

    async def edit_payload(self, task_id: str, payload: str) -> bool:
        work = partial(dead_letters.edit_payload, task_id=task_id, payload=payload)
        return await self._write.do(work)

    async def discard(self, ids: Sequence[str], reason: str, now: Micros) -> list[bool]:
        return await self._write.do(partial(dead_letters.discard, ids=ids, reason=reason, now=now))

    async def restore(self, ids: Sequence[str]) -> list[bool]:
        return await self._write.do(partial(dead_letters.restore, ids=ids))

    async def groups(
        self,
        where: TaskFilter,
        limit: int,
        order: GroupOrder = GroupOrder.COUNT,
        *,
        since: Micros,
    ) -> list[DeadLetterGroup]:
        return await self._read.do(
            partial(dead_letters.groups, where=where, limit=limit, order=order, since=since),
            view=True,
        )

    async def tallies(self, since: Micros) -> dict[tuple[str, str, State], int]:
        return await self._read.do(partial(tally.tallies, since=since))

    async def count(self, where: TaskFilter, cap: int) -> dict[State, int]:
        return await self._read.do(partial(callers.count, where=where, cap=cap), view=True)

    async def create_schedule(self, schedule: Schedule) -> bool:
        return await self._write.do(partial(schedules.create, schedule=schedule))

    async def change_schedule(
        self, schedule: Schedule, version: int, cursor: Micros, skips: Sequence[Skip] = ()
    ) -> bool:
        work = partial(
            schedules.change, schedule=schedule, version=version, cursor=cursor, skips=skips
        )
        return await self._write.do(work)

    async def remove_schedule(self, schedule_id: str) -> bool:
        removed = await self._write.do(partial(schedules.remove, schedule_id=schedule_id))
        while removed and await self._write.do(partial(schedules.forget, schedule_id=schedule_id)):
            pass
        return removed

    async def get_schedules(self, names: Sequence[str]) -> list[Schedule | None]:
        return await self._read.do(partial(schedules.get, names=names))

    async def find_schedules(
        self, where: ScheduleFilter, *, after_name: str = "", limit: int = 100
    ) -> list[Schedule]:
        work = partial(schedules.find, where=where, after_name=after_name, limit=limit)
        return await self._read.do(work)

    async def live(self, schedule_ids: Sequence[str], cap: int) -> list[int]:
        return await self._read.do(partial(schedules.live, schedule_ids=schedule_ids, cap=cap))

    async def due_schedules(self, now: Micros, limit: int) -> list[Due]:
        return await self._read.do(partial(schedules.due, now=now, limit=limit))

    async def next_firing(self) -> Micros | None:
        return await self._read.do(schedules.next_firing)

    async def schedules_behind(self, now: Micros, cap: int) -> int:
        return await self._read.do(partial(schedules.behind, now=now, cap=cap))

    async def outdated_schedules(self, tz_data: str, limit: int) -> list[Schedule]:
        return await self._read.do(partial(schedules.outdated, tz_data=tz_data, limit=limit))

    async def fire(self, firings: Sequence[Firing], now: Micros) -> list[bool]:
        if not firings:
            return []
        return await self._write.do(partial(schedules.fire, firings=firings, now=now))

    async def fire_extra(
        self, schedule_id: str, runs: Sequence[Run], now: Micros, *, slots: bool
    ) -> list[bool]:
        work = partial(
            schedules.fire_extra, schedule_id=schedule_id, runs=runs, now=now, as_slots=slots
        )
        return await self._write.do(work)

    async def slots(self, schedule_id: str, before: Micros | None, limit: int) -> list[Slot]:
        work = partial(schedules.slots, schedule_id=schedule_id, before=before, limit=limit)
        return await self._read.do(work)

    async def slot_runs(
        self, schedule_ids: Sequence[str], before: Micros | None, limit: int
    ) -> list[list[SlotRun]]:
        work = partial(schedules.slot_runs, schedule_ids=schedule_ids, before=before, limit=limit)
        return await self._read.do(work)

    async def settings(self) -> Settings:
        return await self._read.do(sharing.settings)

    async def put_settings(self, new: AnySettings, version: int) -> bool:
        return await self._write.do(partial(sharing.put_settings, new=new, old_version=version))

    async def drop_settings(self, old: AnySettings) -> bool:
        return await self._write.do(partial(sharing.drop_settings, old=old))

    async def put_limit(self, limit: Limit, version: int) -> bool:
        return await self._write.do(partial(sharing.put_limit, limit=limit, old_version=version))

    async def drop_limit(self, limit_id: str) -> bool:
        return await self._write.do(partial(sharing.drop_limit, limit_id=limit_id))

    async def limit_use(self, limit_ids: Sequence[str], now: Micros) -> list[LimitUse]:
        return await self._read.do(partial(sharing.limit_use, limit_ids=limit_ids, now=now))

    async def depths(
        self, queues: Sequence[str], tenants: Sequence[str], cap: int
    ) -> tuple[list[Depth], list[Depth]]:
        work = partial(sharing.depths, queues=queues, tenants=tenants, cap=cap)
        return await self._read.do(work)

    async def queues_with_work(self, limit: int) -> list[str]:
        return await self._read.do(partial(sharing.queues_with_work, limit=limit))
