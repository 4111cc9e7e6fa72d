"""What is answered of schedules and their slots."""

from typing import Any

from msgspec import Struct

from rota.model import State
from rota.policy.retry import Growth
from rota.schedule import Fold, Gap, Missed, Overlap, SlotState


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often and after how many seconds a failed attempt is made again."""

    type: Growth
    base: float
    multiplier: float
    cap: float
    jitter: float
    max_attempts: int


class ScheduleSummary(Struct, frozen=True, kw_only=True):
    """A schedule; durations are seconds. `problem` says why it cannot be read, if it cannot."""

    id: str
    name: str
    source: str
    expression: str | None
    every: float | None
    anchor: str | None
    tz: str
    seconds: bool
    both_days: bool
    gap: Gap
    fold: Fold
    starts_at: str | None
    ends_at: str | None
    missed: Missed
    grace: float
    max_catchup: int
    max_age: float
    overlap: Overlap
    max_pending: int | None
    jitter: float
    max_runs: int | None
    kind: str
    payload: dict[str, Any]
    queue: str
    tenant: str
    priority: int
    timeout: float | None
    retry: RetryPolicy | None
    expires_in: float | None
    tags: list[str]
    headers: dict[str, str]
    concurrency_key: str | None
    max_concurrency: int | None
    version: int
    created_at: str
    updated_at: str
    next_slot: str | None
    next_at: str | None
    paused: bool
    paused_at: str | None
    pause_reason: str | None
    last_slot: str | None
    last_fired_at: str | None
    fired: int
    skipped: int
    tz_data: str
    problem: str | None


class Schedule(ScheduleSummary, frozen=True, kw_only=True):
    """A schedule, and when it runs in words."""

    words: str | None


class ListedSchedule(Schedule, frozen=True, kw_only=True):
    """A schedule in a list; with view=runs also in words, and its newest slots."""

    runs: "list[Slot] | None"


class SchedulePage(Struct, frozen=True):
    """Schedules by name."""

    items: list[ListedSchedule]
    next: str | None
    as_of: str


class Occurrence(Struct, frozen=True, kw_only=True):
    """A slot that is to come: the instant, the local time, and what is surprising about it."""

    slot: str
    utc: str
    local: str
    notes: list[str]


class Preview(Struct, frozen=True):
    """The next slots, and the rule in words."""

    words: str
    items: list[Occurrence]
    next: str | None
    as_of: str


class Slot(Struct, frozen=True, kw_only=True):
    """What became of a slot, or of `count` of them up to `last`; `count` null is too many.

    Of its task, as long as that is kept: the state, when the latest attempt started, when it was
    over, and how many seconds it ran. `late_s` is how late it was made or first started.
    """

    slot: str
    last: str | None
    count: int | None
    state: SlotState
    at: str
    task: str | None
    backfilled: bool
    task_state: State | None
    attempt: int
    started_at: str | None
    finished_at: str | None
    late_s: float | None
    ran_s: float | None


class SlotPage(Struct, frozen=True):
    """Slots, the newest first."""

    items: list[Slot]
    next: str | None
    as_of: str


class Made(Struct, frozen=True):
    """A task that was made."""

    id: str
    created: bool


class BackfillReport(Struct, frozen=True):
    """How many slots lie in the range, how many became tasks, how many had one already."""

    slots: int
    made: int
    existing: int
    dry_run: bool
