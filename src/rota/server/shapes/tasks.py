"""The shapes of tasks, of what happened to them and of why they are where they are."""

from typing import Any, Literal

from msgspec import Struct

from rota.model import Progress


class AttemptFailure(Struct, frozen=True):
    """What went wrong in one attempt."""

    at: str
    attempt: int
    type: str
    message: str
    traceback: str
    session: str | None


class TaskSummary(Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """A task without its payload, headers, result, errors and checkpoint.

    `state` is one of scheduled, ready, running, completed, cancelled, failed; there may be more.
    `masked` says that the key sees no contents.
    """

    id: str
    kind: str
    queue: str
    tenant: str
    priority: int
    class_: Literal["critical", "high", "normal", "low"]
    state: str
    key: str | None
    tags: list[str]
    concurrency_key: str | None
    max_concurrency: int | None
    at_gate: bool
    schedule: str | None
    slot: str | None
    created_at: str
    run_at: str
    expires_at: str | None
    started_at: str | None
    finished_at: str | None
    timeout: float | None
    retry: dict[str, Any] | None
    attempt: int
    fence: int
    lost_leases: int
    snoozes: int
    session: str | None
    reason: str | None
    cancel_requested: bool
    cancel_requested_at: str | None
    progress: Progress | None
    error_group: str | None
    replay_of: str | None
    replayed_as: str | None
    discarded_at: str | None
    discard_reason: str | None
    masked: bool


class Task(TaskSummary, frozen=True, kw_only=True, rename={"class_": "class"}):
    """Everything that is known of a task."""

    payload: Any
    headers: dict[str, str] | None
    result: Any
    errors: list[AttemptFailure] | None
    checkpoint: Any


class Happened(Struct, frozen=True):
    """Something that happened to a task, or will."""

    at: str
    what: str
    detail: str


class Timeline(Struct, frozen=True):
    """What happened to a task, in order."""

    items: list[Happened]
    as_of: str


class Attempts(Struct, frozen=True):
    """The attempts of a task that failed, as far as they are kept, and how many there were."""

    attempt: int
    lost_leases: int
    snoozes: int
    items: list[AttemptFailure]
    as_of: str


class Explanation(Struct, frozen=True):
    """Why a task is where it is: a sentence, and every reason with its code and numbers.

    `sentences` has one for each of the reasons, in their order.
    """

    task: str
    state: str
    as_of: str
    summary: str
    sentences: list[str]
    reasons: list[dict[str, Any]]


class StateCount(Struct, frozen=True):
    """How many tasks match, by state; where `capped` there are at least so many."""

    count: int
    capped: bool
    states: dict[str, int]
    as_of: str


class Cancelled(Struct, frozen=True):
    """What became of a cancel: it will not run, it was asked to stop, or it was over."""

    id: str
    outcome: Literal["completed", "accepted", "too_late"]
