"""Schedules and gates as far as a key reaches (S2)."""

from collections.abc import Sequence

from msgspec import structs

from rota.access import Scope
from rota.backend import Backend
from rota.model import Micros, State, TaskFilter
from rota.schedule import GateUse, Run, Schedule, ScheduleFilter, Skip, Slot, SlotRun
from rota.server.masking import mask_schedule, unmask_schedule
from rota.server.scoped_tasks import OWN_GATE, beyond, reaches

INSIDE = (State.READY, State.RUNNING)


class ScopedSchedules:
    """The verbs on schedules: those of others are as if they were not, but keep their names."""

    _inner: Backend
    _scope: Scope

    async def create_schedule(self, schedule: Schedule) -> bool:
        self._check(schedule)
        return await self._inner.create_schedule(schedule)

    async def change_schedule(
        self, schedule: Schedule, version: int, cursor: Micros, skips: Sequence[Skip] = ()
    ) -> bool:
        stored = await self._stored(schedule.id)
        if stored is None:
            return False
        self._check(schedule)
        if not self._scope.payloads:
            schedule = unmask_schedule(schedule, stored)
        return await self._inner.change_schedule(schedule, version, cursor, skips)

    async def remove_schedule(self, schedule_id: str) -> bool:
        if await self._stored(schedule_id) is None:
            return False
        return await self._inner.remove_schedule(schedule_id)

    async def get_schedules(self, names: Sequence[str]) -> list[Schedule | None]:
        found = await self._inner.get_schedules(names)
        return [
            self._as_read(one) if one is not None and self._owns(one) else None for one in found
        ]

    async def find_schedules(
        self, where: ScheduleFilter, *, after_name: str, limit: int
    ) -> list[Schedule]:
        scope = self._scope
        if scope.tenant is not None:
            if where.tenant not in (None, scope.tenant):
                raise beyond(f"tenant {where.tenant!r}")
            where = structs.replace(where, tenant=scope.tenant)
        kept: list[Schedule] = []
        while len(kept) < limit:
            page = await self._inner.find_schedules(where, after_name=after_name, limit=limit)
            kept += [self._as_read(one) for one in page if self._owns(one)]
            if len(page) < limit:
                break
            after_name = page[-1].name
        return kept[:limit]

    async def live(self, schedule_ids: Sequence[str], cap: int) -> list[int]:
        own = [await self._stored(id_) is not None for id_ in schedule_ids]
        counts = await self._inner.live(schedule_ids, cap)
        return [count if mine else 0 for count, mine in zip(counts, own, strict=True)]

    async def fire_extra(self, schedule_id: str, runs: Sequence[Run], *, slots: bool) -> list[bool]:
        stored = await self._stored(schedule_id)
        if stored is None:
            return [False] * len(runs)
        for run in runs:
            task = run.task
            if not self._scope.covers(task.queue, task.tenant) or task.schedule != stored.id:
                raise beyond("a run")
        if not self._scope.payloads:
            seen = {"payload": stored.work.payload, "headers": stored.work.headers}
            runs = [structs.replace(run, task=structs.replace(run.task, **seen)) for run in runs]
        return await self._inner.fire_extra(schedule_id, runs, slots=slots)

    async def slots(self, schedule_id: str, before: Micros | None, limit: int) -> list[Slot]:
        if await self._stored(schedule_id) is None:
            return []
        return await self._inner.slots(schedule_id, before, limit)

    async def slot_runs(
        self, schedule_ids: Sequence[str], before: Micros | None, limit: int
    ) -> list[list[SlotRun]]:
        found = await self._inner.get_schedules(schedule_ids)
        own = {one.id for one in found if one is not None and self._owns(one)}
        wanted = [id_ for id_ in schedule_ids if id_ in own]
        runs = dict(zip(wanted, await self._inner.slot_runs(wanted, before, limit), strict=True))
        return [runs.get(id_, []) for id_ in schedule_ids]

    async def gate_use(self, key: str, cap: int) -> GateUse:
        if not self._scope.bound:
            return await self._inner.gate_use(key, cap)
        # Tasks of several tenants may share a gate; of the others nothing is told.
        where = TaskFilter(
            concurrency_key=key, tenant=self._scope.tenant, queues=self._scope.queues
        )
        counts = await self._inner.count(where, cap)
        inside = sum(counts.get(state, 0) for state in INSIDE)
        return GateUse(min(inside, cap), counts.get(State.SCHEDULED, 0))

    async def _stored(self, schedule_id: str) -> Schedule | None:
        """Return a schedule by its id as it is stored, if it is within reach."""
        (found,) = await self._inner.get_schedules([schedule_id])
        mine = found is not None and found.id == schedule_id and self._owns(found)
        return found if mine else None

    def _owns(self, schedule: Schedule) -> bool:
        return self._scope.covers(schedule.work.queue, schedule.work.tenant)

    def _as_read(self, schedule: Schedule) -> Schedule:
        return schedule if self._scope.payloads else mask_schedule(schedule)

    def _check(self, schedule: Schedule) -> None:
        work = schedule.work
        if not reaches(self._scope, work.queue, work.tenant):
            raise beyond(f"tenant {work.tenant!r}, queue {work.queue!r}")
        gate = work.concurrency_key or ""
        if self._scope.bound and gate.startswith(OWN_GATE) and gate != OWN_GATE + schedule.id:
            raise beyond("the gate of another schedule")
