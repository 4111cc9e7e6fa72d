"""A worker: it wires slots, sessions and duties together and keeps them going."""

import asyncio
import logging
import os
import socket

from rota.backend import Backend, Report
from rota.clock import Ids, Rng
from rota.errors import ConfigurationError, StoreError
from rota.model import Micros, Session
from rota.node.counts import Counts
from rota.node.duties import Duties
from rota.node.duty import Duty
from rota.node.settings import WorkerSettings
from rota.node.shift import Shift, done_before
from rota.node.slots import Slots
from rota.outage import pause, through_outage
from rota.registry import Registry

log = logging.getLogger("rota.worker")


class Worker:
    """Runs the tasks of an app's kinds until it is told to stop.

    `drain` stops taking tasks and lets what runs finish within the grace time; `stop` hands it
    back at once. A worker whose lease was lost goes on under a new session.
    """

    def __init__(
        self,
        registry: Registry,
        backend: Backend,
        settings: WorkerSettings,
        *,
        rng: Rng,
        version: str = "",
    ) -> None:
        self._registry = registry
        self._backend = backend
        self._settings = settings
        self._rng = rng
        self._version = version
        self._ids = Ids()
        self._queues = settings.queues or registry.queues
        if not self._queues:
            raise ConfigurationError("the app has no tasks; declare one with @app.task")
        self._draining = asyncio.Event()
        self._stopping = asyncio.Event()
        self._shift: Shift | None = None
        self._stager: Duty | None = None
        self.counts = Counts()
        self.ready = asyncio.Event()

    def drain(self) -> None:
        """Stop in an orderly way: take nothing more, finish what runs (R3.6)."""
        self._draining.set()

    def stop(self) -> None:
        """Stop at once: hand back what runs."""
        self._draining.set()
        self._stopping.set()

    async def run(self) -> None:
        """Work until drained; survives a store that comes and goes (R3.7)."""
        backend = self._backend
        opening = through_outage(backend.open, backend.clock, self._rng)
        try:
            if await done_before(self._draining, opening):
                await self._work()
        finally:
            await backend.close()

    async def _work(self) -> None:
        backend = self._backend
        slots = Slots(
            self._registry,
            self._settings.concurrency,
            backend.clock,
            report=self._report,
            freed=self._freed,
        )
        background = [asyncio.create_task(duty.run()) for duty in self._duties()]
        background.append(asyncio.create_task(self._listen()))
        try:
            while not self._draining.is_set():
                self._shift = Shift(
                    backend,
                    self._session(),
                    self._settings,
                    slots=slots,
                    counts=self.counts,
                    rng=self._rng,
                )
                self.ready.set()
                await self._shift.run(self._draining, self._stopping)
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            slots.close()

    # -- what the parts tell each other ---------------------------------------------------------

    def _report(self, report: Report) -> None:
        if self._shift is not None:
            self._shift.reporter.add(report)

    def _freed(self) -> None:
        if self._shift is not None:
            self._shift.claimer.freed()

    def _kick(self) -> None:
        if self._shift is not None:
            self._shift.claimer.kick()

    def _wake(self, at: Micros | None) -> None:
        if not at:
            self._kick()
        if at != 0 and self._stager is not None:
            self._stager.wake()

    # -- parts ----------------------------------------------------------------------------------

    def _session(self) -> Session:
        now = self._backend.clock.now()
        host = socket.gethostname()
        return Session(
            id=self._ids.new(now),
            name=self._settings.name or f"{host}-{os.getpid()}",
            host=host,
            pid=os.getpid(),
            version=self._version,
            queues=self._queues,
            kinds=self._registry.names,
            slots=self._settings.concurrency,
            started_at=now,
            lease_until=now + self._settings.lease,
        )

    def _duties(self) -> list[Duty]:
        duties = Duties(self._backend, self._settings.lease, self._rng, staged=self._kick)
        clock, rng = self._backend.clock, self._rng
        chosen = []
        if self._settings.stage:
            self._stager = Duty("stager", duties.stage, clock, rng)
            chosen.append(self._stager)
        if self._settings.reap:
            chosen.append(Duty("reaper", duties.reap, clock, rng))
        if self._settings.prune:
            chosen.append(Duty("pruner", duties.prune, clock, rng))
        return chosen

    async def _listen(self) -> None:
        tries = 0
        while True:
            began = self._backend.clock.monotonic()
            try:
                await self._backend.listen(self._wake)
            except StoreError as error:
                tries = 0 if self._backend.clock.monotonic() - began > 60 else tries + 1
                log.warning("not listening (%s); polling meanwhile", error)
                await self._backend.clock.sleep(pause(tries, self._rng))
