"""A duty: a step that is done again and again and says when it wants to be done next."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from rota.clock import LONGEST_WAIT, Clock, Rng
from rota.errors import StoreError
from rota.node.waiting import within
from rota.outage import OUTAGES, pause

log = logging.getLogger("rota.node")

Step = Callable[[], Awaitable[float]]
"""Does one step and returns in how many seconds it wants to run again."""

AFTER_ERROR = 5.0


class Duty:
    """Runs a step for ever; an error delays the next step and ends nothing (R3.7, R8.3)."""

    def __init__(self, name: str, step: Step, clock: Clock, rng: Rng) -> None:
        self._name = name
        self._step = step
        self._clock = clock
        self._rng = rng
        self._sign = asyncio.Event()
        self._outages = 0

    def wake(self) -> None:
        """Run the step now rather than when it wanted to."""
        self._sign.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            self._sign.clear()
            wait = await self._once()
            if wait > 0 and not self._sign.is_set():
                await within(min(wait, LONGEST_WAIT), self._sign)

    async def _once(self) -> float:
        try:
            wait = await self._step()
        except OUTAGES as error:
            wait = pause(self._outages, self._rng)
            self._outages += 1
            log.warning("%s: %s; trying again in %.1f s", self._name, error, wait)
        except StoreError:
            log.exception("%s failed", self._name)
            wait = AFTER_ERROR
        else:
            self._outages = 0
        return wait
