"""The duties that keep the store in order, safe in any number: stage, fire, reap and the like."""

from collections.abc import Callable

from rota.backend import Backend
from rota.clock import Clock, Rng
from rota.config import SECOND
from rota.model import Micros

STAGE_POLL = 1.0
"""The stager looks this often even if it was told of nothing; a hint may have been lost."""
LOCKED_POLL = 0.1
"""What is due and cannot be moved is locked, perhaps by a caller's transaction that stays open."""
PRUNE_EVERY = 60.0
SWEEP_EVERY = 2.0
"""A task whose worker does not end it at the deadline of a request loses it so much later."""
SWEEP_FULL = 1_000
"""A step that swept so many has left some."""
FIRE_POLL = 3.0
ADMIT_POLL = 1.0
ADMIT_QUIET = 5.0
"""While nothing waits at any gate. Both are for what nobody told of; together with the firing poll
they cost an idle node about half a statement a second (R2.4)."""
LOOKS_APART = 0.1
"""Hints that come faster than this are worth no look of their own; SQLite hints at any change."""
REPLAN_EVERY = 600.0
ALERT_EVERY = 20.0
"""So often a node asks whether it is its turn to look at the figures (R9.4)."""
CARRY_POLL = 10.0
"""Actions that were begun are told of; this is for those whose hint or whose node was lost."""


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
        self._fire = Looks(backend.clock)
        self._admit = Looks(backend.clock)
        self._carry = Looks(backend.clock)
        self._admit_wait = ADMIT_POLL
        self._settled = False

    async def stage(self) -> float:
        """Make due tasks ready; due again when the next task is (R2.2, R2.4)."""
        asked = self._backend.clock.now()
        staged = await self._backend.stage()
        if staged.moved:
            self._staged()
        if staged.next_at is None:
            return self._about(STAGE_POLL)
        # What came due while this look was under way is not locked: timers may ring a moment early.
        if staged.next_at <= asked and not staged.moved:
            return self._about(LOCKED_POLL)
        wait = (staged.next_at - self._backend.clock.now()) / SECOND
        return max(min(wait, self._about(STAGE_POLL)), 0.0)

    async def fire(self) -> float:
        """Fire the slots that have come; due again when the next one has (R2.2, R6.4)."""
        if too_soon := self._fire.too_soon():
            return too_soon
        fired = await self._backend.fire()
        if fired.made:
            self._staged()
        wait = self._about(FIRE_POLL)
        if fired.next_at is not None:
            ahead = (fired.next_at - self._backend.clock.now()) / SECOND
            wait = max(min(ahead, wait), 0.0)
        return self._fire.next_in(wait)

    async def replan(self) -> float:
        """Follow a change of the time zone data, soon after the start and now and then (R6.2)."""
        replanned = await self._backend.replan()
        return 0.1 if replanned else self._about(REPLAN_EVERY)

    async def admit(self) -> float:
        """Let in what waits at gates; less and less often while nothing does."""
        if too_soon := self._admit.too_soon():
            return too_soon
        admitted = await self._backend.admit()
        if admitted.moved:
            self._staged()
        if admitted.waiting:
            self._admit_wait = ADMIT_POLL
        else:
            self._admit_wait = min(2 * self._admit_wait, ADMIT_QUIET)
        soon = admitted.moved or admitted.more
        return self._admit.next_in(LOOKS_APART if soon else self._about(self._admit_wait))

    async def carry_on(self) -> float:
        """Do the next run of an action; due again when there is another one (R5.3)."""
        if too_soon := self._carry.too_soon():
            return too_soon
        carried = await self._backend.carry_on()
        wait = self._about(CARRY_POLL)
        if carried.next_at is None:
            return self._carry.next_in(wait)
        ahead = (carried.next_at - self._backend.clock.now()) / SECOND
        # A run that follows on the last one is no look, and needs no distance.
        return max(min(ahead, wait), 0.0)

    async def alert(self) -> float:
        """Look at the figures now and then, if no other node has: who starts has time (R9.4)."""
        if self._settled:
            await self._backend.alert()
        self._settled = True
        return self._about(ALERT_EVERY)

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


class Looks:
    """Keeps the looks of a duty apart that hints would have it take one after the other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._not_before = clock.monotonic()

    def too_soon(self) -> float:
        """Return the seconds until another look is worth it; 0.0 if it is."""
        return max(self._not_before - self._clock.monotonic(), 0.0)

    def next_in(self, seconds: float) -> float:
        """Take note that the next look wants to be in so many seconds, and return them."""
        self._not_before = self._clock.monotonic() + min(seconds, LOOKS_APART)
        return seconds
