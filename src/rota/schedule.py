"""The values that recurring work is made of: schedules, their slots and what became of each.

All are frozen. Instants and durations are whole microseconds (`Micros`). A slot is one instant of a
schedule; a schedule decides each of its slots once: it makes one task of it, or it says why not.
"""

from enum import StrEnum

from msgspec import Struct

from rota.config import CATCH_UP, CATCH_UP_AGE, MISSED_AFTER
from rota.model import Micros, NewTask, State


class Gap(StrEnum):
    """What becomes of a local time that does not exist because the clocks go forward (R6.3)."""

    RUN_AFTER = "run_after"
    SKIP = "skip"


class Fold(StrEnum):
    """Which pass runs of a local time that exists twice because the clocks go back (R6.3)."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


class Missed(StrEnum):
    """What becomes of slots that nobody was there to fire (R6.5)."""

    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"
    SKIP = "skip"


class Overlap(StrEnum):
    """What becomes of a slot while an earlier run of the schedule is not over (R6.6)."""

    SKIP = "skip"
    COALESCE = "coalesce"
    QUEUE = "queue"
    CANCEL_PREVIOUS = "cancel_previous"
    ALLOW = "allow"


class SlotState(StrEnum):
    """What became of a slot: a task, or the reason why there is none."""

    FIRED = "fired"
    MISSED = "skipped:missed"
    OVERLAP = "skipped:overlap"
    GAP = "skipped:gap"
    PAUSED = "skipped:paused"


class Rule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When a schedule has slots: a cron expression in a zone, or a fixed interval (R6.1, R6.2).

    Exactly one of `expression` and `every` is set. With `seconds` the expression has a leading
    field for them. With `both_days` a day has to match both day fields where both are restricted;
    else one of them is enough (rule P4). The slots of an interval are `anchor + n * every`; it
    follows real time in any zone. Slots lie in `starts_at <= slot < ends_at`.
    """

    expression: str | None = None
    every: Micros | None = None
    anchor: Micros = 0
    tz: str = "UTC"
    seconds: bool = False
    both_days: bool = False
    gap: Gap = Gap.RUN_AFTER
    fold: Fold = Fold.FIRST
    starts_at: Micros | None = None
    ends_at: Micros | None = None


class Policy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a schedule does with slots that come late, in each other's way, or all at once.

    A slot is missed if it could not be fired within `grace`. Of missed ones at most `max_catchup`
    run, none older than `max_age`. With `overlap` "queue" at most `max_pending` runs wait. `jitter`
    is the most that tasks start after their slot, always the same for one schedule (R6.7). After
    `max_runs` tasks the schedule is over.
    """

    missed: Missed = Missed.RUN_ONCE
    grace: Micros = MISSED_AFTER
    max_catchup: int = CATCH_UP
    max_age: Micros = CATCH_UP_AGE
    overlap: Overlap = Overlap.SKIP
    max_pending: int = 1
    jitter: Micros = 0
    max_runs: int | None = None


class Work(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The task that a slot becomes; `payload`, `retry` and `headers` are JSON as in `NewTask`.

    `expires_in` counts from the instant at which the task should start. `concurrency_key` is the
    gate that the runs share; the schedule's own unless it may overlap itself or names another.
    """

    kind: str
    payload: str
    queue: str
    tenant: str = ""
    priority: int
    timeout: Micros | None = None
    retry: str | None = None
    expires_in: Micros | None = None
    tags: tuple[str, ...] = ()
    headers: str | None = None
    concurrency_key: str | None = None
    max_concurrency: int = 1


class Schedule(Struct, frozen=True, kw_only=True):
    """A recurring rule, what it makes, and how far it has come (R6).

    `source` says where it was declared: `code:<app>`, `crontab:<file>`, or "" for one that was made
    at run time. `version` grows with each change of what it says. All slots up to `cursor` have
    been decided; `next_slot` is the first one after it that policy may run and `next_at` when that
    is to be fired (slot plus jitter), both None when there is none left. `tz_data` is the version
    of the time zone data that they were worked out with. `problem` says why this version of Rota
    cannot read it, if it cannot: then `rule`, `policy` and `work` stand for nothing (case B085).
    """

    id: str
    name: str
    rule: Rule
    policy: Policy
    work: Work
    source: str = ""
    version: int = 1
    created_at: Micros
    updated_at: Micros
    cursor: Micros
    next_slot: Micros | None = None
    next_at: Micros | None = None
    tz_data: str = ""
    paused_at: Micros | None = None
    pause_reason: str | None = None
    last_slot: Micros | None = None
    last_fired_at: Micros | None = None
    fired: int = 0
    skipped: int = 0
    problem: str | None = None


class Due(Struct, frozen=True):
    """A schedule whose next slot has come, and how many of its tasks are not over yet."""

    schedule: Schedule
    live: int


class Skip(Struct, frozen=True):
    """Slots from `first` to `last`, both included, that became no tasks; `count` is None if there
    are too many to count.
    """

    first: Micros
    last: Micros
    count: int | None
    state: SlotState


class Run(Struct, frozen=True):
    """The slot that a task was made of, and the task."""

    slot: Micros
    task: NewTask


class Firing(Struct, frozen=True, kw_only=True):
    """What shall become of a schedule that still has this `version` and this `cursor`.

    With `cancel_previous` its tasks that are not over are cancelled, or asked to stop if they run.
    `tz_data` is the version of the time zone data that the next slot was worked out with.
    """

    schedule_id: str
    version: int
    cursor: Micros
    runs: tuple[Run, ...] = ()
    skips: tuple[Skip, ...] = ()
    new_cursor: Micros
    next_slot: Micros | None
    next_at: Micros | None
    tz_data: str = ""
    cancel_previous: bool = False


class Fired(Struct, frozen=True):
    """What a fire step did: tasks made, slots skipped, and when the next step is due."""

    made: int
    skipped: int
    next_at: Micros | None = None


class Slot(Struct, frozen=True):
    """What became of one slot, or of `count` of them from `slot` to `last`; as it is read back."""

    slot: Micros
    state: SlotState
    at: Micros
    task_id: str | None = None
    backfilled: bool = False
    last: Micros | None = None
    count: int | None = 1


class SlotRun(Struct, frozen=True):
    """What became of one slot and, as long as its task is kept, of that task.

    `started_at` is the start of the latest of `attempt` attempts.
    """

    slot: Slot
    state: State | None = None
    attempt: int = 0
    started_at: Micros | None = None
    finished_at: Micros | None = None


class ScheduleFilter(Struct, frozen=True, kw_only=True):
    """Which schedules to read; every field that is set must match."""

    source: str | None = None
    kind: str | None = None
    tenant: str | None = None
    paused: bool | None = None


class GateUse(Struct, frozen=True):
    """How many tasks are inside a gate (ready or running) and how many are due and wait at it."""

    inside: int
    waiting: int


class Admitted(Struct, frozen=True):
    """How many tasks a step let in, whether any still wait, and whether there are more gates."""

    moved: int
    waiting: bool = False
    more: bool = False
