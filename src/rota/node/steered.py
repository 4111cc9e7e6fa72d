"""A handler's coroutine into which an error can be thrown where it waits."""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class Steered:
    """Awaits a coroutine, and lets `throw` raise an error of ours at its `await` (R4.3).

    The task is cancelled for it, so that whatever the handler waits for is cancelled as well; the
    handler then sees our error in place of the `CancelledError`. A real cancellation passes.
    """

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._task: asyncio.Task[Any] | None = None

    def throw(self, error: BaseException, task: asyncio.Task[Any]) -> None:
        """Raise `error` in the coroutine, which `task` runs, as soon as it waits."""
        self._error, self._task = error, task
        task.cancel()

    def __await__(self) -> Generator[Any, Any, Any]:
        value: Any = None
        error: BaseException | None = None
        while True:
            try:
                waits_for = self._work.send(value) if error is None else self._work.throw(error)
            except StopIteration as returned:
                return returned.value
            value, error = None, None
            try:
                value = yield waits_for
            except GeneratorExit:
                self._work.close()
                raise
            except BaseException as raised:
                error = raised
            # Whatever it waited for may have swallowed the cancellation; ours comes all the same.
            if self._error is not None and isinstance(error, asyncio.CancelledError | None):
                error = self._taken()

    def _taken(self) -> BaseException | None:
        error, self._error = self._error, None
        if self._task is not None:
            self._task.uncancel()
        return error
