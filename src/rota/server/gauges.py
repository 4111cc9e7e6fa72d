"""How things stand, read at most every few seconds, whoever asks and however often."""

import asyncio

from msgspec import structs

from rota.engine import Engine
from rota.figures import Figures, Scale
from rota.policy.figures import Measured, readings, scales
from rota.registry import Registry
from rota.shares import LimitUse

FRESH = 5.0
"""What was read so many seconds ago is shown again."""
LIMITS_MOST = 200
BEHIND_CAP = 10_000


class Gauges:
    """The present figures of the store, shared by metrics, scaling, lists and events."""

    def __init__(self, engine: Engine, registry: Registry) -> None:
        self._engine = engine
        self._registry = registry
        self._reading: asyncio.Future[None] | None = None
        self._read_at = float("-inf")
        self.measured: Measured | None = None
        self.limits: list[LimitUse] = []
        self.behind = 0
        """How many schedules were to be fired by then."""

    async def fresh(self, seconds: float = FRESH) -> Measured:
        """Return what was read no longer than `seconds` ago; callers at once share one reading."""
        if self.measured is None or self._engine.clock.monotonic() - self._read_at > seconds:
            if self._reading is None or self._reading.done():
                self._reading = asyncio.ensure_future(self._read())
                self._reading.add_done_callback(_told)
            # One who hangs up must not take the reading away from the others.
            await asyncio.shield(self._reading)
        assert self.measured is not None
        return self.measured

    async def figures(self) -> Figures:
        """Return the seven figures."""
        measured = await self.fresh()
        return Figures(measured.now, readings(measured))

    async def scaling(self) -> list[Scale]:
        """Return the signals for autoscaling."""
        return scales(await self.fresh())

    async def _read(self) -> None:
        began = self._engine.clock.monotonic()
        found = await self._engine.measured()
        # An empty queue of the app that nobody takes is there all the same: whoever scales by it
        # could not begin with none otherwise (R9.6).
        measured = structs.replace(found, named=tuple(self._registry.queues))
        # A cap of a queue is worth a series; tenants are never labels.
        shown = [limit.id for limit in measured.settings.limits if limit.tenant is None]
        chosen = shown[:LIMITS_MOST]
        self.limits = await self._engine.limit_use(chosen) if chosen else []
        self.behind = await self._engine.store.schedules_behind(measured.now, BEHIND_CAP)
        self.measured, self._read_at = measured, began

    @property
    def age(self) -> float:
        """How many seconds ago it was read."""
        return self._engine.clock.monotonic() - self._read_at


def _told(reading: "asyncio.Future[None]") -> None:
    """Take note of how it ended, also if whoever asked has hung up."""
    if not reading.cancelled():
        reading.exception()
