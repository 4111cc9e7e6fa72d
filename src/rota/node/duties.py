"""The duties that keep the store in order, safe in any number: stage, reap, sweep, prune."""

from collections.abc import Callable

from rota.backend import Backend
from rota.clock import Rng
from rota.config import SECOND
from rota.model import Micros

STAGE_POLL = 1.0
"""The stager looks this often even if it was told of nothing; a hint may have been lost."""
PRUNE_EVERY = 60.0
SWEEP_EVERY = 2.0
"""A task whose worker does not end it at the deadline of a request loses it so much later."""
SWEEP_FULL = 1_000
"""A step that swept so many has left some."""


class Duties:
    """The steps of the duties against one backend; each returns the seconds until it is due (R8.3).

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

    async def sweep(self) -> float:
        """Cancel what has expired, or was to stop and did not (R5.2)."""
        swept = await self._backend.sweep()
        return 0.1 if swept >= SWEEP_FULL else self._about(SWEEP_EVERY)

    async def prune(self) -> float:
        """Drop old history, a batch at a time; due again at once while there is more."""
        pruned = await self._backend.prune()
        return 0.1 if pruned else self._about(PRUNE_EVERY)

    def _about(self, seconds: float) -> float:
        # Nodes that were started together shall not work in step.
        return seconds * (0.75 + self._rng.random() / 2)
