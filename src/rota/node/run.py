"""A handler at work, and its line to the worker."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Literal, Protocol

from rota import effects
from rota.context import Context, Settled, SoftTimeout
from rota.errors import CancelRequested, LeaseLost
from rota.model import Claimed, Micros, Note
from rota.registry import Kind

if TYPE_CHECKING:
    from rota.node.notebook import Notebook
    from rota.node.steered import Steered
    from rota.policy.lifecycle import Ending

HandOut = tuple[str, int]
"""A task under one fence: it may be handed out here anew while a thread of old still runs it."""


class Stopped(Enum):
    """Why a run was ended from outside."""

    TIMED_OUT = auto()
    CANCELLED = auto()
    RELEASED = auto()
    LOST = auto()


_WHY = {
    Stopped.TIMED_OUT: "it ran longer than its timeout",
    Stopped.CANCELLED: "it did not stop by the deadline of a request to cancel it",
    Stopped.RELEASED: "its worker stops and hands it back",
}


class Child(Protocol):
    """The process in which a handler runs, as far as its run needs to know it."""

    def tell(self, what: Literal["cancel", "soft"]) -> None:
        """Pass something on to the handler."""
        ...

    def kill(self) -> None:
        """End the process at once."""
        ...


class Run:
    """A handler at work; it is the link through which its context reaches the worker.

    `asked` says that the task shall be cancelled, `soft` that the soft limit is over, `stopped`
    why the worker ends the run, and `over` that nothing that comes of it counts any more.
    `completed_here` says that the handler completed the task in a transaction of its own.
    """

    # Most of it is never set for most runs: defaults of the class cost them nothing.
    asked = False
    soft = False
    over = False
    completed_here = False
    began = 0.0
    stopped: Stopped | None = None
    cancel_by: Micros | None = None
    deadline: Micros | None = None
    soft_deadline: Micros | None = None
    child: Child | None = None
    notebook: "Notebook | None" = None
    coroutine: "Coroutine[Any, Any, Any] | None" = None
    steered: "Steered | None" = None
    task: asyncio.Task[None]
    timers: tuple[asyncio.TimerHandle, ...] = ()
    span: "Callable[[Ending], None] | None" = None
    _context: Context | None = None
    _soft_told = False

    def __init__(self, claimed: Claimed, kind: Kind, session_id: str) -> None:
        self.claimed = claimed
        self.kind = kind
        self.session_id = session_id

    @property
    def hand_out(self) -> HandOut:
        """The task and the fence under which it is held."""
        return self.claimed.id, self.claimed.fence

    @property
    def context(self) -> Context:
        """What the handler and the hooks of this run see of it."""
        if self._context is None:
            self._context = Context(
                self.claimed, self.deadline, soft_deadline=self.soft_deadline, link=self
            )
        return self._context

    def stop(self) -> None:
        """Make it end, as far as that can be done from outside: a thread cannot be."""
        if self.child is not None:
            self.child.kill()
        elif self.kind.executor != "thread":
            self.task.cancel()

    # -- the context's link ---------------------------------------------------------------------

    @property
    def cancel_requested(self) -> bool:
        """Whether the task is asked to stop (R5.2)."""
        return self.asked

    def check(self) -> None:
        """Raise what the handler is to be told, if anything (R4.3, R5.2)."""
        if self.over or self.stopped is not None:
            raise self.lost()
        if self.asked:
            raise CancelRequested
        # An async handler is told where it waits.
        if self.soft and not self._soft_told and self.steered is None:
            self._soft_told = True
            raise SoftTimeout

    def lost(self) -> LeaseLost:
        """Return the error that tells a handler that its task is not its own any more."""
        why = _WHY.get(self.stopped) if self.stopped else None
        return LeaseLost(self.claimed.id, why) if why else LeaseLost(self.claimed.id)

    def note(self, note: Note) -> None:
        """Take in progress or a checkpoint; what a run says that is over is dropped (R3.5)."""
        if self.notebook is not None and not (self.over or self.completed_here):
            self.notebook.write(note)

    def flush(self) -> Awaitable[None]:
        """See to it that what was noted is durable; `LeaseLost` under an old fence (R3.2)."""
        if self.over or self.stopped is Stopped.LOST:
            raise self.lost()
        return Settled() if self.notebook is None else self.notebook.flush(self.hand_out)

    def complete(self, connection: Any, result: Any) -> None:
        """Complete the task in the caller's own transaction (R3.5)."""
        self._forget_notes()
        effects.complete(connection, self.claimed, self.session_id, result)
        self.completed_here = True

    async def acomplete(self, connection: Any, result: Any) -> None:
        """Do what `complete` does on an asynchronous connection."""
        self._forget_notes()
        await effects.acomplete(connection, self.claimed, self.session_id, result)
        self.completed_here = True

    def _forget_notes(self) -> None:
        # They would wait for the row that the caller's transaction holds, and so would all others.
        if self.notebook is not None:
            self.notebook.forget(self.hand_out)
