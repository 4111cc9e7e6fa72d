"""Schedules on an engine, what became of their slots, and the runs that they made."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import msgspec
import pytest

from rota.backend import Report
from rota.clock import ManualClock, new_rng
from rota.config import HOUR, MINUTE
from rota.engine import Engine
from rota.errors import StoreUnavailable
from rota.model import Claimed, Micros, Task, TaskFilter
from rota.policy.lifecycle import Completed, Ending
from rota.policy.retry import Backoff
from rota.schedule import Firing, Policy, Rule, Schedule, Slot, SlotState
from rota.slot_task import reckoned
from rota.store.base import Store
from rota.telemetry import SILENT, Firings, Silent, Telemetry
from tests.support.factories import NOW, Make
from tests.support.places import Place
from tests.support.schedules import REPORT, a_schedule, read

MINUTELY = Rule(expression="* * * * *")
_names = count(1)


async def scheduled(engine: Engine, make: Make, rule: Rule = MINUTELY, **fields: Any) -> Schedule:
    """A schedule in the store whose slots up to `NOW` are decided; policy by its fields' names."""
    policy = {name: fields.pop(name) for name in Policy.__struct_fields__ if name in fields}
    fields.setdefault("cursor", NOW)
    schedule = a_schedule(
        make,
        fields.pop("name", f"report-{next(_names)}"),
        rule=rule,
        policy=msgspec.convert(policy, Policy),
        **fields,
    )
    schedule = reckoned(schedule)
    assert await engine.create_schedule(schedule)
    return schedule


async def fire(engine: Engine, clock: ManualClock, *, until: Micros) -> None:
    """Fire again and again, at each instant that the engine asks for."""
    while True:
        fired = await engine.fire()
        if fired.next_at is None or fired.next_at > until:
            break
        clock.advance(max(fired.next_at - clock.now(), 0) / 1e6)
    clock.advance((until - clock.now()) / 1e6)


async def runs(engine: Engine, schedule: Schedule) -> list[Task]:
    """The tasks of a schedule, by their slots."""
    where = TaskFilter(schedule=schedule.id)
    found = await engine.find(where, before_id=None, limit=5_000)
    return sorted(found, key=lambda task: task.slot or 0)


async def slots(engine: Engine, schedule: Schedule) -> list[Slot]:
    """What became of a schedule's slots, the oldest first."""
    return sorted(await engine.slots(schedule.id, None, 5_000), key=lambda one: one.slot)


async def made(engine: Engine, schedule: Schedule) -> list[int]:
    """The slots that became tasks, in minutes after `NOW`, as often as they did."""
    return [((task.slot or 0) - NOW) // MINUTE for task in await runs(engine, schedule)]


async def skips(engine: Engine, schedule: Schedule) -> list[tuple[int, int | None, SlotState]]:
    """What became no task: the first in minutes after `NOW`, how many, and why."""
    found = [one for one in await slots(engine, schedule) if one.state is not SlotState.FIRED]
    return [((one.slot - NOW) // MINUTE, one.count, one.state) for one in found]


async def now_read(engine: Engine, schedule: Schedule) -> Schedule:
    """A schedule as it is stored by now."""
    return await read(engine.store, schedule)


class Hands:
    """A session that takes what is ready and ends it as told."""

    def __init__(self, engine: Engine, make: Make) -> None:
        self._engine = engine
        self.session = make.session(lease_until=NOW + 1_000 * HOUR)

    async def take(self, slots: int = 100) -> list[Claimed]:
        """Take what is ready."""
        await self._engine.open_session(self.session)
        return (await self._engine.claim(self.session.id, (REPORT.queue,), slots, ())).tasks

    async def end(self, tasks: Sequence[Claimed], ending: Ending | None = None) -> list[bool]:
        """Report an ending for all, by default that they are done."""
        reports = [Report(task, ending or Completed(), Backoff(jitter=0)) for task in tasks]
        return await self._engine.finish(self.session.id, reports)


class Kept(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Firings]] = []
        self.left_out: list[str] = []

    def fired(self, batch: Sequence[Firings]) -> None:
        """Keep it."""
        self.batches.append(batch)

    def unfired(self, schedules: Sequence[str]) -> None:
        """Keep it."""
        self.left_out += schedules


class Breaking:
    """A store whose `fire` is cut off before or after the commit, as by a kill -9."""

    def __init__(self, store: Store, *, after: bool) -> None:
        self._store = store
        self._after = after
        self.cuts = 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def fire(self, firings: Sequence[Firing], now: Micros) -> list[bool]:
        """Carry it out or not, and in any case do not answer."""
        if not self.cuts:
            return await self._store.fire(firings, now)
        self.cuts -= 1
        if self._after:
            await self._store.fire(firings, now)
        raise StoreUnavailable("cut off")


async def another(place: Place, clock: ManualClock, telemetry: Telemetry = SILENT) -> Engine:
    """One more node on the same store; whoever asks closes it."""
    engine = Engine(place.store(), clock, new_rng(next(_names)), telemetry=telemetry)
    await engine.open()
    return engine


def heard(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[Micros]:
    """The hints that the engine gives from now on."""
    told: list[Micros] = []

    async def notify(at: Micros) -> None:
        told.append(at)

    monkeypatch.setattr(engine.store, "notify", notify)
    return told
