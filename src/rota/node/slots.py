"""The slots of a worker: what runs, and the little that waits to run."""

import asyncio
import contextvars
import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, auto
from typing import Any

from rota.backend import Report
from rota.clock import Clock
from rota.config import SECOND
from rota.context import Context
from rota.errors import InvalidTask
from rota.model import Claimed
from rota.node import endings
from rota.policy.lifecycle import Ending, Expired, Released
from rota.policy.retry import Backoff
from rota.registry import Kind, Registry

log = logging.getLogger("rota.worker")

BURST = 200
"""So many handlers are started before the event loop gets to do something else."""

_ANY = Backoff()


HandOut = tuple[str, int]
"""A task under one fence: it may be handed out here anew while a thread of old still runs it."""


class Stopped(Enum):
    """Why a run was ended from outside."""

    TIMED_OUT = auto()
    RELEASED = auto()
    LOST = auto()


class Run:
    """A handler at work."""

    __slots__ = ("claimed", "kind", "stopped", "task", "timer")

    def __init__(self, claimed: Claimed, kind: Kind) -> None:
        self.claimed = claimed
        self.kind = kind
        self.stopped: Stopped | None = None
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None


class Slots:
    """Runs async handlers on the event loop and plain functions in threads (R8.2).

    `report` takes each ending; `freed` is called when a slot or a place in the buffer became
    free.
    """

    def __init__(
        self,
        registry: Registry,
        concurrency: int,
        clock: Clock,
        *,
        report: Callable[[Report], None],
        freed: Callable[[], None],
    ) -> None:
        self._registry = registry
        self._concurrency = concurrency
        self._clock = clock
        self._report = report
        self._freed = freed
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._threads: ThreadPoolExecutor | None = None
        self._buffer: deque[Claimed] = deque()
        self._running: dict[HandOut, Run] = {}
        self._filling = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.session_id = ""
        self.trusted: Callable[[], bool] = lambda: True
        self.unknown: dict[str, None] = {}
        self.started = 0

    # -- what there is --------------------------------------------------------------------------

    @property
    def free(self) -> int:
        """How many handlers could start now."""
        return max(self._concurrency - len(self._running) - len(self._buffer), 0)

    @property
    def buffered(self) -> int:
        """How many claimed tasks wait for a slot."""
        return len(self._buffer)

    @property
    def busy(self) -> int:
        """How many handlers run."""
        return len(self._running)

    def holds(self, task: Claimed) -> bool:
        """Say whether this hand-out of the task is running or waiting here."""
        return (task.id, task.fence) in self.hand_outs()

    def hand_outs(self) -> set[HandOut]:
        """Return what is running or waiting here."""
        return {*self._running, *((task.id, task.fence) for task in self._buffer)}

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
        room = self._concurrency - len(self._running)
        for _ in range(BURST):
            if room <= 0 or not self._buffer:
                break
            self._start(self._buffer.popleft())
            room = self._concurrency - len(self._running)
        else:
            self._fill_soon()
        self._freed()

    def _fill_soon(self) -> None:
        if not self._filling:
            self._filling = True
            self._loop.call_soon(self.fill)

    def _start(self, claimed: Claimed) -> None:
        self.started += 1
        kind = self._registry.get(claimed.kind)
        if kind is None:
            self._leave_to_others(claimed)
            return
        if claimed.expires_at is not None and claimed.expires_at <= self._clock.now():
            self._report(Report(claimed, Expired(), kind.retry))
            return
        run = Run(claimed, kind)
        self._running[claimed.id, claimed.fence] = run
        self._idle.clear()
        if claimed.timeout is not None and kind.is_async:
            seconds = claimed.timeout / SECOND
            run.timer = self._loop.call_later(seconds, self._end, run, Stopped.TIMED_OUT)
        run.task = _spawn(self._execute(run), self._loop, self._context.copy())

    def _leave_to_others(self, claimed: Claimed) -> None:
        # A rolling deployment: a newer worker knows the kind, this one does not (case B124).
        if claimed.kind not in self.unknown:
            self.unknown[claimed.kind] = None
            log.warning(
                "this worker has no task %r; it leaves such tasks to other workers", claimed.kind
            )
        self._report(Report(claimed, Released(), _ANY))

    # -- running --------------------------------------------------------------------------------

    async def _execute(self, run: Run) -> None:
        ending: Ending | None
        try:
            ending = endings.of_result(await self._call(run))
        except _Unreadable as error:
            ending = endings.unreadable(
                error.cause, run.claimed, self.session_id, self._clock.now()
            )
        except BaseException as error:
            # Whatever a handler raises, SystemExit included, ends its run and not the worker.
            ending = self._ending(run, error)
        self._finished(run, ending)

    async def _call(self, run: Run) -> Any:
        claimed, kind = run.claimed, run.kind
        deadline = None
        if claimed.timeout is not None:
            deadline = self._clock.now() + claimed.timeout
        try:
            args, kwargs = kind.arguments.load(claimed.payload, Context(claimed, deadline))
        except InvalidTask as error:
            raise _Unreadable(error) from None
        if kind.is_async:
            return await kind.handler(*args, **kwargs)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._concurrency, "rota-handler")
        context = contextvars.copy_context()
        work = self._threads.submit(context.run, lambda: kind.handler(*args, **kwargs))
        # Shielded: a thread cannot be cancelled, so its slot stays taken until it is done.
        return await asyncio.shield(asyncio.wrap_future(work))

    def _ending(self, run: Run, error: BaseException) -> Ending:
        now = self._clock.now()
        # What a handler raises while it is being ended tells less than why it was ended.
        if run.stopped is Stopped.TIMED_OUT:
            return endings.timed_out(run.claimed, self.session_id, now)
        if run.stopped is Stopped.RELEASED:
            return Released()
        return endings.of_exception(error, run.claimed, self.session_id, now)

    def _finished(self, run: Run, ending: Ending) -> None:
        if run.timer is not None:
            run.timer.cancel()
        del self._running[run.claimed.id, run.claimed.fence]
        if run.stopped is not Stopped.LOST:
            self._report(Report(run.claimed, ending, run.kind.retry))
        if not self._running:
            self._idle.set()
        if self._buffer:
            self._fill_soon()
        else:
            self._freed()

    # -- ending ---------------------------------------------------------------------------------

    def _end(self, run: Run, why: Stopped) -> None:
        if run.stopped is None and run.task is not None:
            run.stopped = why
            if run.kind.is_async:
                run.task.cancel()

    def release_buffered(self) -> None:
        """Hand back what waits for a slot; no attempt is spent (R3.6)."""
        while self._buffer:
            self._report(Report(self._buffer.popleft(), Released(), _ANY))

    def release_running(self) -> list[Run]:
        """Cancel the async handlers and return the runs that cannot be ended: those in threads."""
        for run in list(self._running.values()):
            self._end(run, Stopped.RELEASED)
        return [run for run in self._running.values() if not run.kind.is_async]

    def give_up(self, run: Run) -> None:
        """Hand back a task although its thread still runs; whatever it returns is dropped."""
        run.stopped = Stopped.LOST
        self._report(Report(run.claimed, Released(), _ANY))

    def abandon(self) -> int:
        """Stop everything, for the lease is lost; nothing of it is reported (R3.4)."""
        count = len(self._buffer) + len(self._running)
        self._buffer.clear()
        for run in list(self._running.values()):
            run.stopped = None
            self._end(run, Stopped.LOST)
        return count

    async def idle(self) -> None:
        """Wait until no handler runs."""
        await self._idle.wait()

    def close(self) -> None:
        """Let the threads go without waiting for handlers that still run in them."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


class _Unreadable(Exception):
    def __init__(self, cause: InvalidTask) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _spawn(
    work: Any, loop: asyncio.AbstractEventLoop, context: contextvars.Context
) -> asyncio.Task[None]:
    # Started eagerly where Python can: most handlers get far before their first wait.
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, context=context, eager_start=True)
    return loop.create_task(work, context=context)
