"""The duties that keep the store in order: staging, reaping, pruning; safe in any number (R8.3)."""

from collections.abc import Callable

from rota.backend import Backend
from rota.clock import Rng
from rota.config import SECOND
from rota.model import Micros

STAGE_POLL = 1.0
"""The stager looks this often even if it was told of nothing; a hint may have been lost."""
PRUNE_EVERY = 60.0


class Duties:
    """The steps of the duties against one backend; each returns the seconds until it is due.

    `staged` is called when tasks became ready, so that this worker need not wait for the hint.
    """

    def __init__(
        self, backend: Backend, lease: Micros, rng: Rng, *, staged: Callable[[], None]
    ) -> None:
        self._backend = backend
        self._staged = staged
        self._rng = rng
        self._reap_every = lease / SECOND / 6

    async def stage(self) -> float:
        """Make due tasks ready; due again when the next task is (R2.2, R2.4)."""
        staged = await self._backend.stage()
        if staged.moved:
            self._staged()
        if staged.next_at is None:
            return self._about(STAGE_POLL)
        wait = (staged.next_at - self._backend.clock.now()) / SECOND
        return max(min(wait, self._about(STAGE_POLL)), 0.0)

    async def reap(self) -> float:
        """Take back what lost workers held."""
        await self._backend.reap()
        return self._about(self._reap_every)

    async def prune(self) -> float:
        """Drop old history, a batch at a time; due again at once while there is more."""
        pruned = await self._backend.prune()
        return 0.1 if pruned else self._about(PRUNE_EVERY)

    def _about(self, seconds: float) -> float:
        # Nodes that were started together shall not work in step.
        return seconds * (0.75 + self._rng.random() / 2)
