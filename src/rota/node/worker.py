"""A worker: it wires slots, sessions and duties together and keeps them going."""

import asyncio
import logging
import os
import socket

from rota.backend import Backend, Report
from rota.clock import Ids, Rng
from rota.context import Context
from rota.errors import ConfigurationError, StoreError
from rota.model import Micros, Session
from rota.node.counts import Counts
from rota.node.duties import Duties
from rota.node.duty import Duty
from rota.node.endings import last_error
from rota.node.hooking import call_hooks
from rota.node.neighbours import Neighbours, own_mark
from rota.node.pool import Pool, setup_of
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
        self._pooled = tuple(kind.name for kind in registry if kind.executor == "process")
        self._mark = own_mark()
        self._telling: set[asyncio.Task[None]] = set()
        self._draining = asyncio.Event()
        self._stopping = asyncio.Event()
        self._shift: Shift | None = None
        self._stager: Duty | None = None
        self._slots: Slots | None = None
        self._pool = self._make_pool()
        self.counts = Counts()
        self.ready = asyncio.Event()

    @property
    def stuck(self) -> int:
        """How many handlers could not be ended and go on."""
        return 0 if self._slots is None else self._slots.stuck

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
        slots = self._slots = Slots(
            self._registry,
            self._settings.concurrency,
            backend.clock,
            report=self._report,
            report_alone=self._report_alone,
            freed=self._freed,
            pool=self._pool,
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
                    pooled=self._pooled,
                    applied=self._applied if self._registry.hooks.on_dead_letter else None,
                )
                self.ready.set()
                await self._shift.run(self._draining, self._stopping)
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            await self._close(slots)

    async def _close(self, slots: Slots) -> None:
        """Let hooks that were begun end, and close what handlers shared, in reverse order."""
        if self._telling:
            await asyncio.wait(self._telling)
        if self._pool is not None:
            await self._pool.close()
        await slots.caller.resources.close()
        slots.close()

    # -- what the parts tell each other ---------------------------------------------------------

    def _report(self, report: Report) -> None:
        if self._shift is not None:
            self._shift.reporter.add(report)

    def _report_alone(self, report: Report) -> None:
        if self._shift is not None:
            self._shift.reporter.add_alone(report)

    def _applied(self, report: Report) -> None:
        """Call the hooks for a dead letter, once the store has it."""
        if self._slots is not None and (error := last_error(report)) is not None:
            hooks = self._registry.hooks.on_dead_letter
            told = call_hooks(hooks, self._slots.caller.aside, Context(report.task), error)
            task = asyncio.create_task(told)
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    def _freed(self) -> None:
        if self._shift is not None:
            self._shift.claimer.freed()

    def _kick(self) -> None:
        if self._shift is not None:
            self._shift.claimer.kick()

    def _wake(self, at: Micros | None) -> None:
        changed = at is None or at < 0
        if changed and self._shift is not None:
            self._shift.nudge()
        if changed or at == 0:
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
            process=str(self._mark or ""),
        )

    def _make_pool(self) -> Pool | None:
        kinds = [kind for kind in self._registry if kind.name in self._pooled]
        if not kinds:
            return None
        settings = self._settings
        size = min(settings.pool or os.cpu_count() or 1, settings.concurrency)
        setup = setup_of(kinds, settings.app_path)
        return Pool(size, settings.pool_tasks, setup, self._backend.clock)

    def _duties(self) -> list[Duty]:
        duties = Duties(self._backend, self._settings.lease, self._rng, staged=self._kick)
        clock, rng = self._backend.clock, self._rng
        chosen = []
        if self._settings.stage:
            self._stager = Duty("stager", duties.stage, clock, rng)
            chosen.append(self._stager)
        if self._settings.reap:
            chosen.append(Duty("reaper", duties.reap, clock, rng))
            chosen.append(Duty("sweeper", duties.sweep, clock, rng))
            neighbours = Neighbours(self._backend, rng)
            if neighbours.possible:
                chosen.append(Duty("neighbours", neighbours.look, clock, rng))
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
