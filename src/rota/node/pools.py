"""The pools of a worker: slots of their own for some queues, all under one session (R7.6)."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rota.backend import Backend
from rota.model import CancelRequest
from rota.node.notebook import Notebook
from rota.node.queue_names import QueuePlan
from rota.node.run import HandOut
from rota.node.slots import Slots

T = TypeVar("T")

REFRESH = 1.0
"""A busy pool with patterns asks this often, in seconds, which queues have work."""


class PoolQueues:
    """Which queues a pool looks at now.

    Only patterns ask the store: at every look of an idle pool, so that a queue that is new is
    found at once, and about once a second while the pool is busy.
    """

    def __init__(self, backend: Backend, plan: QueuePlan, pool: int = 0) -> None:
        self._backend = backend
        self._plan = plan
        self._pool = pool
        self._named = plan.names(pool)
        self._asks = plan.has_patterns(pool)
        self._found: tuple[str, ...] = ()
        self._asked_at = 0.0

    def take(self, queue: str) -> bool:
        """Say whether tasks of this queue belong to the pool."""
        return self._plan.pool_of(queue) == self._pool

    async def now(self, *, idle: bool) -> tuple[str, ...]:
        """Return them; `idle` says that the last look found nothing."""
        if not self._asks:
            return self._named
        now = self._backend.clock.monotonic()
        if idle or not self._found or now - self._asked_at >= REFRESH:
            working = await self._backend.queues_with_work()
            self._found = tuple(name for name in working if self._by_pattern(name))
            self._asked_at = now
        return (*self._named, *self._found)

    def _by_pattern(self, name: str) -> bool:
        return name not in self._named and self.take(name)


class Pools:
    """The slots of all pools, as one for the session under which they work."""

    def __init__(self, plan: QueuePlan, slots: Sequence[Slots]) -> None:
        self.plan = plan
        self.slots = tuple(slots)

    @property
    def busy(self) -> int:
        """How many handlers run."""
        return sum(slots.busy for slots in self.slots)

    @property
    def stuck(self) -> int:
        """How many handlers go on that were given up."""
        return sum(slots.stuck for slots in self.slots)

    async def aside(self, work: Callable[[], T]) -> T:
        """Do in a thread what may block."""
        return await self.slots[0].caller.aside(work)

    def serve(self, session_id: str, notebook: Notebook, trusted: Callable[[], bool]) -> None:
        """Work under this session from now on."""
        for slots in self.slots:
            slots.session_id = session_id
            slots.notebook = notebook
            slots.trusted = trusted

    def cancel(self, requests: Iterable[CancelRequest]) -> None:
        """Ask runs to stop, wherever they are (R5.1, R5.2)."""
        requests = tuple(requests)
        for slots in self.slots:
            slots.cancel(requests)

    def refused(self, hand_out: HandOut, told: bool) -> None:
        """Stop what is not held any more, wherever it runs."""
        for slots in self.slots:
            slots.refused(hand_out, told)

    def release_buffered(self) -> None:
        """Hand back what waits."""
        for slots in self.slots:
            slots.release_buffered()

    def release_running(self) -> None:
        """End what can be ended, and hand it back."""
        for slots in self.slots:
            slots.release_running()

    def give_up_running(self) -> None:
        """Hand back what runs all the same."""
        for slots in self.slots:
            slots.give_up_running()

    def abandon(self) -> int:
        """Stop everything, for the lease is lost; say how much it was (R3.4)."""
        return sum(slots.abandon() for slots in self.slots)

    async def idle(self) -> None:
        """Wait until no handler runs."""
        await asyncio.gather(*(slots.idle() for slots in self.slots))

    async def close(self) -> None:
        """Let go of processes, of what handlers shared, and of threads, in this order."""
        for slots in self.slots:
            await slots.caller.close_processes()
        # Opened once in the worker, whichever pool needed them first.
        await self.slots[0].caller.resources.close()
        for slots in self.slots:
            slots.close()
