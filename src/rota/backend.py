"""The seam between clients and workers on one side and whatever keeps the tasks on the other.

`Engine` implements it against a store. Clients and workers know nothing else, so that the same
face can stand before a server.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rota.clock import Clock
from rota.model import (
    Accepted,
    CancelOutcome,
    Claimed,
    NewTask,
    RetryOutcome,
    Session,
    Staged,
    State,
    Task,
    TaskFilter,
)
from rota.policy.lifecycle import Ending
from rota.policy.retry import Backoff
from rota.store.base import Pulse, Wake


class Report(Struct, frozen=True, gc=False):
    """What a worker reports of a task that it held; `backoff` is the policy of the task's kind."""

    task: Claimed
    ending: Ending
    backoff: Backoff


class Backend(Protocol):
    """What a client and a worker need."""

    clock: Clock

    async def open(self) -> None:
        """Connect and take over the store's time."""
        ...

    async def close(self) -> None:
        """Let go of everything; safe to call twice."""
        ...

    async def submit(self, tasks: Sequence[NewTask]) -> list[Accepted]:
        """Store the tasks durably, all or none, and only then answer (R1.2)."""
        ...

    async def cancel(self, ids: Sequence[str]) -> list[CancelOutcome]:
        """Cancel what has not started; say what became of each (R5.1)."""
        ...

    async def retry(self, ids: Sequence[str]) -> list[RetryOutcome]:
        """Run failed and scheduled tasks at once."""
        ...

    async def get(self, ids: Sequence[str]) -> list[Task | None]:
        """Return each task, or None."""
        ...

    async def find(self, where: TaskFilter, *, before_id: str | None, limit: int) -> list[Task]:
        """Return matching tasks, newest first."""
        ...

    async def count(self, where: TaskFilter, cap: int) -> dict[State, int]:
        """Count matching tasks by state, each up to `cap`."""
        ...

    async def open_session(self, session: Session) -> None:
        """Register a worker."""
        ...

    async def claim(
        self, session_id: str, queues: Sequence[str], slots: int, avoid: Sequence[str]
    ) -> list[Claimed]:
        """Hand out at most `slots` tasks of these queues, fairly (R7.1-R7.3)."""
        ...

    async def held(self, session_id: str) -> list[Claimed]:
        """Return what the session holds."""
        ...

    async def finish(self, session_id: str, reports: Sequence[Report]) -> list[bool]:
        """Carry out the reports; say for each whether the session still held the task (R3.2)."""
        ...

    async def close_session(self, session_id: str) -> None:
        """End a session."""
        ...

    def pulse(self) -> Pulse:
        """Return a heartbeat's own line."""
        ...

    async def listen(self, wake: Wake) -> None:
        """Call `wake` at signs of news until cancelled."""
        ...

    async def stage(self) -> Staged:
        """Make due tasks ready; says when the next one is due."""
        ...

    async def reap(self) -> int:
        """Take back what lost workers held; returns how many tasks."""
        ...

    async def prune(self) -> int:
        """Drop old history; returns how many rows."""
        ...
