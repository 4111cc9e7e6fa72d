"""Follows a run: shows how far it is, kills a worker in the middle, gives up when nothing moves."""

from collections.abc import Callable

from rota.clock import Clock
from rota.config import SECOND
from rota.demo.live import Live
from rota.demo.settings import DemoSettings
from rota.demo.tasks import REMINDER, RESULT
from rota.demo.watch import Watch
from rota.demo.workers import CONCURRENCY, Workers

LOOK_EVERY = 0.05
KILL_FROM = 0.35
"""Once this share of the results is sent, the worker that has most chunks half sent is killed …"""
KILL_ENOUGH = CONCURRENCY // 2
"""… if it has so many of them, …"""
KILL_AT = 0.5
"""… or, from this share on, any."""
PATIENCE = 10.0
"""After so many seconds beyond two leases without any message, what is missing counts as lost."""


class Follower:
    """Looks at the provider's records while the workers write them."""

    def __init__(
        self, settings: DemoSettings, watch: Watch, workers: Workers, live: Live, clock: Clock
    ) -> None:
        self._students = settings.students
        self._patience = PATIENCE + 2 * settings.lease / SECOND
        self._watch = watch
        self._workers = workers
        self._live = live
        self._clock = clock
        self.killed = 0

    async def until(self, done: Callable[[], bool]) -> bool:
        """Follow until done; False if nothing has moved for too long."""
        moved, sent = self._clock.monotonic(), -1
        while not done():
            await self._clock.sleep(LOOK_EVERY)
            self._workers.check()
            if self._watch.look():
                self._live.show(self._watch.sent)
                self._kill_in_the_middle()
            # New passwords come for ever and prove nothing about the rest.
            if (batch := self._watch.sent[RESULT] + self._watch.sent[REMINDER]) != sent:
                moved, sent = self._clock.monotonic(), batch
            elif self._clock.monotonic() - moved > self._patience:
                return False
        return True

    def _kill_in_the_middle(self) -> None:
        sent = self._watch.sent[RESULT]
        if self.killed or sent < KILL_FROM * self._students:
            return
        half_done = self._watch.half_done()
        victim = max(half_done, key=half_done.__getitem__, default=0)
        if half_done[victim] < (KILL_ENOUGH if sent < KILL_AT * self._students else 1):
            return
        self._workers.kill(victim)
        self.killed += 1
        self._live.say(
            f"killed worker {victim} with SIGKILL after {sent:,} results; "
            f"chunks that it had sent in part: {half_done[victim]}"
        )
