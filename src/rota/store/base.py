"""The contract of a store: about twenty verbs named for the domain; both dialects keep it.

Every verb is one transaction: it happens whole or not at all, and it is durable when it answers.
Every verb that depends on time takes `now`. Lists are answered in the order they were asked in.
Driver errors arrive as `StoreUnavailable` (the outcome is not known, the caller may repeat),
`StoreFull` (nothing happened) or `StoreError`; nothing else escapes.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from rota.model import (
    Accepted,
    CancelOutcome,
    Claimed,
    Lane,
    Look,
    Micros,
    NewTask,
    RetryOutcome,
    Session,
    Share,
    Staged,
    State,
    Task,
    TaskFilter,
    Transition,
)

Wake = Callable[[Micros | None], None]
"""Called from the event loop at news: 0 for tasks that are ready, an instant for tasks that will
be due then, None when something changed and it is not known what."""


class Traits(Struct, frozen=True):
    """In what stores may differ, declared rather than tested for by type."""

    dialect: str
    shared_clock: bool
    """Whether `clock` is that of another machine, so that it must be measured."""
    embedded: bool
    """Whether the store is a file of this machine, made and migrated at first use."""


class Pulse(Protocol):
    """The heartbeat's own line to the store: blocking, for a thread of its own (case B130)."""

    def beat(self, session_id: str, now: Micros, lease_until: Micros) -> bool:
        """Renew the session's lease; False if the session is over and holds nothing any more."""
        ...

    def clock(self) -> Micros:
        """Return the store's clock."""
        ...

    def close(self) -> None:
        """Close the line; safe to call twice."""
        ...


class Store(Protocol):
    """Mechanism: it keeps tasks and moves them by guarded writes, and knows no policy."""

    traits: Traits

    # -- its own life ---------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect; `SchemaOutOfDate` if the schema is older than this version needs."""
        ...

    async def close(self) -> None:
        """Let go of every connection and thread; safe to call twice."""
        ...

    async def migrate(self) -> list[str]:
        """Bring the schema up to date and return the names of the migrations applied by this call.

        Works on a store that is not `open` yet. Many processes may call it at once: each
        migration is applied by exactly one of them, in one transaction with its record (R8.6).
        """
        ...

    async def clock(self) -> Micros:
        """Return the store's own clock."""
        ...

    # -- accepting ------------------------------------------------------------------------------

    async def submit(self, tasks: Sequence[NewTask], now: Micros) -> list[Accepted]:
        """Store all the tasks, due ones (`run_at <= now`) as ready, others as scheduled (R1.2).

        A repeat of tasks whose ids are stored already changes nothing and is answered like the
        first call. A task whose (kind, tenant, key) is held by an earlier task, in the store or
        earlier in `tasks`, is not stored; the answer is that task's id with `created` False. A key
        is held while its task is live, and until its `key_until` (R1.4, cases B106, B107).
        """
        ...

    async def notify(self, at: Micros) -> None:
        """Tell listening nodes that there is work from `at` on (0: now); a hint, may be lost."""
        ...

    async def listen(self, wake: Wake) -> None:
        """Call `wake` at each sign of news until cancelled; ends with `StoreUnavailable`."""
        ...

    # -- sessions -------------------------------------------------------------------------------

    async def open_session(self, session: Session) -> None:
        """Register a session; a repeat with the same id changes nothing."""
        ...

    async def close_session(self, session_id: str, now: Micros) -> None:
        """End a session; it can take nothing more. What it still holds is left to `reap`."""
        ...

    async def end_expired(self, now: Micros, limit: int) -> list[str]:
        """End the sessions whose lease ran out before `now`; return ended ones that hold tasks."""
        ...

    async def sessions(self, *, live_at: Micros | None = None) -> list[Session]:
        """Return the sessions, newest first; with `live_at` those that are alive at that time."""
        ...

    def pulse(self) -> Pulse:
        """Return a heartbeat's own line, not yet connected."""
        ...

    # -- holding --------------------------------------------------------------------------------

    async def lanes(self, looks: Sequence[Look], limit: int) -> list[Lane]:
        """Return, for each look, the next at most `limit` lanes that have a ready task.

        In tenant order from the look's cursor, wrapping round once. The cost follows the number
        of lanes returned, neither the backlog nor the number of tenants (R7.3).
        """
        ...

    async def take(
        self, session_id: str, shares: Sequence[Share], avoid: Sequence[str], now: Micros
    ) -> list[Claimed]:
        """Hand out at most `count` ready tasks of each share's lane in rank order to the session.

        Each is handed out to exactly one session (case B167); `fence` and `attempt` grow by one.
        Tasks of the kinds in `avoid` are passed over. A session that is over or whose lease has
        run out at `now` gets nothing. Tasks that another claimer is taking are skipped, not
        waited for.
        """
        ...

    async def held(self, session_id: str, limit: int) -> list[Claimed]:
        """Return what the session holds, with its present fences."""
        ...

    async def finish(
        self, session_id: str, transitions: Sequence[Transition], now: Micros
    ) -> list[bool]:
        """Carry out each transition if the session holds the task under that fence.

        Says for each whether it applied; one that did not has changed nothing (R3.2, B125, B126).
        """
        ...

    async def stage(self, now: Micros, limit: int) -> Staged:
        """Move at most `limit` tasks that are due at `now` from scheduled to ready (R2.3, B152)."""
        ...

    async def prune(self, now: Micros, finished_before: Micros, limit: int) -> int:
        """Drop history finished before, keys past their time whose task is over, old sessions.

        Returns how many finished tasks went; at most about `limit` a call (case B148).
        """
        ...

    # -- callers --------------------------------------------------------------------------------

    async def cancel(self, ids: Sequence[str], now: Micros) -> list[CancelOutcome]:
        """Cancel each task that is scheduled or ready; say what became of each (R5.1, B137)."""
        ...

    async def retry(self, ids: Sequence[str], now: Micros) -> list[RetryOutcome]:
        """Make each failed or scheduled task ready at once; failed ones start counting anew."""
        ...

    async def get(self, ids: Sequence[str]) -> list[Task | None]:
        """Return each task wherever it lies, or None."""
        ...

    async def find(
        self, where: TaskFilter, *, before_id: str | None = None, limit: int = 50
    ) -> list[Task]:
        """Return matching tasks, newest first, with ids below `before_id`."""
        ...

    async def count(self, where: TaskFilter, cap: int) -> dict[State, int]:
        """Count matching tasks by state, each up to `cap`; states without any are left out."""
        ...
