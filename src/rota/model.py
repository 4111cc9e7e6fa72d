"""The values that Rota is made of: tasks, lanes, sessions and what may become of them.

All are frozen. Instants and durations are whole microseconds (`Micros`, see `rota.clock`), and
payloads, results and errors are JSON text that has been checked already. Those that come by the
thousand are left out of garbage collection (`gc=False`): they hold nothing that could hold them.
"""

from enum import IntEnum, StrEnum
from typing import Any

from msgspec import Struct, field

from rota.config import LEVEL

Micros = int


class State(StrEnum):
    """Where a task is in its life; the store keeps it by the table that the task lies in."""

    SCHEDULED = "scheduled"
    READY = "ready"
    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def final(self) -> bool:
        """Say whether a task in this state is over; `failed` is not: it can be retried."""
        return self in (State.COMPLETED, State.CANCELLED)


class PriorityClass(IntEnum):
    """The four classes that share capacity by weight (R7.1)."""

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3

    @classmethod
    def of(cls, priority: int) -> "PriorityClass":
        """Return the class of a priority: 0, 1-3, 4-6, 7-10.

        >>> PriorityClass.of(5).name
        'NORMAL'
        """
        return _CLASS_OF_PRIORITY[priority]


_CLASS_OF_PRIORITY = [PriorityClass(c) for c in (0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3)]


def rank_of(run_at: Micros, priority: int, aging: Micros = LEVEL) -> Micros:
    """Return a task's place in its lane: waiting for `aging` is worth one level (R7.2)."""
    return run_at + priority * aging


class NewTask(Struct, frozen=True, gc=False):
    """A task that has been checked and is about to be stored (R1.1).

    `retry` is the task's own retry policy as JSON, or None for that of its kind. `key_until` is
    when `key` stops returning this task once the task is over. With a `concurrency_key` it waits,
    due or not, until fewer than `max_concurrency` tasks with that key are ready or running. A task
    that a schedule made says which schedule and for which of its slots.
    """

    id: str
    kind: str
    payload: str
    queue: str
    tenant: str
    priority: int
    run_at: Micros
    rank: Micros
    created_at: Micros
    timeout: Micros | None = None
    retry: str | None = None
    expires_at: Micros | None = None
    key: str | None = None
    key_until: Micros | None = None
    tags: tuple[str, ...] = ()
    headers: str | None = None
    concurrency_key: str | None = None
    max_concurrency: int | None = None
    schedule: str | None = None
    slot: Micros | None = None


class Accepted(Struct, frozen=True, gc=False):
    """The answer to a submit: the task's id, and whether this call made it (R1.4)."""

    id: str
    created: bool = True


class Lane(Struct, frozen=True, gc=False):
    """A line of ready tasks inside which order is by rank."""

    queue: str
    cls: PriorityClass
    tenant: str


class Look(Struct, frozen=True, gc=False):
    """Where to look for lanes: from `after` onward among one class of one queue, then round.

    `after` None means from the first tenant; `inclusive` lets the tenant `after` itself come first.
    """

    queue: str
    cls: PriorityClass
    after: str | None = None
    inclusive: bool = False


class Share(Struct, frozen=True, gc=False):
    """How many tasks a claim may take from a lane; `limits` are the ids of those it falls under."""

    lane: Lane
    count: int
    limits: tuple[str, ...] = ()


class Lanes(Struct, frozen=True):
    """The lanes that have work, and the version of the settings at that moment."""

    lanes: list[Lane]
    version: int


class Claimed(Struct, frozen=True, gc=False):
    """A task as it is handed out to a session: `attempt` and `fence` count this hand-out.

    `checkpoint` is what an earlier run of it left, as JSON.
    """

    id: str
    fence: int
    attempt: int
    lost: int
    snoozes: int
    kind: str
    queue: str
    tenant: str
    priority: int
    run_at: Micros
    created_at: Micros
    payload: str
    timeout: Micros | None = None
    retry: str | None = None
    expires_at: Micros | None = None
    headers: str | None = None
    checkpoint: str | None = None
    concurrency_key: str | None = None
    schedule: str | None = None
    slot: Micros | None = None


class Transition(Struct, frozen=True, gc=False):
    """What shall become of a task that a session holds under `fence`.

    `to` is one of scheduled, ready, completed, cancelled, failed. The counters are those that the
    task has afterwards; for completed and cancelled they are left as they are. `error` is one
    entry to be added to the task's errors, `result` what the handler returned, both JSON. `group`,
    `error_type` and `error_shape` go with `failed` and say which dead letters are alike (R4.4). A
    task that ends with `keep` False leaves no row, only its count.
    """

    id: str
    fence: int
    to: State
    run_at: Micros = 0
    rank: Micros = 0
    attempt: int = 0
    lost: int = 0
    snoozes: int = 0
    error: str | None = None
    result: str | None = None
    reason: str | None = None
    group: str | None = None
    error_type: str | None = None
    error_shape: str | None = None
    keep: bool = True


class Note(Struct, frozen=True):
    """What a handler said while it runs: progress and a checkpoint (JSON); None is unchanged."""

    id: str
    fence: int
    done: int | None = None
    total: int | None = None
    checkpoint: str | None = None


class CancelRequest(Struct, frozen=True):
    """A running task that is asked to stop; by `deadline`, if there is one, it will be stopped."""

    id: str
    fence: int
    deadline: Micros | None = None


