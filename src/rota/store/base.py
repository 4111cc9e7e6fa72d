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
    Beat,
    CancelOutcome,
    Claimed,
    DeadLetterGroup,
    Lanes,
    Look,
    Micros,
    NewTask,
    Note,
    Retention,
    RetryOutcome,
    Session,
    Share,
    Staged,
    State,
    Task,
    TaskFilter,
    Transition,
)
from rota.orders import GroupOrder
from rota.shares import Taken
from rota.store.access import Access
from rota.store.actions import Actions
from rota.store.alerts import Alerts
from rota.store.diagnosis import Diagnosis
from rota.store.recurring import Gates, Schedules
from rota.store.remote import Remote
from rota.store.sharing import Sharing
from rota.store.statistics import Statistics
from rota.store.submissions import Submissions
from rota.store.timing import Timings

Wake = Callable[[Micros | None], None]
"""Called from the event loop at news: 0 for tasks that are ready, an instant for tasks that will
be due then, None or `CHANGED` when something changed and it is not known what."""

Heard = Callable[[str | None], None]
"""Called from the event loop with what a process announced, or None if it is not known what."""

CHANGED: Micros = -1
"""A hint of something else, for instance that a running task is asked to stop."""


class Traits(Struct, frozen=True):
    """In what stores may differ, declared rather than tested for by type."""

    dialect: str
    shared_clock: bool
    """Whether `clock` is that of another machine, so that it must be measured."""
    embedded: bool
    """Whether the store is a file of this machine, made and migrated at first use."""
    announces: bool = False
    """Whether it carries what is announced to other processes."""


class Pulse(Protocol):
    """The heartbeat's own line to the store: blocking, for a thread of its own (case B130)."""

    def beat(self, session_id: str, now: Micros, lease_until: Micros) -> Beat:
        """Renew the session's lease, unless it is over, and tell what it is asked to cancel."""
        ...

    def clock(self) -> Micros:
        """Return the store's clock."""
        ...

    def close(self) -> None:
        """Close the line; safe to call twice."""
        ...


