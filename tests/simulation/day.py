"""A day of a few nodes on one store, by one clock that a test moves."""

import asyncio
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from rota.clock import Ids, ManualClock, Rng, new_rng
from rota.config import HOUR
from rota.engine import Engine
from rota.model import Micros
from tests.simulation.hands import LEASE, Hands
from tests.simulation.meddling import Ledger, Meddler
from tests.simulation.mortal import Node
from tests.simulation.world import FOLD_DAY, schedules
from tests.support.places import Place

NODES = 3
WORKERS = 2


class Plan(Struct, frozen=True, kw_only=True):
    """What is simulated: `firings` slots within `span`, in steps of about `step` seconds.

    A node dies in one of `calls_a_life` calls. Once in a while all are away for up to ten minutes.
    """

    seed: int
    start: Micros = FOLD_DAY
    span: Micros = 2 * HOUR
    firings: int = 3_000
    step: float = 40.0
    calls_a_life: int = 60
    steps_a_nap: int = 150
    meddling: float = 0.15


class Story(Struct, frozen=True):
    """How it went, for whoever checks it and whoever reads of it.

    At `fired_at` what had come was fired for the last time.
    """

    ledger: Ledger
    fired_at: Micros
    steps: int
    deaths: int
    changes: int
    completed: int
    cursors: dict[str, list[tuple[int, Micros]]]


class Day:
    """Makes the schedules, moves the clock, and lets nodes, workers and people act at each step."""

    def __init__(self, place: Place, plan: Plan, told: Callable[[str], None] = lambda _: None):
        self._place = place
        self._plan = plan
        self._told = told
        self._rng = new_rng(plan.seed)
        self._clock = ManualClock(plan.start)
        share = 1 / plan.calls_a_life
        seeds = [self._rng.randrange(1 << 30) for _ in range(NODES + WORKERS)]
        self._nodes = [Node(place, self._clock, new_rng(s), share) for s in seeds[:NODES]]
        self._hands = [Hands(place, self._clock, new_rng(s), share / 4) for s in seeds[NODES:]]
        self._ledger = Ledger()
        self._steps = 0
        self._cursors: dict[str, list[tuple[int, Micros]]] = {}

    async def run(self) -> Story:
        """Live through the day, and then until every task is over."""
        store = self._place.store()
        await store.migrate()
        await store.open()
        try:
            ids = Ids(new_rng(self._plan.seed))
            end = self._plan.start + self._plan.span
            for schedule, wish in schedules(
                self._rng, ids, self._plan.start, end, self._plan.firings
            ):
                assert await store.create_schedule(schedule)
                self._ledger.begin(schedule, wish)
            meddler = Meddler(store, self._clock, self._rng, self._ledger)
            while self._clock.now() < end:
                await self._step(meddler)
            fired_at = self._clock.now()
            await self._settle()
        finally:
            for one in (*self._nodes, *self._hands):
                await one.fall()
            await store.close()
        return Story(
            ledger=self._ledger,
            fired_at=fired_at,
            steps=self._steps,
            deaths=sum(one.deaths for one in (*self._nodes, *self._hands)),
            changes=meddler.changes,
            completed=sum(hands.completed for hands in self._hands),
            cursors=self._cursors,
        )

    async def _step(self, meddler: Meddler) -> None:
        self._steps += 1
        nap = self._rng.random() < 1 / self._plan.steps_a_nap
        self._clock.advance(
            round(
                self._rng.uniform(60, 600) if nap else self._rng.uniform(1, 2 * self._plan.step), 6
            )
        )
        for one in (*self._nodes, *self._hands):
            await one.rise()
        acts = [node.act(partial(self._duties, rng=node.rng)) for node in self._nodes]
        if self._rng.random() < self._plan.meddling:
            acts.append(meddler.meddle())
        await asyncio.gather(*acts)
        await asyncio.gather(*(hands.work() for hands in self._hands))
        if self._steps % 50 == 0:
            await self._look()

    async def _duties(self, engine: Engine, rng: Rng) -> None:
        await self._fire(engine)
        while (await engine.stage()).moved:
            pass
        await engine.admit()
        if rng.random() < 0.1:
            await engine.reap()
            await engine.sweep()
        if rng.random() < 0.02:
            await engine.replan()
            await engine.prune()

    async def _fire(self, engine: Engine) -> None:
        while True:
            fired = await engine.fire()
            if fired.next_at is None or fired.next_at > self._clock.now():
                return

    async def _settle(self) -> None:
        """Fire what has come, then nothing more, and work until no task is left."""
        for one in (*self._nodes, *self._hands):
            one.immortal()
        until = self._clock.now() + 20 * LEASE
        first = True
        while first or await self._left():
            self._clock.advance(0 if first else 20)
            assert self._clock.now() < until, "tasks are left over"
            for one in (*self._nodes, *self._hands):
                one.back()
                await one.rise()
            for node in self._nodes:
                await node.act(self._fire if first else self._quietly)
            for hands in self._hands:
                await hands.work()
            first = False

    async def _quietly(self, engine: Engine) -> None:
        await engine.stage()
        await engine.admit()
        await engine.reap()
        await engine.sweep()

    async def _left(self) -> int:
        return sum(
            [await self._place.value(f"select count(*) from {t}") for t in ("scheduled", "ready")]
        )

    async def _look(self) -> None:
        """Note how far each schedule has come."""
        rows = await self._place.rows("select cast(id as text), version, cursor from schedule")
        for schedule_id, version, cursor in rows:
            self._cursors.setdefault(schedule_id, []).append((version, cursor))
        if self._steps % 500 == 0:
            hours = (self._clock.now() - self._plan.start) / HOUR
            self._told(f"hour {hours:.1f}, step {self._steps:,}")
