"""The seam between clients and workers on one side and whatever keeps the tasks on the other.

`Engine` implements it against a store, `rota.http` against a server. Clients and workers know
nothing else, so that it is the same to them.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rota.clock import Clock
from rota.model import (
    Accepted,
    CancelOutcome,
    Claimed,
    DeadLetterGroup,
    Micros,
    NewTask,
    Note,
    RetryOutcome,
    Session,
    Staged,
    State,
    Task,
    TaskFilter,
)
from rota.orders import GroupOrder
from rota.policy.lifecycle import Ending
from rota.policy.retry import Backoff
from rota.remote import Numbered
from rota.schedule import (
    Admitted,
    Fired,
    GateUse,
    Run,
    Schedule,
    ScheduleFilter,
    Skip,
    Slot,
    SlotRun,
)
from rota.seam.access import Access
from rota.seam.actions import Actions
from rota.seam.alerts import Alerts
from rota.seam.diagnosis import Diagnosis
from rota.seam.remote import Remote
from rota.seam.statistics import Statistics
from rota.seam.submissions import Submissions
from rota.shares import AnySettings, Depth, Limit, LimitUse, Settings
from rota.store.base import Pulse, Wake


class Report(Struct, frozen=True, gc=False):
    """What a worker reports of a task that it held; `backoff` is the policy of the task's kind.

    With `keep` False a task that completes leaves no row, only its count (R9.5). `seconds` is how
    long its slot was taken, None if it was not run.
    """

    task: Claimed
    ending: Ending
    backoff: Backoff
    keep: bool = True
    seconds: float | None = None


class Claim(Struct, frozen=True):
    """What a claim handed out, and when there may be more although nothing else happens.

    `again_at` is set if a limit held something back that it will let through then, or if not all
    was looked at. `spared` says that work under limits was left out for the lack of a free slot.
    """

    tasks: list[Claimed]
    again_at: Micros | None = None
    spared: bool = False


class Backend(Access, Statistics, Alerts, Submissions, Actions, Remote, Diagnosis, Protocol):
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

    async def cancel(
        self, ids: Sequence[str], deadline: Micros | None = None
    ) -> list[CancelOutcome]:
        """Cancel what has not started, ask what runs to stop; say what became of each (R5.1)."""
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

    async def find_ids(self, where: TaskFilter, *, before_id: str | None, limit: int) -> list[str]:
        """Return the ids of matching tasks, newest first."""
        ...

    async def ahead(self, task_id: str, cap: int) -> int:
        """Count the ready tasks before this one in its lane, up to `cap` (R7.8)."""
        ...

    async def replay(self, ids: Sequence[str]) -> list[Accepted | None]:
        """Make of each dead letter a new task, once; None for what is none (R4.4)."""
        ...

    async def edit_payload(self, task_id: str, payload: str) -> bool:
        """Change a dead letter's payload."""
        ...

    async def discard(self, ids: Sequence[str], reason: str) -> list[bool]:
        """Set dead letters aside for good."""
        ...

    async def restore(self, ids: Sequence[str]) -> list[bool]:
        """Undo a discard."""
        ...

    async def groups(
        self, where: TaskFilter, limit: int, order: GroupOrder = GroupOrder.COUNT
    ) -> list[DeadLetterGroup]:
        """Return the first groups of dead letters in this order."""
        ...

    async def tallies(self, since: Micros) -> dict[tuple[str, str, State], int]:
        """Return how many tasks ended since, by (queue, kind, state)."""
        ...

    # -- schedules ------------------------------------------------------------------------------

    async def create_schedule(self, schedule: Schedule) -> bool:
        """Store a schedule; False if another one has its name."""
        ...

    async def change_schedule(
        self, schedule: Schedule, version: int, cursor: Micros, skips: Sequence[Skip] = ()
    ) -> bool:
        """Replace a schedule that is still at this version and cursor."""
        ...

    async def remove_schedule(self, schedule_id: str) -> bool:
        """Remove a schedule; its tasks are left alone."""
        ...

    async def get_schedules(self, names: Sequence[str]) -> list[Schedule | None]:
        """Return each schedule by its name or id, or None."""
        ...

    async def find_schedules(
        self, where: ScheduleFilter, *, after_name: str, limit: int
    ) -> list[Schedule]:
        """Return matching schedules by name."""
        ...

    async def live(self, schedule_ids: Sequence[str], cap: int) -> list[int]:
        """Return how many tasks of each schedule are not over."""
        ...

    async def fire_extra(self, schedule_id: str, runs: Sequence[Run], *, slots: bool) -> list[bool]:
        """Make tasks of a schedule besides its firings: a backfill, or run now (R6.8)."""
        ...

    async def slots(self, schedule_id: str, before: Micros | None, limit: int) -> list[Slot]:
        """Return what became of a schedule's slots, the newest first."""
        ...

    async def slot_runs(
        self, schedule_ids: Sequence[str], before: Micros | None, limit: int
    ) -> list[list[SlotRun]]:
        """Return what became of the slots of several schedules, and of their tasks."""
        ...

    async def gate_use(self, key: str, cap: int) -> GateUse:
        """Count what is inside a gate and what waits at it."""
        ...

    # -- sharing --------------------------------------------------------------------------------

    async def settings(self) -> Settings:
        """Return all settings and limits."""
        ...

    async def put_settings(self, new: AnySettings, version: int) -> bool:
        """Replace settings that still have this version, and tell the nodes."""
        ...

    async def drop_settings(self, old: AnySettings) -> bool:
        """Forget settings, and tell the nodes."""
        ...

    async def put_limit(self, limit: Limit, version: int) -> bool:
        """Replace a limit that still has this version, and tell the nodes."""
        ...

    async def drop_limit(self, limit_id: str) -> bool:
        """Remove a limit, and tell the nodes."""
        ...

    async def limit_use(self, limit_ids: Sequence[str]) -> list[LimitUse]:
        """Return how much of these limits is in use."""
        ...

    async def depths(
        self, queues: Sequence[str], tenants: Sequence[str], cap: int
    ) -> tuple[list[Depth], list[Depth]]:
        """Count the ready tasks that wait, by queue and by tenant."""
        ...

    async def queues_with_work(self) -> list[str]:
        """Return the queues that have a ready task."""
        ...

    async def sessions(self, *, live: bool = True) -> list[Session]:
        """Return the workers' sessions, newest first; all of them unless only the live ones."""
        ...

    async def open_session(self, session: Session) -> None:
        """Register a worker."""
        ...

    async def claim(
        self,
        session_id: str,
        queues: Sequence[str],
        slots: int,
        avoid: Sequence[str],
        *,
        spare: int = 0,
    ) -> Claim:
        """Hand out at most `slots` tasks of these queues, fairly (R7.1-R7.5).

        `spare` of the slots are for tasks that will wait in the worker's buffer; lanes under a
        limit are not taken for those, so that what a limit lets through runs at once.
        """
        ...

    async def claim_numbered(
        self,
        session_id: str,
        numbered: Numbered,
        queues: Sequence[str],
        slots: int,
        avoid: Sequence[str],
        *,
        spare: int = 0,
        tenant: str | None = None,
    ) -> Claim:
        """Claim under a number that takes once, tasks of one `tenant` alone if one is given.

        `ClaimSuperseded` if the number is not new, or the claim is over; `SessionGone` if its
        session is. May be called again with the same `numbered` while the claim goes on.
        """
        ...

    async def held(self, session_id: str) -> list[Claimed]:
        """Return what the session holds."""
        ...

    async def finish(self, session_id: str, reports: Sequence[Report]) -> list[bool]:
        """Carry out the reports; say for each whether the session still held the task (R3.2)."""
        ...

    async def note(self, session_id: str, notes: Sequence[Note]) -> list[bool]:
        """Keep progress and checkpoints; False under an old fence (R3.5)."""
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

    async def wake(self) -> None:
        """Tell sleeping nodes to look, for callers that have committed by themselves; a hint."""
        ...

    async def stage(self) -> Staged:
        """Make due tasks ready; says when the next one is due."""
        ...

    async def admit(self) -> Admitted:
        """Let in what waits at gates that have room.

        `finish` and `stage` do so by themselves; this finds what a crash or another way out left.
        """
        ...

    async def fire(self) -> Fired:
        """Decide the slots that have come; says when the next one will (R6.4)."""
        ...

    async def replan(self) -> int:
        """Work out anew the next slots that were found with other time zone data (R6.2)."""
        ...

    async def reap(self) -> int:
        """Take back what lost workers held; returns how many tasks."""
        ...

    async def sweep(self) -> int:
        """Cancel what has expired or was to stop and did not; returns how many tasks (R5.2)."""
        ...

    async def prune(self) -> int:
        """Drop old history; returns how many rows."""
        ...
