"""Gates: what waits for room goes in when something before it has left (R7.4)."""

import logging
from collections.abc import Iterable

from rota.clock import Clock
from rota.errors import StoreError
from rota.schedule import Admitted
from rota.store.base import Store

PAGE = 500

log = logging.getLogger("rota.engine")


class Gates:
    """Lets tasks in: at once where something left, and step by step wherever something waits."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._after = ""
        self._waiting = False

    async def left(self, keys: Iterable[str | None]) -> None:
        """Let in what waits at these gates. What goes wrong is left to the next step."""
        gates = sorted({key for key in keys if key is not None})
        if not gates:
            return
        try:
            if await self._store.admit(gates, self._clock.now()):
                await self._store.notify(0)
        except StoreError as error:
            # Whatever left has left: the caller's own answer must not depend on this.
            log.debug("%d gates are looked at later: %s", len(gates), error)

    async def step(self) -> Admitted:
        """Let in what waits at the next `PAGE` gates, round and round over all of them.

        This finds what nobody told of: a node died in between, a task was cancelled or expired, or
        it was completed in a transaction of its handler's own.
        """
        gates = await self._store.waiting_gates(self._after, PAGE)
        moved = await self._store.admit(gates, self._clock.now()) if gates else 0
        if moved:
            await self._store.notify(0)
        self._waiting = bool(gates) or (self._waiting and self._after != "")
        more = len(gates) == PAGE
        self._after = gates[-1] if more else ""
        return Admitted(moved, self._waiting, more)
