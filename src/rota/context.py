"""What a handler can know of its run and tell about it."""

import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Generator
from datetime import datetime
from typing import Any, Literal, Protocol, overload

import msgspec

from rota.clock import instant
from rota.config import CHECKPOINT_BYTES
from rota.errors import HandlerError, Interrupt, InvalidTask
from rota.model import Claimed, Micros, Note
from rota.payload import encode
from rota.times import show_instant

_LARGEST = 2**53


class SoftTimeout(Interrupt, CancelledError):
    """The soft time limit is over: there is a little time left to clean up (R4.3).

    Raised once: in an async handler where it waits, in a plain function by `ctx.check()`. It is a
    `CancelledError` so that what lies between, a task group for instance, takes it for what it is.
    """

    def __init__(self, message: str = "the soft time limit is over") -> None:
        super().__init__(message)


class Link(Protocol):
    """A context's line to whatever runs the handler; any thread may use it."""

    @property
    def cancel_requested(self) -> bool:
        """Whether the task is asked to stop."""
        ...

    def check(self) -> None:
        """Raise what the handler is to be told, if anything."""
        ...

    def note(self, note: Note) -> None:
        """Take in progress or a checkpoint, to be written soon."""
        ...

    def flush(self) -> Awaitable[None]:
        """See to it that what was noted is durable: before this returns, or on the event loop
        before the answer's `await` does.
        """
        ...

    def complete(self, connection: Any, result: Any) -> None:
        """Finish the task in the caller's own transaction."""
        ...

    async def acomplete(self, connection: Any, result: Any) -> None:
        """Do what `complete` does on an asynchronous connection."""
        ...


class Settled(Awaitable[None]):
    """An `await` that has nothing left to wait for."""

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


class Alone:
    """The link of a handler that nobody runs: in tests, and in hooks after the run."""

    cancel_requested = False

    def check(self) -> None: ...

    def note(self, note: Note) -> None: ...

    def flush(self) -> Awaitable[None]:
        return Settled()

    def complete(self, *_: Any) -> None:
        raise HandlerError("only a run can complete its task")

    async def acomplete(self, *_: Any) -> None:
        self.complete()