class Beat(Struct, frozen=True):
    """The answer to a heartbeat: whether the session lives, and what it is asked to do.

    `cancels` are the tasks that are asked to stop; with `drain` the worker is to end in good order.
    """

    alive: bool
    cancels: tuple[CancelRequest, ...] = ()
    drain: bool = False


class Staged(Struct, frozen=True):
    """What a stage step moved, and the earliest run time that is left (None: nothing waits)."""

    moved: int
    next_at: Micros | None = None


class Session(Struct, frozen=True):
    """A worker process's registration; one renewal covers every task that it holds (R3.1).

    `process` says which process of which machine it is, so that its neighbours can see its death
    (see `rota.node.neighbours`); "" where that cannot be known. `owner` is the id of the key by
    which it came through a server, "" where it reaches the store directly. `drain_at` is when it
    was asked to end in good order, `heard_at` when it last renewed its lease: the store writes it,
    and it is 0 if a process of an older version opened the session.
    """

    id: str
    name: str
    host: str
    pid: int
    version: str
    queues: tuple[str, ...]
    kinds: tuple[str, ...]
    slots: int
    started_at: Micros
    lease_until: Micros
    closed_at: Micros | None = None
    process: str = ""
    owner: str = ""
    drain_at: Micros | None = None
    heard_at: Micros = 0


class AttemptError(Struct, frozen=True, omit_defaults=True):
    """One failed attempt: what was raised, cleaned and bounded, as text only (case B136)."""

    at: Micros
    attempt: int
    type: str
    message: str
    traceback: str = ""
    session: str = ""


class Progress(Struct, frozen=True):
    """How far a handler says that it is."""

    done: int
    total: int | None = None


class Task(Struct, frozen=True, kw_only=True):
    """A task as it is read back, wherever it lies; what does not apply is None or empty."""

    id: str
    kind: str
    queue: str
    tenant: str
    priority: int
    state: State
    payload: Any
    created_at: Micros
    run_at: Micros
    started_at: Micros | None = None
    finished_at: Micros | None = None
    expires_at: Micros | None = None
    timeout: Micros | None = None
    retry: dict[str, Any] | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    concurrency_key: str | None = None
    max_concurrency: int | None = None
    at_gate: bool = False
    schedule: str | None = None
    slot: Micros | None = None
    attempt: int = 0
    fence: int = 0
    lost: int = 0
    snoozes: int = 0
    session: str | None = None
    result: Any = None
    errors: tuple[AttemptError, ...] = ()
    reason: str | None = None
    cancel_requested_at: Micros | None = None
    progress: Progress | None = None
    checkpoint: Any = None
    group: str | None = None
    replay_of: str | None = None
    replayed_as: str | None = None
    discarded_at: Micros | None = None
    discard_reason: str | None = None

    @property
    def priority_class(self) -> PriorityClass:
        """The class that the task's priority belongs to."""
        return PriorityClass.of(self.priority)


class TaskFilter(Struct, frozen=True, kw_only=True):
    """Which tasks to read; every field that is set must match.

    Of several states, queues, kinds or tenants one must; an empty tuple of the latter three matches
    nothing. `id_or_key` is the beginning of one of them, `payload` has pairs of a path
    (`student.id`) and the JSON scalar that is there.
    """

    states: tuple[State, ...] = ()
    queue: str | None = None
    kind: str | None = None
    tenant: str | None = None
    tag: str | None = None
    key: str | None = None
    concurrency_key: str | None = None
    schedule: str | None = None
    id_prefix: str | None = None
    group: str | None = None
    error_type: str | None = None
    created_from: Micros | None = None
    created_to: Micros | None = None
    queues: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    tenants: tuple[str, ...] | None = None
    session: str | None = None
    run_from: Micros | None = None
    run_to: Micros | None = None
    finished_from: Micros | None = None
    finished_to: Micros | None = None
    id_or_key: str | None = None
    payload: tuple[tuple[str, str], ...] = ()
    discarded: bool = False
    """Among the failed: those that were discarded, instead of those that were not."""


class DeadLetterGroup(Struct, frozen=True):
    """Dead letters that failed alike (R4.4); `sample` is the id of the newest.

    `reason` is that of the newest. `by_tenant` counts whose the newest 1,000 are, the 20 largest;
    `by_hour` those that failed in the last day, by when the hour began.
    """

    id: str
    kind: str
    error_type: str
    shape: str
    count: int
    first_at: Micros
    last_at: Micros
    sample: str
    reason: str | None = None
    by_tenant: dict[str, int] = {}
    by_hour: dict[Micros, int] = {}


class Retention(Struct, frozen=True):
    """How long what is over is kept; `queues` has the exceptions (R9.5)."""

    completed: Micros
    cancelled: Micros
    failed: Micros
    discarded: Micros
    queues: dict[str, Micros] = {}


class CancelOutcome(StrEnum):
    """The answer to a cancel (R5.1).

    `completed`: it will not run (any more). `accepted`: it runs, and is asked to stop. `too_late`:
    it was over already.
    """

    COMPLETED = "completed"
    ACCEPTED = "accepted"
    TOO_LATE = "too_late"
    NOT_FOUND = "not_found"


class RetryOutcome(StrEnum):
    """The answer to a retry: done, or why not."""

    COMPLETED = "completed"
    NOT_RETRYABLE = "not_retryable"
    NOT_FOUND = "not_found"
