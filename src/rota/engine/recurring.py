"""The engine's verbs for recurring work and gates (R6)."""

from collections.abc import Sequence

from msgspec import structs

from rota.clock import Clock, Ids, Rng
from rota.engine.finish import ranked
from rota.engine.fire import Fire
from rota.engine.gates import Gates
from rota.engine.measuring import Measuring
from rota.engine.news import Topic
from rota.engine.newsroom import Newsroom
from rota.engine.replan import replan
from rota.engine.sharing import Known
from rota.engine.vitals import Vitals
from rota.model import Micros
from rota.schedule import (
    Admitted,
    Fired,
    GateUse,
    Run,
    Schedule,
    ScheduleFilter,
    Skip,
    Slot,
    SlotRun,
)
from rota.store.base import CHANGED, Store
from rota.telemetry import Telemetry


class Recurring:
    """The part of an engine that has to do with schedules, their slots, and gates."""

    def __init__(
        self, store: Store, clock: Clock, ids: Ids, rng: Rng, telemetry: Telemetry
    ) -> None:
        self.store = store
        self.clock = clock
        self._ids = ids
        self._rng = rng
        self.news = Newsroom(store, clock)
        self._gates = Gates(store, clock)
        self._known = Known(store, clock)
        self.vitals = Vitals(clock)
        self.measuring = Measuring(store, clock, self.vitals, telemetry)
        self._fire = Fire(
            store,
            clock,
            ids,
            rng,
            telemetry,
            known=self._known,
            stored=self.measuring.made,
            news=self.news,
        )

    # -- schedules ------------------------------------------------------------------------------

    async def create_schedule(self, schedule: Schedule) -> bool:
        return await self._news(await self.store.create_schedule(schedule), schedule, "created")

    async def change_schedule(
        self, schedule: Schedule, version: int, cursor: Micros, skips: Sequence[Skip] = ()
    ) -> bool:
        changed = await self.store.change_schedule(schedule, version, cursor, skips)
        return await self._news(changed, schedule, "changed")

    async def remove_schedule(self, schedule_id: str) -> bool:
        removed = await self.store.remove_schedule(schedule_id)
        if removed:
            self.news.touched(Topic.SCHEDULES, [schedule_id], "removed")
        return removed

    async def get_schedules(self, names: Sequence[str]) -> list[Schedule | None]:
        return await self.store.get_schedules(names)

    async def find_schedules(
        self, where: ScheduleFilter, *, after_name: str, limit: int
    ) -> list[Schedule]:
        return await self.store.find_schedules(where, after_name=after_name, limit=limit)

    async def live(self, schedule_ids: Sequence[str], cap: int) -> list[int]:
        return await self.store.live(schedule_ids, cap)

    async def fire_extra(self, schedule_id: str, runs: Sequence[Run], *, slots: bool) -> list[bool]:
        terms = await self._known.fresh()
        runs = [structs.replace(run, task=ranked([run.task], terms)[0]) for run in runs]
        made = await self.store.fire_extra(schedule_id, runs, self.clock.now(), slots=slots)
        if any(made):
            self.measuring.made([run.task for run, new in zip(runs, made, strict=True) if new])
            await self.store.notify(0)
            self.news.submitted([run.task for run in runs], self.clock.now())
            self.news.touched(Topic.SCHEDULES, [schedule_id], "fired")
        return made

    async def slots(self, schedule_id: str, before: Micros | None, limit: int) -> list[Slot]:
        return await self.store.slots(schedule_id, before, limit)

    async def slot_runs(
        self, schedule_ids: Sequence[str], before: Micros | None, limit: int
    ) -> list[list[SlotRun]]:
        return await self.store.slot_runs(schedule_ids, before, limit)

    async def _news(self, changed: bool, schedule: Schedule, what: str) -> bool:
        """Tell the nodes that their next firing may be another one now."""
        if changed:
            await self.store.notify(CHANGED)
            work = schedule.work
            self.news.touched(
                Topic.SCHEDULES, [schedule.id], what, queue=work.queue, tenant=work.tenant
            )
        return changed

    # -- gates ----------------------------------------------------------------------------------

    async def gate_use(self, key: str, cap: int) -> GateUse:
        return await self.store.gate_use(key, cap)

    # -- duties ---------------------------------------------------------------------------------

    async def admit(self) -> Admitted:
        admitted = await self._gates.step()
        if admitted.moved:
            self.news.unknown(Topic.TASKS)
        return admitted

    async def fire(self) -> Fired:
        fired = await self._fire.step()
        await self.measuring.ticked("fire")
        return fired

    async def replan(self) -> int:
        return await replan(self.store)
