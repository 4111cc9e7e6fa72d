"""The engine's verb for how everything is doing: it gathers the facts that policy judges."""

from rota.clock import Clock, wall
from rota.diagnosis import Diagnosis as Found
from rota.policy.diagnosis import Facts, findings, worst_first
from rota.store.base import Store


class Diagnosis:
    """The verb of `rota.seam.diagnosis`."""

    store: Store
    clock: Clock

    async def diagnose(self) -> Found:
        now = self.clock.now()
        kept = await self.store.diagnose(now)
        settings = await self.store.settings()
        facts = Facts(
            now=now,
            offset=await self._offset(),
            sessions=tuple(await self.store.sessions(live_at=now)),
            settings=settings,
            uses=tuple(await self.store.limit_use([limit.id for limit in settings.limits], now)),
            keys=tuple(await self.store.keys()),
            kept=kept,
        )
        return Found(now, facts.store, worst_first(findings(facts)))

    async def _offset(self) -> int:
        """Return how far this machine's clock is ahead of the store's."""
        if not self.store.traits.shared_clock:
            return 0
        began = self.clock.monotonic()
        store_time = await self.store.clock()
        half = int((self.clock.monotonic() - began) * 500_000)
        return wall() - half - store_time
