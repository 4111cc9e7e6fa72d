"""How runs are ended from outside: by time limits, by requests, and at the end of a worker."""

import asyncio
import logging
from collections.abc import Callable

from rota.clock import Clock
from rota.config import SECOND
from rota.context import SoftTimeout
from rota.model import Micros
from rota.node.run import Run, Stopped

log = logging.getLogger("rota.worker")

CLEAN_UP = 1.0
"""A handler that was cancelled gets so many seconds to clean up; then it is cancelled again, and
after as many more it is given up."""


class Stops:
    """Sees to it that no run outlasts its limits, whatever its handler does (R4.3, R5.2).

    `give_up` reports a run that could not be ended and replaces its slot.
    """

    def __init__(self, clock: Clock, *, give_up: Callable[[Run], None]) -> None:
        self._clock = clock
        self._give_up = give_up
        self._loop = asyncio.get_running_loop()

    def arm(self, run: Run) -> None:
        """Start the time limits of a run: its handler begins now."""
        hard, soft = run.claimed.timeout, run.kind.soft_timeout
        now = self._clock.now()
        if hard is not None:
            run.deadline = now + hard
            self._at(run.deadline, self._hard, run)
        if soft is not None and (hard is None or soft < hard):
            run.soft_deadline = now + soft
            self._at(run.soft_deadline, self._soft, run)

    def disarm(self, run: Run) -> None:
        """Forget the limits of a run that has ended."""
        for timer in run.timers:
            timer.cancel()

    def ask(self, run: Run, deadline: Micros | None) -> None:
        """Ask a run to stop, and end it at the deadline if there is one; the earliest counts."""
        if not run.asked:
            run.asked = True
            log.info("task %s (%s) is asked to stop", run.claimed.id, run.kind.name)
            if run.child is not None:
                run.child.tell("cancel")
            elif run.kind.executor == "process" or (run.kind.is_async and run.kind.cancellable):
                run.task.cancel()
        if deadline is not None and (run.cancel_by is None or deadline < run.cancel_by):
            run.cancel_by = deadline
            self._at(deadline, self.end, run, Stopped.CANCELLED)

    def end(self, run: Run, why: Stopped) -> None:
        """End a run: cancel it, kill its process, or give its thread up."""
        if run.over or (run.stopped is not None and why is not Stopped.LOST):
            return
        run.stopped = why
        run.stop()
        if run.kind.is_async and why is Stopped.CANCELLED:
            # It was asked in time and had until now.
            self._give_up(run)
            self._after(CLEAN_UP, self.abandon, run)
        elif run.kind.is_async and why is not Stopped.RELEASED:
            self._after(CLEAN_UP, self._insist, run)
        elif run.kind.executor == "thread" and why in (Stopped.TIMED_OUT, Stopped.CANCELLED):
            self._give_up(run)

    def lose(self, run: Run, *, told: bool) -> None:
        """End a run whose task is not its own any more; if it was told, it may clean up first."""
        if not told:
            self.end(run, Stopped.LOST)
        elif not run.over and run.stopped is None:
            run.stopped = Stopped.LOST
            self._after(CLEAN_UP, self._force, run)

    def abandon(self, run: Run) -> None:
        """Give a run up, and take a coroutine that swallows its cancellation off the loop."""
        if not run.over:
            self._give_up(run)
        try:
            if run.coroutine is not None:
                run.coroutine.close()
        except BaseException as error:
            log.warning("task %s (%s) cannot be ended: %r", *_named(run), error)
        run.task.cancel()

    def _hard(self, run: Run) -> None:
        if run.stopped is Stopped.LOST and run.kind.executor == "thread":
            self._give_up(run)  # its thread kept the slot so far
        self.end(run, Stopped.TIMED_OUT)

    def _soft(self, run: Run) -> None:
        if run.over or run.stopped is not None:
            return
        seconds = (run.kind.soft_timeout or 0) / SECOND
        log.warning(
            "task %s (%s) runs for %g s now: its soft time limit is over",
            run.claimed.id, run.kind.name, seconds,
        )  # fmt: skip
        run.soft = True
        if run.child is not None:
            run.child.tell("soft")
        elif run.steered is not None:
            run.steered.throw(SoftTimeout(), run.task)

    def _force(self, run: Run) -> None:
        run.stop()
        if run.kind.is_async:
            self._after(CLEAN_UP, self.abandon, run)

    def _insist(self, run: Run) -> None:
        log.warning("task %s (%s) goes on although it was cancelled; once more", *_named(run))
        self._force(run)

    def _at(self, instant: Micros, call: Callable[..., None], run: Run, *more: Stopped) -> None:
        self._after((instant - self._clock.now()) / SECOND, call, run, *more)

    def _after(self, seconds: float, call: Callable[..., None], run: Run, *more: Stopped) -> None:
        timer = self._loop.call_later(max(seconds, 0.0), call, run, *more)
        run.timers = (*run.timers, timer)


def _named(run: Run) -> tuple[str, str]:
    return run.claimed.id, run.kind.name
