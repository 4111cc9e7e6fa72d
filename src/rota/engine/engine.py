"""The engine carries out every verb: it asks policy what to do and tells the store to do it."""

from collections.abc import Sequence

from rota.backend import Report
from rota.clock import Clock, Rng
from rota.config import KEEP_FINISHED
from rota.engine.claim import Claims
from rota.engine.finish import transitions
from rota.engine.reap import reap
from rota.model import (
    Accepted,
    CancelOutcome,
    Claimed,
    Micros,
    NewTask,
    RetryOutcome,
    Session,
    Staged,
    State,
    Task,
    TaskFilter,
)
from rota.store.base import Pulse, Store, Wake

STAGE_BATCH = 2_000
PRUNE_BATCH = 1_000
HELD_BATCH = 10_000
"""More than a worker holds; one that looks for what a lost answer hid has to see all of it."""

_WAITING = (State.READY, State.SCHEDULED)


class Engine:
    """Implements `rota.backend.Backend` against a store.

    One engine belongs to one event loop. The fairness of its claims is carried over from claim to
    claim, so a worker keeps one engine for its life.
    """

    def __init__(
        self, store: Store, clock: Clock, rng: Rng, *, keep_finished: Micros = KEEP_FINISHED
    ) -> None:
        self.store = store
        self.clock = clock
        self._rng = rng
        self._keep_finished = keep_finished
        self._claims = Claims(store, clock)

    async def open(self) -> None:
        await self.store.open()
        await self.measure()

    async def close(self) -> None:
        await self.store.close()

    async def measure(self) -> None:
        """Take a reading of the store's clock, so that all nodes share one time."""
        if self.store.traits.shared_clock:
            store_time = await self.store.clock()
            self.clock.observe(store_time, self.clock.monotonic())

    # -- callers --------------------------------------------------------------------------------

    async def submit(self, tasks: Sequence[NewTask]) -> list[Accepted]:
        now = self.clock.now()
        accepted = await self.store.submit(tasks, now)
        await self._hint([task.run_at for task in tasks], now)
        return accepted

    async def cancel(self, ids: Sequence[str]) -> list[CancelOutcome]:
        return await self.store.cancel(ids, self.clock.now())

    async def retry(self, ids: Sequence[str]) -> list[RetryOutcome]:
        outcomes = await self.store.retry(ids, self.clock.now())
        if RetryOutcome.COMPLETED in outcomes:
            await self.store.notify(0)
        return outcomes

    async def get(self, ids: Sequence[str]) -> list[Task | None]:
        return await self.store.get(ids)

    async def find(self, where: TaskFilter, *, before_id: str | None, limit: int) -> list[Task]:
        return await self.store.find(where, before_id=before_id, limit=limit)

    async def count(self, where: TaskFilter, cap: int) -> dict[State, int]:
        return await self.store.count(where, cap)

    # -- workers --------------------------------------------------------------------------------

    async def open_session(self, session: Session) -> None:
        await self.store.open_session(session)

    async def claim(
        self, session_id: str, queues: Sequence[str], slots: int, avoid: Sequence[str]
    ) -> list[Claimed]:
        return await self._claims.claim(session_id, queues, slots, avoid)

    async def held(self, session_id: str) -> list[Claimed]:
        return await self.store.held(session_id, HELD_BATCH)

    async def finish(self, session_id: str, reports: Sequence[Report]) -> list[bool]:
        now = self.clock.now()
        moves = transitions(reports, now, self._rng)
        applied = await self.store.finish(session_id, moves, now)
        # What was handed back or is to be tried again is news to the other workers.
        await self._hint([move.run_at for move in moves if move.to in _WAITING], now)
        return applied

    async def close_session(self, session_id: str) -> None:
        await self.store.close_session(session_id, self.clock.now())

    def pulse(self) -> Pulse:
        return self.store.pulse()

    async def listen(self, wake: Wake) -> None:
        await self.store.listen(wake)

    # -- duties ---------------------------------------------------------------------------------

    async def stage(self) -> Staged:
        staged = await self.store.stage(self.clock.now(), STAGE_BATCH)
        if staged.moved:
            await self.store.notify(0)
        return staged

    async def reap(self) -> int:
        returned = await reap(self.store, self.clock, self._rng)
        if returned:
            await self.store.notify(0)
        return returned

    async def prune(self) -> int:
        now = self.clock.now()
        return await self.store.prune(now, now - self._keep_finished, PRUNE_BATCH)

    async def _hint(self, run_ats: Sequence[Micros], now: Micros) -> None:
        """Tell sleeping workers, after the commit: there is work now, or will be then."""
        later = min((at for at in run_ats if at > now), default=None)
        if later is not None:
            await self.store.notify(later)
        if any(at <= now for at in run_ats):
            await self.store.notify(0)
