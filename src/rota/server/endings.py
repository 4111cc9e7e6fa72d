"""Waiting for tasks to end: all who wait at a server share one look at a time (http §1, R1.6)."""

import asyncio
import logging
from collections import Counter

from rota.backend import Backend
from rota.errors import StoreError
from rota.model import State

log = logging.getLogger("rota.server")

LOOKS_APART = 0.25
"""One question for all that is waited for, so often and only while somebody waits."""
MOST = 10_000
OF_ONE_MOST = 500
"""So many calls of one key wait; further ones are answered at once, so that others find room."""


class Endings:
    """Whoever waits for the end of a task, in one server process."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._of: Counter[str] = Counter()
        self._looking: asyncio.Task[None] | None = None
        self._over = False

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return sum(map(len, self._waiting.values()))

    def drain(self) -> None:
        """Let everybody go: the server stops, and open connections would hold it up."""
        self._over = True
        for events in self._waiting.values():
            for event in events:
                event.set()

    async def wait(self, task_id: str, seconds: float, who: str = "") -> None:
        """Wait until the task is over, the time is up or the server drains.

        Who is let go reads the task to see which. A caller that hangs up is to cancel this. `who`
        is the key of the call: it does not wait if too many of that key do.
        """
        if self._over or seconds <= 0 or len(self._waiting) >= MOST:
            return
        if self._of.get(who, 0) >= OF_ONE_MOST:
            return
        self._of[who] += 1
        event = asyncio.Event()
        self._waiting.setdefault(task_id, set()).add(event)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        up = asyncio.ensure_future(self._backend.clock.sleep(seconds))
        ended = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({up, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
            ended.cancel()
            self._of[who] -= 1
            if not self._of[who]:
                del self._of[who]
            events = self._waiting[task_id]
            events.discard(event)
            if not events:
                del self._waiting[task_id]

    async def _look(self) -> None:
        while self._waiting:
            try:
                states = await self._backend.states(list(self._waiting))
            except StoreError as error:
                log.warning("cannot see what has ended (%s); looking again", error)
            else:
                self._tell(states)
            await self._backend.clock.sleep(LOOKS_APART)

    def _tell(self, states: dict[str, State]) -> None:
        for task_id, events in self._waiting.items():
            state = states.get(task_id)
            if state is None or state.final or state is State.FAILED:
                for event in events:
                    event.set()
