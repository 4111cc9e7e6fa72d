"""Simulated workers: they take tasks in bulk, hold them for a while, and end them in bulk."""

from rota.backend import Report
from rota.clock import ManualClock, Rng
from rota.config import MINUTE, SECOND
from rota.engine import Engine
from rota.model import AttemptError, Claimed, Micros, Session
from rota.policy.lifecycle import Completed, Ending, Failed, Released, Snoozed
from rota.policy.retry import Backoff
from tests.simulation.mortal import Node
from tests.simulation.world import QUEUES
from tests.support.factories import Make
from tests.support.places import Place

SLOTS = 1_000
LEASE = 15 * MINUTE
SHIFT = 8 * MINUTE
"""A session takes tasks for so long; nobody renews its lease."""
LONGEST = 4 * MINUTE
STUBBORN = Backoff(type="fixed", base=1.0, max_attempts=10_000)


class Hands(Node):
    """A worker without handlers: how long a task takes and how it ends is up to chance."""

    def __init__(self, place: Place, clock: ManualClock, rng: Rng, share: float) -> None:
        super().__init__(place, clock, rng, share)
        self._make = Make(rng.randrange(1 << 30))
        self._session: Session | None = None
        self._held: list[tuple[Micros, Claimed]] = []
        self.completed = 0

    def risen(self) -> None:
        self._session, self._held = None, []

    async def work(self) -> None:
        """End what has been held for long enough, and take more."""
        await self.act(self._work)

    async def _work(self, engine: Engine) -> None:
        now = self.clock.now()
        if self._session is None:
            self._session = await self._begin(engine, now)
        await self._end(engine, self._session.id, now)
        if now > self._session.started_at + SHIFT:
            if not self._held:
                await engine.close_session(self._session.id)
                self._session = None
            return
        room = SLOTS - len(self._held)
        if room:
            for task in (await engine.claim(self._session.id, QUEUES, room, ())).tasks:
                self._held.append((now + self._takes(), task))
            await self._end(engine, self._session.id, now)

    async def _begin(self, engine: Engine, now: Micros) -> Session:
        session = self._make.session(
            id=self.ids.new(now), started_at=now, lease_until=now + LEASE, queues=QUEUES
        )
        await engine.open_session(session)
        return session

    async def _end(self, engine: Engine, session_id: str, now: Micros) -> None:
        over = [task for at, task in self._held if at <= now]
        if not over:
            return
        reports = [Report(task, self._ending(task, now), STUBBORN) for task in over]
        applied = await engine.finish(session_id, reports)
        self._held = [(at, task) for at, task in self._held if at > now]
        self.completed += sum(
            done and type(report.ending) is Completed
            for done, report in zip(applied, reports, strict=True)
        )

    def _takes(self) -> Micros:
        chance = self.rng.random()
        if chance < 0.75:
            return 0
        return self.rng.randrange(SECOND, MINUTE if chance < 0.97 else LONGEST)

    def _ending(self, task: Claimed, now: Micros) -> Ending:
        chance = self.rng.random()
        if chance > 0.02:
            return Completed()
        if chance > 0.01:
            return Failed(AttemptError(now, task.attempt, "Error", "by chance"))
        return Snoozed(now + SECOND) if chance > 0.005 else Released()
