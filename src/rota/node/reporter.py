"""Reports the endings of runs in batches, again and again until the answer is definite."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence

from rota.backend import Backend, Report
from rota.clock import Rng
from rota.errors import StoreError
from rota.model import AttemptError
from rota.node.counts import Counts
from rota.node.notebook import Notebook
from rota.outage import OUTAGES, pause_after
from rota.policy.lifecycle import Failed
from rota.tracing import Tracer

log = logging.getLogger("rota.worker")

BATCH = 1_000
MANY = 32
GATHER = 0.002
"""Seconds for which a report waits for more when `MANY` are there already; a lone one does not."""


class Reporter:
    """Gathers endings while a report is under way, so batches grow with the load by themselves.

    A report whose outcome is not known is repeated with the same fences; the guard in the store
    makes that safe (R3.2). What the store refuses because of an old fence is counted. What the
    runs noted is written before their endings are; `applied` is told what the store took.
    """

    tracer: Tracer | None = None
    """Who follows the reports."""

    def __init__(
        self,
        backend: Backend,
        session_id: str,
        counts: Counts,
        rng: Rng,
        *,
        sent: Callable[[], None],
        notebook: Notebook | None = None,
        applied: Callable[[Report], None] | None = None,
    ) -> None:
        self._backend = backend
        self._session_id = session_id
        self._counts = counts
        self._rng = rng
        self._sent = sent
        self._notebook = notebook
        self._applied = applied
        self._waiting: deque[Report] = deque()
        self._alone: dict[asyncio.Task[None], Report] = {}
        self._under_way: Sequence[Report] = ()
        self._news = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()

    def add(self, report: Report) -> None:
        """Take in an ending."""
        self._waiting.append(report)
        self._quiet.clear()
        self._news.set()

    def add_alone(self, report: Report) -> None:
        """Take in the ending of a run that completed its task in a transaction of its own.

        It goes by itself: if that transaction is still open, the store waits for it, and the
        others shall not. A refusal means that it was committed (R3.5).
        """
        self._quiet.clear()
        task = asyncio.create_task(self._send([report], alone=True))
        self._alone[task] = report
        task.add_done_callback(self._sent_alone)

    def _sent_alone(self, task: asyncio.Task[None]) -> None:
        del self._alone[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a report failed", exc_info=error)
        self._settle()

    @property
    def pending(self) -> int:
        """How many endings the store has not confirmed."""
        return len(self._waiting) + len(self._under_way) + len(self._alone)

    def hand_outs(self) -> set[tuple[str, int]]:
        """Return the hand-outs, as (id, fence), whose endings have not been confirmed."""
        reports = (*self._waiting, *self._under_way, *self._alone.values())
        return {(report.task.id, report.task.fence) for report in reports}

    def close(self) -> None:
        """Report nothing more."""
        for task in self._alone:
            task.cancel()

    async def flushed(self) -> None:
        """Wait until everything is confirmed."""
        await self._quiet.wait()

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            await self._news.wait()
            await self.step()

    async def step(self) -> None:
        """Report what waits, at most one batch."""
        if MANY <= len(self._waiting) < BATCH // 2:
            # They come fast: a little later one commit covers several times as many.
            await self._backend.clock.sleep(GATHER)
        size = min(len(self._waiting), BATCH)
        self._under_way = [self._waiting.popleft() for _ in range(size)]
        if not self._waiting:
            self._news.clear()
        if self._under_way:
            await self._send(self._under_way)
        self._under_way = ()
        self._settle()

    def _settle(self) -> None:
        if not self.pending:
            self._quiet.set()
        self._sent()

    async def _send(self, reports: Sequence[Report], *, alone: bool = False) -> None:
        repeated = 0
        while True:
            began = self._backend.clock.monotonic()
            try:
                if self._notebook is not None and self._notebook.pending:
                    await self._notebook.settle()
                verdicts = await self._backend.finish(self._session_id, reports)
            except OUTAGES as error:
                wait = pause_after(error, repeated, self._rng)
                repeated += 1
                log.warning(
                    "%d results could not be reported yet (%s); again in %.1f s",
                    len(reports), error, wait,
                )  # fmt: skip
                await self._backend.clock.sleep(wait)
            except StoreError as error:
                self._trace(reports, began, failed=True)
                await self._separate(reports, error)
                return
            else:
                if alone:
                    verdicts = [True]
                self._count(reports, verdicts, sure=not repeated)
                self._trace(reports, began)
                return

    def _trace(self, reports: Sequence[Report], began: float, *, failed: bool = False) -> None:
        if self.tracer is not None:
            seconds = self._backend.clock.monotonic() - began
            self.tracer.settled([report.task for report in reports], seconds, failed)

    def _count(self, reports: Sequence[Report], verdicts: Sequence[bool], *, sure: bool) -> None:
        refused = [r for r, applied in zip(reports, verdicts, strict=True) if not applied]
        self._counts.reported += len(reports) - len(refused)
        if self._applied is not None:
            for report, applied in zip(reports, verdicts, strict=True):
                if applied:
                    self._applied(report)
        # After an unknown outcome a refusal may only mean that the first try had arrived.
        if refused and sure:
            self._counts.refused += len(refused)
            log.warning(
                "%d results were refused: the tasks are not held under that fence any more, "
                "for instance %s", len(refused), refused[0].task.id,
            )  # fmt: skip

    async def _separate(self, reports: Sequence[Report], error: StoreError) -> None:
        """Find the report that the store cannot take, and report a failure in its place."""
        if len(reports) > 1:
            for report in reports:
                await self._send([report])
            return
        (report,) = reports
        log.error("the result of task %s could not be stored: %s", report.task.id, error)
        if isinstance(report.ending, Failed) and report.ending.error.type == "ResultRefused":
            # Even the plain report is refused; the lease will end and the task be tried again.
            self._counts.refused += 1
            return
        told = AttemptError(
            at=self._backend.clock.now(),
            attempt=report.task.attempt,
            type="ResultRefused",
            message="the store could not keep the handler's result; see the worker's log",
        )
        await self._send([Report(report.task, Failed(told), report.backoff, report.keep)])