class Context:
    """A handler's view of the run that it is in; ask for it with a parameter of this type.

    >>> async def send(ctx: Context, to: str) -> None:
    ...     ctx.log.info("sending to %s, attempt %s", to, ctx.attempt)
    """

    __slots__ = ("_checkpoint", "_claimed", "_deadline", "_link", "_soft_deadline")

    def __init__(
        self,
        claimed: Claimed,
        deadline: Micros | None = None,
        *,
        soft_deadline: Micros | None = None,
        link: Link | None = None,
    ) -> None:
        self._claimed = claimed
        self._deadline = deadline
        self._soft_deadline = soft_deadline
        self._checkpoint = claimed.checkpoint
        self._link = link or Alone()

    # -- what is known --------------------------------------------------------------------------

    @property
    def task_id(self) -> str:
        """The task's id, the same in every attempt."""
        return self._claimed.id

    @property
    def idempotency_key(self) -> str:
        """A key for whatever the handler writes to: the same in every attempt (R3.5)."""
        return self._claimed.id

    @property
    def kind(self) -> str:
        """The name under which the handler is registered."""
        return self._claimed.kind

    @property
    def queue(self) -> str:
        """The queue that the task came through."""
        return self._claimed.queue

    @property
    def tenant(self) -> str:
        """On whose behalf the task runs; "" when there is none."""
        return self._claimed.tenant

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1; snoozes, hand-backs and lost workers not counted."""
        return self._claimed.attempt

    @property
    def fence(self) -> int:
        """The token of this hand-out; it only grows, so receivers can refuse old ones (R3.3)."""
        return self._claimed.fence

    @property
    def run_at(self) -> datetime:
        """When the task was due."""
        return instant(self._claimed.run_at)

    @property
    def schedule(self) -> str | None:
        """The id of the schedule that made the task, or None."""
        return self._claimed.schedule

    @property
    def slot(self) -> datetime | None:
        """The slot of its schedule that the task was made of, or None (R3.5)."""
        return None if self._claimed.slot is None else instant(self._claimed.slot)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the task was submitted with (R1.1)."""
        text = self._claimed.headers
        return {} if text is None else msgspec.json.decode(text, type=dict[str, str])

    @property
    def deadline(self) -> datetime | None:
        """When this run will be ended, or None if the task has no timeout (R4.3)."""
        return None if self._deadline is None else instant(self._deadline)

    @property
    def soft_deadline(self) -> datetime | None:
        """When `SoftTimeout` comes, or None if the kind has no soft limit (R4.3)."""
        return None if self._soft_deadline is None else instant(self._soft_deadline)

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records carry which task, attempt and hand-out they are of (R9.3)."""
        claimed = self._claimed
        return logging.LoggerAdapter(
            logging.getLogger("rota.task"),
            {
                "task_id": claimed.id,
                "kind": claimed.kind,
                "queue": claimed.queue,
                "tenant": claimed.tenant,
                "attempt": claimed.attempt,
                "fence": claimed.fence,
                "schedule": claimed.schedule,
                "slot": None if claimed.slot is None else show_instant(claimed.slot),
            },
        )

    # -- being stopped --------------------------------------------------------------------------

    @property
    def cancel_requested(self) -> bool:
        """Whether the task is asked to stop (R5.2)."""
        return self._link.cancel_requested

    def check(self) -> None:
        """Go on, or stop: call it now and then in a long run (R4.3, R5.2).

        Raises `CancelRequested` when the task is asked to stop, `SoftTimeout` once when the soft
        limit is over, and `LeaseLost` when the task is not this run's any more.
        """
        self._link.check()

    # -- telling --------------------------------------------------------------------------------

    def progress(self, done: int, total: int | None = None) -> None:
        """Say how far the run is; written within a second. Without `total` the last one counts."""
        for number in (done, total):
            if number is not None and not (type(number) is int and 0 <= number < _LARGEST):
                raise HandlerError(f"progress takes whole numbers of 0 or more, not {number!r}")
        self._link.note(Note(self._claimed.id, self._claimed.fence, done=done, total=total))

    @property
    def last_checkpoint(self) -> Any:
        """The value of the last checkpoint of this task, whichever run made it, or None (R3.5)."""
        return None if self._checkpoint is None else msgspec.json.decode(self._checkpoint)

    @overload
    def checkpoint(self, value: Any) -> None: ...
    @overload
    def checkpoint(self, value: Any, *, flush: Literal[True]) -> Awaitable[None]: ...

    def checkpoint(self, value: Any, *, flush: bool = False) -> Awaitable[None] | None:
        """Keep a JSON value, at most 64 KiB, for a run of this task that may follow (R3.5).

        It is written with others within a second. With `flush=True` it is durable when this
        returns; on the event loop write `await ctx.checkpoint(value, flush=True)`. `LeaseLost` if
        the task is not this run's any more.
        """
        try:
            text = encode(value, "checkpoint", most=CHECKPOINT_BYTES)
        except InvalidTask as error:
            raise HandlerError(f"the handler's {error}") from None
        self._checkpoint = text
        self._link.note(Note(self._claimed.id, self._claimed.fence, checkpoint=text))
        return self._link.flush() if flush else None

    def flush(self) -> Awaitable[None]:
        """Make what was told so far durable, as `checkpoint(…, flush=True)` does."""
        return self._link.flush()

    def complete(self, connection: Any, result: Any = None) -> None:
        """Finish the task in the caller's own transaction, or not at all (R3.5).

        The task is completed when that transaction commits, together with whatever else it
        writes. `LeaseLost` if the task is not this run's any more.
        """
        self._link.complete(connection, result)

    async def acomplete(self, connection: Any, result: Any = None) -> None:
        """Do what `complete` does on an asynchronous connection."""
        await self._link.acomplete(connection, result)
