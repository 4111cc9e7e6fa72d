"""Ends what waits for too long: one look a second for all that wait, so that none pays for it."""

import asyncio

from rota.clock import Clock

LOOKS_APART = 1.0


class Wait:
    """Something that may wait until a moment; `over` says that it was ended.

    Only while it is `armed` it waits: its task may be busy with something else in between.
    """

    __slots__ = ("armed", "over", "task", "until")

    def __init__(self, task: "asyncio.Task[object] | None", until: float) -> None:
        self.task = task
        self.until = until
        self.over = self.armed = False


class Deadlines:
    """Cancels the tasks of waits that are over, up to a second late; by the clock that is given."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waits: set[Wait] = set()
        self._looking: asyncio.Task[None] | None = None

    def begin(self, seconds: float) -> Wait:
        """Have the task that calls be cancelled where it is armed after so many seconds."""
        wait = Wait(asyncio.current_task(), self._clock.monotonic() + seconds)
        self._waits.add(wait)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        return wait

    def end(self, wait: Wait) -> None:
        """Take note that a wait is over."""
        self._waits.discard(wait)

    async def _look(self) -> None:
        while self._waits:
            await self._clock.sleep(LOOKS_APART)
            now = self._clock.monotonic()
            for wait in [wait for wait in self._waits if wait.armed and wait.until <= now]:
                self._waits.discard(wait)
                wait.over = True
                if wait.task is not None:
                    wait.task.cancel()
