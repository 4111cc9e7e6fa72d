"""The slots of a worker: what runs, and the little that waits to run."""

import asyncio
import contextvars
import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from rota.backend import Report
from rota.clock import Clock
from rota.errors import CancelRequested, HandlerTimedOut
from rota.model import CancelRequest, Claimed
from rota.node import endings
from rota.node.caller import Caller
from rota.node.notebook import Notebook
from rota.node.pool import Pool
from rota.node.pool_line import PoolLine
from rota.node.resources import Resources
from rota.node.run import HandOut, Run, Stopped
from rota.node.run_log import log_run, runs, traced
from rota.node.stops import Stops
from rota.node.stuck import Stuck
from rota.policy.lifecycle import Cancelled, Ending, Expired, Released
from rota.policy.retry import Backoff
from rota.registry import Registry
from rota.tracing import Tracer

log = logging.getLogger("rota.worker")

BURST = 200
"""So many handlers are started before the event loop gets to do something else."""

_ANY = Backoff()
_CANCELLED = Cancelled(str(CancelRequested()))


class Slots:
    """Runs handlers, as many at once as there are slots, and reports each ending once (R8.2).

    `report` takes each ending, `report_alone` that of a run that completed its task itself;
    `freed` is called when a slot or a place in the buffer became free. A run that cannot be ended
    leaves its slot to another; with twice as many of those as there are slots the worker is `full`.
    """

    def __init__(
        self,
        registry: Registry,
        concurrency: int,
        clock: Clock,
        *,
        report: Callable[[Report], None],
        freed: Callable[[], None],
        report_alone: Callable[[Report], None] | None = None,
        pool: Pool | None = None,
        resources: Resources | None = None,
    ) -> None:
        self._registry = registry
        self._concurrency = concurrency
        self._clock = clock
        self._report = report
        self._report_alone = report_alone or report
        self._freed = freed
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._buffer: deque[Claimed] = deque()
        self._running: dict[HandOut, Run] = {}
        self._stuck = Stuck(2 * concurrency)
        self._hooking: set[asyncio.Task[None]] = set()
        self._filling = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._stops = Stops(clock, give_up=self._give_up)
        self._line = PoolLine(0 if pool is None else pool.size, clock)
        self.caller = Caller(
            clock, concurrency, self._stops, pool=pool, finished=self._finished, resources=resources
        )
        self.session_id = ""
        self.notebook: Notebook | None = None
        self.trusted: Callable[[], bool] = lambda: True
        self.unknown: dict[str, None] = {}
        self.started = 0

    # -- what there is --------------------------------------------------------------------------

    @property
    def tracer(self) -> Tracer | None:
        """Who follows what runs here, if anybody does."""
        return self._registry.tracer

    @property
    def free(self) -> int:
        """How many handlers could start now."""
        return max(self._most - len(self._running) - self.buffered, 0)

    @property
    def _most(self) -> int:
        # Together with those that cannot be ended there are never more than there are threads.
        return min(self._concurrency, 2 * self._concurrency - len(self._stuck))

    @property
    def full(self) -> bool:
        """Whether so many runs cannot be ended that the worker takes no more (R4.3)."""
        return self._stuck.full

    @property
    def places(self) -> int:
        """How many tasks more the processes of the pool could use."""
        return self._line.places

    @property
    def buffered(self) -> int:
        """How many claimed tasks wait for a slot or a process."""
        return len(self._buffer) + len(self._line)

    @property
    def busy(self) -> int:
        """How many handlers run."""
        return len(self._running)

    @property
    def stuck(self) -> int:
        """How many handlers go on that were given up."""
        return len(self._stuck)

    def hand_outs(self) -> set[HandOut]:
        """Return what is running or waiting here."""
        waiting = {(task.id, task.fence) for task in self._buffer}
        return {*self._running, *waiting, *self._line.hand_outs()}

    # -- taking and starting --------------------------------------------------------------------

    def offer(self, tasks: Iterable[Claimed]) -> None:
        """Run these tasks as soon as there are slots for them."""
        self._buffer.extend(tasks)
        self.fill()

    def fill(self) -> None:
        """Start what waits, as far as there are slots and the lease holds."""
        self._filling = False
        if not self._buffer or not self.trusted():
            return
        most = self._most
        for _ in range(BURST):
            if len(self._running) >= most or not self._buffer:
                break
            self._start(self._buffer.popleft())
        else:
            self._refill()
        self._freed()

    def _start(self, claimed: Claimed, *, admitted: bool = False) -> None:
        self.started += 1
        kind = self._registry.get(claimed.kind)
        if kind is None:
            self._leave_to_others(claimed)
            return
        if claimed.expires_at is not None and claimed.expires_at <= self._clock.now():
            if admitted:
                self._line.ended(0.0)
            self._report(Report(claimed, Expired(), kind.retry))
            return
        in_process = kind.executor == "process"
        if in_process and not admitted and not self._line.admit(claimed):
            return
        run = Run(claimed, kind, self.session_id)
        run.notebook = self.notebook
        self._running[claimed.id, claimed.fence] = run
        self._idle.clear()
        run.began = self._clock.monotonic()
        limits = claimed.timeout is not None or kind.soft_timeout is not None
        if limits and not in_process:  # those in a process start when that has
            self._stops.arm(run)
        work = self.caller.execute(run)
        if self.tracer is not None:
            work = traced(self.tracer, run, work)
        run.task = _spawn(work, self._loop, self._context.copy())

    def _leave_to_others(self, claimed: Claimed) -> None:
        # A rolling deployment: a newer worker knows the kind, this one does not (case B124).
        if claimed.kind not in self.unknown:
            self.unknown[claimed.kind] = None
            log.warning(
                "this worker has no task %r; it leaves such tasks to other workers", claimed.kind
            )
        self._report(Report(claimed, Released(), _ANY))

    def _finished(self, run: Run, ending: Ending) -> None:
        if run.timers:
            self._stops.disarm(run)
        if run.over:
            self._stuck.remove(run)
        else:
            run.over = True
            self._leave(run)
            if run.stopped is not Stopped.LOST:
                self._tell(run, ending)
            elif run.span is not None:
                run.span(ending)
        self._refill()

    def _tell(self, run: Run, ending: Ending) -> None:
        kind = run.kind
        report = self._report_alone if run.completed_here else self._report
        seconds = self._clock.monotonic() - run.began
        if run.span is not None:
            run.span(ending)
        if runs.isEnabledFor(logging.INFO):
            log_run(run, ending, seconds)
        report(Report(run.claimed, ending, kind.retry, kind.keep, seconds))

    def _leave(self, run: Run) -> None:
        claimed = run.claimed
        del self._running[claimed.id, claimed.fence]
        if run.kind.executor == "process":
            self._line.ended(self._clock.monotonic() - run.began)
            if (task := self._line.next()) is not None:
                self._start(task, admitted=True)
        if not self._running:
            self._idle.set()

    def _refill(self) -> None:
        if not self._buffer:
            self._freed()
        elif not self._filling:
            self._filling = True
            self._loop.call_soon(self.fill)

    # -- what cannot be ended -------------------------------------------------------------------

    def _give_up(self, run: Run) -> None:
        """Report a run that goes on, and give its slot to another (R4.3)."""
        run.over = True
        self._leave(run)
        self._stuck.add(run)
        if run.stopped is not Stopped.LOST:
            ending = self._ending_of(run)
            self._tell(run, ending)
            self._in_background(self.caller.tell_failure(run, ending, HandlerTimedOut()))
        self._refill()

    def _ending_of(self, run: Run) -> Ending:
        if run.asked:
            return _CANCELLED
        if run.stopped is Stopped.TIMED_OUT:
            return endings.timed_out(run.claimed, run.session_id, self._clock.now())
        return Released()

    def _in_background(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._hooking.add(task)
        task.add_done_callback(self._hooking.discard)

    # -- ending ---------------------------------------------------------------------------------

    def cancel(self, requests: Iterable[CancelRequest]) -> None:
        """Ask runs to stop; what still waits is cancelled at once (R5.1, R5.2)."""
        for request in requests:
            hand_out = request.id, request.fence
            if (run := self._running.get(hand_out)) is not None:
                self._stops.ask(run, request.deadline)
            elif (task := self._take_out(hand_out)) is not None:
                self._report(Report(task, _CANCELLED, _ANY))

    def _take_out(self, hand_out: HandOut) -> Claimed | None:
        for task in self._buffer:
            if (task.id, task.fence) == hand_out:
                self._buffer.remove(task)
                return task
        return self._line.remove(hand_out)

    def refused(self, hand_out: HandOut, told: bool) -> None:
        """The store says that this is not held here any more: stop it, and report nothing.

        `told` says that the handler will hear of it by itself, so that it can clean up.
        """
        run = self._running.get(hand_out)
        if run is not None and not run.completed_here:
            self._stops.lose(run, told=told)

    def release_buffered(self) -> None:
        """Hand back what waits for a slot or a process; no attempt is spent (R3.6)."""
        while self._buffer:
            self._report(Report(self._buffer.popleft(), Released(), _ANY))
        self.release_waiting(0.0)

    def release_waiting(self, seconds: float) -> None:
        """Hand back what has waited for a process for so long (case B143)."""
        for task in self._line.take_out(seconds):
            self._report(Report(task, Released(), _ANY))

    def release_running(self) -> None:
        """Cancel async handlers and kill processes; their tasks are handed back as they end."""
        for run in list(self._running.values()):
            self._stops.end(run, Stopped.RELEASED)

    def give_up_running(self) -> None:
        """Hand back what runs all the same: handlers in threads, and those that will not end."""
        for run in list(self._running.values()):
            if run.stopped is not Stopped.LOST:
                self._stops.abandon(run)

    def abandon(self) -> int:
        """Stop everything, for the lease is lost; nothing of it is reported (R3.4)."""
        count = self.buffered + len(self._running)
        self._buffer.clear()
        self._line.take_out()
        for run in list(self._running.values()):
            self._stops.end(run, Stopped.LOST)
        return count

    async def idle(self) -> None:
        """Wait until no handler runs."""
        await self._idle.wait()

    def close(self) -> None:
        """Let the threads go without waiting for handlers that still run in them."""
        self.caller.close()


def _spawn(
    work: Any, loop: asyncio.AbstractEventLoop, context: contextvars.Context
) -> asyncio.Task[None]:
    # Started eagerly where Python can: most handlers get far before their first wait.
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, context=context, eager_start=True)
    return loop.create_task(work, context=context)
