"""Calls handlers: on the event loop, in threads, in processes; with what they ask for."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rota.clock import Clock
from rota.context import SoftTimeout
from rota.errors import CancelRequested, HandlerTimedOut, InvalidTask, LeaseLost, ProcessDied
from rota.node import endings
from rota.node.hooking import call_hooks
from rota.node.pool import Pool
from rota.node.resources import Resources
from rota.node.run import Run, Stopped
from rota.node.steered import Steered
from rota.node.stops import Stops
from rota.policy.lifecycle import Cancelled, Ending, Failed, Released, TimedOut

T = TypeVar("T")

SIDE_THREADS = 16
"""For hooks and resources, beside those for handlers."""


class Caller:
    """Runs a handler and decides how its run ended (R8.2, R4.2); `finished` is told each time.

    There are twice as many threads as slots: a thread whose handler is stuck leaves its slot to
    another (R4.3). `resources` may be those of another caller of the same worker.
    """

    def __init__(
        self,
        clock: Clock,
        concurrency: int,
        stops: Stops,
        *,
        pool: Pool | None,
        finished: Callable[[Run, Ending], None],
        resources: Resources | None = None,
    ) -> None:
        self._clock = clock
        self._stops = stops
        self._pool = pool
        self._finished = finished
        self._most_threads = 2 * concurrency + SIDE_THREADS
        self._threads: ThreadPoolExecutor | None = None
        self.resources = resources or Resources(self.aside)

    async def execute(self, run: Run) -> None:
        """Run a handler to its end, whatever that is."""
        kind = run.kind
        try:
            if kind.direct and not kind.hooks.around:
                context = run.context if kind.arguments.takes_context else None
                try:
                    args, kwargs = kind.arguments.load(run.claimed.payload, context)
                except InvalidTask as error:
                    raise endings.Unreadable(error) from None
                run.coroutine = work = kind.handler(*args, **kwargs)
                ending: Ending = endings.of_result(await work)
            elif kind.executor == "process":
                ending = await self._in_process(run)
            else:
                ending = endings.of_result(await self._with_all(run))
        except BaseException as error:
            # Whatever a handler raises, SystemExit included, ends its run and not the worker.
            ending = self._ending(run, error)
            if not run.over:
                await self.tell_failure(run, ending, error)
        self._finished(run, ending)

    async def tell_failure(self, run: Run, ending: Ending, error: BaseException) -> None:
        """Call the hooks for a failed attempt, if it is one."""
        if run.kind.hooks.on_failure and isinstance(ending, Failed | TimedOut):
            if isinstance(ending, TimedOut):
                error = HandlerTimedOut(ending.error.message)
            elif isinstance(error, endings.Unreadable):
                error = error.cause
            await call_hooks(run.kind.hooks.on_failure, self.aside, run.context, error)

    async def aside(self, work: Callable[[], T]) -> T:
        """Do in a thread what may block."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._most_threads, "rota-handler")
        future = self._threads.submit(contextvars.copy_context().run, _contained, work)
        # Shielded: a thread cannot be cancelled, so whoever waits for one waits for its end.
        return await asyncio.shield(asyncio.wrap_future(future))

    async def close_processes(self) -> None:
        """End the processes for handlers; an idle one closes its resources first."""
        if self._pool is not None:
            await self._pool.close()

    def close(self) -> None:
        """Let the threads go without waiting for handlers that still run in them."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _with_all(self, run: Run) -> Any:
        kind, hooks = run.kind, run.kind.hooks
        resources = await self.resources.all_of(kind.arguments.resources)
        try:
            args, kwargs = kind.arguments.load(run.claimed.payload, run.context, resources)
        except InvalidTask as error:
            raise endings.Unreadable(error) from None
        await call_hooks(hooks.before, self.aside, run.context)
        if kind.is_async:
            run.coroutine = work = kind.handler(*args, **kwargs)
            if run.soft_deadline is not None:
                run.steered = Steered(work)
                result = await run.steered
            else:
                result = await work
        else:
            result = await self.aside(lambda: kind.handler(*args, **kwargs))
        if run.stopped is not Stopped.LOST and not run.over:
            await call_hooks(hooks.after, self.aside, run.context, result)
        return result

    async def _in_process(self, run: Run) -> Ending:
        if self._pool is None:
            raise ProcessDied("this worker has no processes for handlers")
        return await self._pool.run(run, lambda: self._stops.arm(run))

    def _ending(self, run: Run, error: BaseException) -> Ending:
        now = self._clock.now()
        cancelled = isinstance(error, asyncio.CancelledError) and not isinstance(error, SoftTimeout)
        # What a handler raises while it is being ended tells less than why it was ended.
        if run.asked and (run.stopped or cancelled or isinstance(error, CancelRequested)):
            return Cancelled(str(CancelRequested()))
        if run.stopped is Stopped.TIMED_OUT:
            return endings.timed_out(run.claimed, run.session_id, now)
        if run.stopped is not None or isinstance(error, LeaseLost):
            return Released()
        if isinstance(error, endings.Unreadable):
            return endings.unreadable(error.cause, run.claimed, run.session_id, now)
        return endings.of_exception(error, run.claimed, run.session_id, now, run.kind.verdicts)


def _contained(work: Callable[[], T]) -> T:
    try:
        return work()
    except StopIteration as error:
        # No future can carry it; whoever waits would wait for ever.
        raise RuntimeError("the handler raised StopIteration") from error