class Store(
    Gates,
    Schedules,
    Sharing,
    Access,
    Statistics,
    Alerts,
    Submissions,
    Actions,
    Remote,
    Diagnosis,
    Protocol,
):
    """Mechanism: it keeps tasks and moves them by guarded writes, and knows no policy."""

    traits: Traits
    timings: Timings

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

        Those with a `concurrency_key` are stored as scheduled, due or not; `stage` lets them in.

        A repeat of tasks whose ids are stored already changes nothing and is answered like the
        first call. A task whose (kind, tenant, key) is held by an earlier task, in the store or
        earlier in `tasks`, is not stored; the answer is that task's id with `created` False. A key
        is held while its task is live, and until its `key_until` (R1.4, cases B106, B107).
        """
        ...

    async def notify(self, at: Micros) -> None:
        """Tell listening nodes that there is work from `at` on (0: now, `CHANGED`: other news).

        A hint, it may be lost.
        """
        ...

    async def listen(self, wake: Wake) -> None:
        """Call `wake` at each sign of news until cancelled; ends with `StoreUnavailable`."""
        ...

    async def announce(self, text: str) -> None:
        """Carry a text of less than 8,000 bytes to whoever follows in other processes.

        It may be lost, and is never part of a transaction that does anything else (B154).
        """
        ...

    async def follow(self, heard: Heard) -> None:
        """Call `heard` with what is announced until cancelled; ends with `StoreUnavailable`.

        With None once at the start, and wherever something changed that nobody announced.
        """
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

    async def lanes(self, looks: Sequence[Look], limit: int) -> Lanes:
        """Return, for each look, the next at most `limit` lanes that have a ready task.

        In tenant order from the look's cursor, wrapping round once. The cost follows the number
        of lanes returned, neither the backlog nor the number of tenants (R7.3).
        """
        ...

    async def take(
        self,
        session_id: str,
        shares: Sequence[Share],
        avoid: Sequence[str],
        now: Micros,
        version: int,
        *,
        number: int | None = None,
    ) -> Taken:
        """Hand out at most `count` ready tasks of each share's lane in rank order to the session.

        Each is handed out to exactly one session (case B167); `fence` and `attempt` grow by one.
        Tasks of the kinds in `avoid` are passed over. A session that is over or whose lease has
        run out at `now` gets nothing. Tasks that another claimer is taking are skipped, not
        waited for. Nothing is handed out, and `stale` is true, if the settings have another
        `version`. Shares with limits are served in their order: the limits are locked, their
        running tasks counted by index and their tokens filled up and spent in this transaction;
        a limit that another claimer has locked is skipped. Only such shares pay for limits (R7.4,
        R7.5). With a `number` nothing is handed out unless that claim of the session goes on (see
        `begin_claim`).
        """
        ...

    async def held(self, session_id: str, limit: int, *, free: bool = False) -> list[Claimed]:
        """Return what the session holds, with its present fences.

        With `free` apart from what somebody's open transaction is changing: to finish that would
        wait for its end, which may be far.
        """
        ...

    async def finish(
        self, session_id: str, transitions: Sequence[Transition], now: Micros
    ) -> list[bool]:
        """Carry out each transition if the session holds the task under that fence.

        Says for each whether it applied; one that did not has changed nothing (R3.2, B125, B126).
        """
        ...

    async def stage(self, now: Micros, limit: int) -> Staged:
        """Move at most `limit` tasks that are due at `now` from scheduled to ready (R2.3, B152).

        Those with a `concurrency_key` come to their gate, and go in as far as it has room; `moved`
        counts what became ready, also of what waited at these gates before.
        """
        ...

    async def note(self, session_id: str, notes: Sequence[Note]) -> list[bool]:
        """Keep progress and checkpoints of held tasks; False under an old fence (R3.2, R3.5)."""
        ...

    async def revoke_overdue(self, now: Micros, limit: int) -> list[str]:
        """Cancel running tasks whose cancel deadline has passed, holder or not (R5.2).

        Returns their ids. The holder's report comes under an old fence and is refused.
        """
        ...

    async def expire(self, now: Micros, limit: int) -> int:
        """Cancel what has not started by its `expires_at` (reason `expired`), and what came back
        after it was asked to stop. Returns how many tasks; at most `limit` a call.
        """
        ...

    async def prune(self, now: Micros, retention: Retention, limit: int) -> int:
        """Drop what is over for longer than it is kept, keys past their time, old sessions.

        Returns how many tasks went; deletes at most about `limit` a call, whole days of history
        cost next to nothing where the store can drop them (R9.5, cases B148, F56). Makes ready
        whatever history to come needs.
        """
        ...

    # -- callers --------------------------------------------------------------------------------

    async def cancel(
        self, ids: Sequence[str], now: Micros, deadline: Micros | None = None
    ) -> list[CancelOutcome]:
        """Cancel each task that has not started, ask each running one to stop (R5.1, B137).

        A request stays with the task until it ends: a task that was asked to stop and is handed
        back, retried or lost is not handed out again, and `expire` cancels it. The earliest
        deadline counts.
        """
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

    async def find_ids(
        self, where: TaskFilter, *, before_id: str | None = None, limit: int = 50
    ) -> list[str]:
        """Return the ids of what `find` would return, without reading the tasks (R5.3)."""
        ...

    async def ahead(self, task_id: str, cap: int) -> int:
        """Count the ready tasks before this one in its lane, up to `cap`; 0 if it is not ready.

        The cost follows the answer, never the backlog behind it (R7.8).
        """
        ...

    async def replay(
        self, ids: Sequence[str], copies: Sequence[str], now: Micros
    ) -> list[Accepted | None]:
        """Make of each dead letter a new task, ready now, under the id given in `copies` (R4.4).

        Once per dead letter: a repeat returns the first copy with `created` False. None for what
        is no dead letter or was discarded. The copy has the payload, options, headers and tags of
        the original and counts anew; each knows of the other.
        """
        ...

    async def edit_payload(self, task_id: str, payload: str) -> bool:
        """Change a dead letter's payload; False if it is none, was replayed or discarded."""
        ...

    async def discard(self, ids: Sequence[str], reason: str, now: Micros) -> list[bool]:
        """Set dead letters aside for good, with a reason; False where there is nothing to do."""
        ...

    async def restore(self, ids: Sequence[str]) -> list[bool]:
        """Undo a discard, as long as the dead letter is kept."""
        ...

    async def groups(
        self,
        where: TaskFilter,
        limit: int,
        order: GroupOrder = GroupOrder.COUNT,
        *,
        since: Micros,
    ) -> list[DeadLetterGroup]:
        """Return the first groups of dead letters still to be dealt with, in this order (R4.4).

        Each tells in which hours since then its dead letters failed, and whose the newest are.
        """
        ...

    async def tallies(self, since: Micros) -> dict[tuple[str, str, State], int]:
        """Return how many tasks ended since, by (queue, kind, state), kept or not (R9.1)."""
        ...

    async def count(self, where: TaskFilter, cap: int) -> dict[State, int]:
        """Count matching tasks by state, each up to `cap`; states without any are left out."""
        ...
