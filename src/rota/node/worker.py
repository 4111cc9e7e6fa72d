"""A worker: it wires slots, sessions and duties together and keeps them going."""

import asyncio
import logging
import os
import socket
from functools import partial

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
from rota.node.pools import Pools
from rota.node.queue_names import QueuePlan, QueuePool, plan_queues
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
        self._registry = registry.runnable(settings.allow)
        self._left_out = [kind.name for kind in registry if kind.name not in self._registry]
        self._backend = backend
        self._settings = settings
        self._rng = rng
        self.version = version
        self._ids = Ids()
        if not (settings.queues or self._registry.queues):
            raise ConfigurationError("the app has no tasks; declare one with @app.task")
        self._pooled = tuple(kind.name for kind in self._registry if kind.executor == "process")
        self._mark = own_mark()
        self._telling: set[asyncio.Task[None]] = set()
        self._draining = asyncio.Event()
        self._stopping = asyncio.Event()
        self._shift: Shift | None = None
        self._stager: Duty | None = None
        self._told: list[Duty] = []
        self._pools: Pools | None = None
        self.plan = self._plan()
        self._processes = [self._processes_of(pool) for pool in self.plan.pools]
        self.counts = Counts()
        self.ready = asyncio.Event()

    @property
    def draining(self) -> bool:
        """Whether it takes nothing more."""
        return self._draining.is_set()

    @property
    def does_duties(self) -> bool:
        """Whether it makes tasks due or fires schedules."""
        return self._settings.stage or self._settings.schedule

    @property
    def pools(self) -> list[tuple[str, int, int]]:
        """The pools by their first queue: how many handlers may run at once, and how many do."""
        busy = [] if self._pools is None else [slots.busy for slots in self._pools.slots]
        return [
            (pool.words[0], pool.slots, busy[number] if busy else 0)
            for number, pool in enumerate(self.plan.pools)
        ]

    @property
    def heartbeat_age(self) -> float | None:
        """How many seconds ago the lease was last renewed; None before there is one."""
        return None if self._shift is None else self._shift.heartbeat_age

    @property
    def stuck(self) -> int:
        """How many handlers could not be ended and go on."""
        return 0 if self._pools is None else self._pools.stuck

    def drain(self) -> None:
        """Stop in an orderly way: take nothing more, finish what runs (R3.6)."""
        self._draining.set()

    def _asked_to_drain(self) -> None:
        if not self._draining.is_set():
            log.info("asked to drain: nothing more is taken")
            self.drain()

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
        pools = self._pools = self._make_pools()
        background = [asyncio.create_task(duty.run()) for duty in self._duties()]
        background.append(asyncio.create_task(self._listen()))
        try:
            while not self._draining.is_set():
                self._shift = Shift(
                    backend,
                    self._session(),
                    self._settings,
                    pools=pools,
                    counts=self.counts,
                    rng=self._rng,
                    pooled=self._pooled,
                    applied=self._applied if self._registry.hooks.on_dead_letter else None,
                    drain=self._asked_to_drain,
                )
                self.ready.set()
                await self._shift.run(self._draining, self._stopping)
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            if self._telling:  # hooks that were begun end before what handlers shared is closed
                await asyncio.wait(self._telling)
            await pools.close()

    # -- what the parts tell each other ---------------------------------------------------------

    def _report(self, report: Report) -> None:
        if self._shift is not None:
            self._shift.reporter.add(report)

    def _report_alone(self, report: Report) -> None:
        if self._shift is not None:
            self._shift.reporter.add_alone(report)

    def _applied(self, report: Report) -> None:
        """Call the hooks for a dead letter, once the store has it."""
        if self._pools is not None and (error := last_error(report)) is not None:
            hooks = self._registry.hooks.on_dead_letter
            told = call_hooks(hooks, self._pools.aside, Context(report.task), error)
            task = asyncio.create_task(told)
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    def _freed(self, pool: int) -> None:
        if self._shift is not None:
            self._shift.claimers[pool].freed()

    def _kick(self) -> None:
        if self._shift is not None:
            self._shift.kick()

    def _wake(self, at: Micros | None) -> None:
        changed = at is None or at < 0
        if changed and self._shift is not None:
            self._shift.nudge()
        if changed or at == 0:
            self._kick()
        if changed:
            for duty in self._told:
                duty.wake()
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
            version=self.version,
            queues=self.plan.words,
            kinds=self._registry.names,
            slots=self.plan.slots,
            started_at=now,
            lease_until=now + self._settings.lease,
            process=str(self._mark or ""),
        )

    def _plan(self) -> QueuePlan:
        concurrency = self._settings.concurrency
        if self._settings.queues:
            return plan_queues(self._settings.queues, concurrency)
        return QueuePlan([QueuePool(self._registry.queues, concurrency)])

    def _make_pools(self) -> Pools:
        clock = self._backend.clock
        unknown = dict.fromkeys(self._left_out)
        made: list[Slots] = []
        for number, pool in enumerate(self.plan.pools):
            slots = Slots(
                self._registry,
                pool.slots,
                clock,
                report=self._report,
                report_alone=self._report_alone,
                freed=partial(self._freed, number),
                pool=self._processes[number],
                resources=made[0].caller.resources if made else None,
            )
            slots.unknown = unknown
            made.append(slots)
        return Pools(self.plan, made)

    def _processes_of(self, pool: QueuePool) -> Pool | None:
        """Return the processes of a pool: its own, so that long work elsewhere never holds them."""
        kinds = [kind for kind in self._registry if kind.name in self._pooled]
        if not kinds:
            return None
        settings = self._settings
        size = min(settings.pool or os.cpu_count() or 1, pool.slots)
        setup = setup_of(kinds, settings.app_path)
        return Pool(size, settings.pool_tasks, setup, self._backend.clock)

    def _duties(self) -> list[Duty]:
        if self._backend.distant:
            return []  # servers do them
        duties = Duties(self._backend, self._settings.lease, self._rng, staged=self._kick)
        clock, rng = self._backend.clock, self._rng
        chosen = []
        if self._settings.stage:
            self._stager = Duty("stager", duties.stage, clock, rng)
            chosen.append(self._stager)
            self._told.append(Duty("admitter", duties.admit, clock, rng))
        if self._settings.schedule:
            self._told.append(Duty("scheduler", duties.fire, clock, rng))
            chosen.append(Duty("replanner", duties.replan, clock, rng))
        if self._settings.reap:
            chosen.append(Duty("reaper", duties.reap, clock, rng))
            chosen.append(Duty("sweeper", duties.sweep, clock, rng))
            self._told.append(Duty("actions", duties.carry_on, clock, rng))
            neighbours = Neighbours(self._backend, rng)
            if neighbours.possible:
                chosen.append(Duty("neighbours", neighbours.look, clock, rng))
        if self._settings.alert:
            chosen.append(Duty("watcher", duties.alert, clock, rng))
        if self._settings.prune:
            chosen.append(Duty("pruner", duties.prune, clock, rng))
        return chosen + self._told

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
