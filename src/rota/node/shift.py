"""One session of a worker, from its registration to its end or the loss of its lease."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from rota.backend import Backend, Report
from rota.clock import Rng
from rota.config import SECOND
from rota.model import CancelRequest, Session
from rota.node.claimer import Claimer
from rota.node.counts import Counts
from rota.node.heart import Heart
from rota.node.notebook import Notebook
from rota.node.pools import PoolQueues, Pools
from rota.node.reporter import Reporter
from rota.node.settings import WorkerSettings
from rota.outage import through_outage

log = logging.getLogger("rota.worker")

LAST_WORDS = 1.0
"""Cancelled handlers get this many seconds to clean up before their tasks are handed back."""


class Shift:
    """Claims, runs and reports under one session."""

    def __init__(
        self,
        backend: Backend,
        session: Session,
        settings: WorkerSettings,
        *,
        pools: Pools,
        counts: Counts,
        rng: Rng,
        pooled: tuple[str, ...] = (),
        applied: Callable[[Report], None] | None = None,
        drain: Callable[[], None] = lambda: None,
    ) -> None:
        self._ask_to_drain = drain
        self._backend = backend
        self._session = session
        self._settings = settings
        self._pools = pools
        self._counts = counts
        self._rng = rng
        self._loop = asyncio.get_running_loop()
        self._lost = asyncio.Event()
        self._notebook = Notebook(backend, session.id, rng, refused=pools.refused)
        self.reporter = Reporter(
            backend,
            session.id,
            counts,
            rng,
            sent=self._sent,
            notebook=self._notebook,
            applied=applied,
        )
        self.reporter.tracer = pools.slots[0].tracer
        self.claimers = self._make_claimers(pooled)
        self._heart = self._make_heart()

    def _make_claimers(self, pooled: tuple[str, ...]) -> list[Claimer]:
        turn = asyncio.Lock()
        return [
            Claimer(
                self._backend,
                self._session.id,
                PoolQueues(self._backend, self._pools.plan, number),
                slots=slots,
                reporter=self.reporter,
                counts=self._counts,
                rng=self._rng,
                pooled=pooled,
                turn=turn,
                gone=self._lose,
            )
            for number, slots in enumerate(self._pools.slots)
        ]

    def _make_heart(self) -> Heart:
        return Heart(
            self._backend.pulse(),
            self._session.id,
            lease=self._settings.lease,
            clock=self._backend.clock,
            rng=self._rng,
            on_lost=self._lease_lost,
            on_cancels=self._asked,
            on_drain=self._drain_asked,
        )

    @property
    def heartbeat_age(self) -> float:
        """How many seconds ago the lease was last renewed."""
        return self._heart.age

    def _sent(self) -> None:
        for claimer in self.claimers:
            claimer.freed()

    def _lease_lost(self) -> None:
        self._loop.call_soon_threadsafe(self._lose)

    def _asked(self, requests: Sequence[CancelRequest]) -> None:
        self._loop.call_soon_threadsafe(self._pools.cancel, requests)

    def _drain_asked(self) -> None:
        self._loop.call_soon_threadsafe(self._ask_to_drain)

    def kick(self) -> None:
        """Look for work at once: there is news."""
        for claimer in self.claimers:
            claimer.kick()

    def nudge(self) -> None:
        """Ask soon whether something that runs here is to stop (R5.2)."""
        if self._pools.busy:
            self._heart.nudge()

    def _lose(self) -> None:
        # At once, from the loop's next turn: nothing may run on beyond the lease (R3.4).
        if not self._lost.is_set():
            self._counts.lost += self._pools.abandon()
            self._lost.set()

    async def _watch_lease(self) -> None:
        """Lose the lease when trust in it ends, be it that a renewal hangs without an answer."""
        while left := self._heart.trusted_for:
            await self._backend.clock.sleep(left)
        if not self._lost.is_set():
            log.warning(
                "the lease of session %s is over; its tasks run elsewhere", self._session.id
            )
        self._lose()

    async def run(self, draining: asyncio.Event, stopping: asyncio.Event) -> None:
        """Work until the lease is lost, or until drained; hands back whatever is left (R3.6)."""
        backend, session = self._backend, self._session
        opening = through_outage(
            lambda: backend.open_session(session), backend.clock, self._rng, what="the session"
        )
        if not await done_before(draining, opening):
            return
        self._counts.sessions += 1
        self._pools.serve(session.id, self._notebook, lambda: self._heart.trusted)
        self._heart.start()
        reporting = asyncio.create_task(self.reporter.run(), name="rota-reporter")
        claiming = asyncio.create_task(self._claim(), name="rota-claimers")
        watching = asyncio.create_task(self._watch_lease(), name="rota-lease")
        noting = asyncio.create_task(self._notebook.run(), name="rota-notebook")
        tasks = (claiming, reporting, watching, noting)
        try:
            await _first(self._lost, draining, also=(reporting, claiming, noting))
            for claimer in self.claimers:
                claimer.stop()
            await _ended(claiming, self._lost)
            if not self._lost.is_set():
                await self._drain(stopping)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.reporter.close()
            self._notebook.close()
            await self._close()

    async def _claim(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for claimer in self.claimers:
                    group.create_task(claimer.run(), name="rota-claimer")
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None  # what one is refused the others are as well

    async def _drain(self, stopping: asyncio.Event) -> None:
        """Finish within the grace time, then hand back the rest at once."""
        self._pools.release_buffered()
        if self._pools.busy:
            log.info("draining: %d tasks still run", self._pools.busy)
        await self._until(self._pools.idle(), self._settings.grace / SECOND, stopping)
        self._pools.release_running()
        await self._until(self._pools.idle(), LAST_WORDS if self._pools.busy else 0.0, None)
        self._pools.give_up_running()
        await self._until(self.reporter.flushed(), self._settings.lease / SECOND, None)

    async def _until(
        self, work: Coroutine[Any, Any, Any], seconds: float, stopping: asyncio.Event | None
    ) -> None:
        """Await `work` for so long, but not beyond a call to stop or the loss of the lease."""
        waits = [asyncio.ensure_future(work), asyncio.ensure_future(self._lost.wait())]
        if stopping is not None:
            waits.append(asyncio.ensure_future(stopping.wait()))
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _close(self) -> None:
        await self._loop.run_in_executor(None, self._heart.stop)
        if self._lost.is_set():
            return
        try:
            async with asyncio.timeout(self._settings.lease / SECOND / 3):
                await self._backend.close_session(self._session.id)
        except Exception as error:
            # The lease ends by itself; closing only makes it known sooner.
            log.warning("session %s could not be closed: %s", self._session.id, error)


async def done_before(event: asyncio.Event, work: Coroutine[Any, Any, Any]) -> bool:
    """Do `work` unless the event comes first; say whether it was done."""
    doing = asyncio.ensure_future(work)
    try:
        await _ended(doing, event)
        if not doing.done():
            return False
        doing.result()
        return True
    finally:
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)


async def _first(*events: asyncio.Event, also: tuple[asyncio.Task[None], ...]) -> None:
    """Wait for the first of the events; a background task that ends early raises here."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    done, _ = await asyncio.wait([*waits, *also], return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    for task in also:
        if task in done:
            task.result()


async def _ended(task: asyncio.Future[Any], event: asyncio.Event) -> None:
    wait = asyncio.ensure_future(event.wait())
    await asyncio.wait([task, wait], return_when=asyncio.FIRST_COMPLETED)
    wait.cancel()
