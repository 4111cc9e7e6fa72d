"""A worker as the engine sees it, and settings that a test puts in place."""

from collections.abc import Sequence

from rota.backend import Claim, Report
from rota.clock import ManualClock
from rota.config import LEASE, MINUTE, SECOND
from rota.engine import Engine
from rota.model import Claimed, NewTask
from rota.policy.lifecycle import Completed, Ending
from rota.policy.retry import Backoff
from rota.shares import KindSettings, Limit, QueueSettings, TenantSettings
from tests.support.factories import Make

ANY = Backoff(base=10, jitter=0)
AnySettings = QueueSettings | TenantSettings | KindSettings


class Hand:
    """Claims and reports under one session, whose lease it renews."""

    def __init__(self, engine: Engine, make: Make, clock: ManualClock) -> None:
        self.engine = engine
        self.clock = clock
        self.held: list[Claimed] = []
        self._make = make

    async def open(self, lease: int = 100 * LEASE) -> "Hand":
        """Register."""
        now = self.clock.now()
        self.session = self._make.session(started_at=now, lease_until=now + lease)
        await self.engine.open_session(self.session)
        return self

    async def claim(
        self, slots: int = 10, *queues: str, spare: int = 0, avoid: Sequence[str] = ()
    ) -> Claim:
        """Claim from the default queue, or from these."""
        names = queues or ("default",)
        claim = await self.engine.claim(self.session.id, names, slots, avoid, spare=spare)
        self.held += claim.tasks
        return claim

    async def end(
        self, count: int | None = None, ending: Ending | None = None, seconds: float = 0.01
    ) -> list[bool]:
        """Report the first of what is held."""
        over = self.held[:count]
        del self.held[:count]
        reports = [Report(task, ending or Completed(), ANY, seconds=seconds) for task in over]
        return await self.engine.finish(self.session.id, reports)


async def put(engine: Engine, *wanted: AnySettings | Limit) -> None:
    """Store settings and limits, whatever there is of them."""
    known = await engine.settings()
    for one in wanted:
        if isinstance(one, Limit):
            before = next((limit.version for limit in known.limits if limit.id == one.id), 0)
            assert await engine.put_limit(one, before)
            continue
        table = {
            QueueSettings: known.queues,
            TenantSettings: known.tenants,
            KindSettings: known.kinds,
        }[type(one)]
        found = table.get(one.name)  # type: ignore[attr-defined]
        assert await engine.put_settings(one, found.version if found else 0)


def ids(tasks: Sequence[Claimed] | Sequence[NewTask]) -> list[str]:
    """The ids."""
    return [task.id for task in tasks]


__all__ = ["ANY", "MINUTE", "SECOND", "Hand", "ids", "put"]
