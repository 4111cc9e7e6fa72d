"""What changes of tasks are made of: what is amended, and actions, which go on by themselves.

An action changes what a filter matches. It is a row that any node carries on, run by run, until it
is over or stopped (R5.3).
"""

from enum import StrEnum
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from rota.model import Micros, State, TaskFilter


class Changes(Struct, frozen=True, kw_only=True):
    """What is changed of tasks that wait; what is UNSET stays as it is (R5.4)."""

    priority: int | UnsetType = UNSET
    queue: str | UnsetType = UNSET
    run_at: Micros | UnsetType = UNSET
    timeout: Micros | UnsetType | None = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET


class Placed(Struct, frozen=True, gc=False):
    """Where a task waits: what its place in line follows from."""

    id: str
    queue: str
    priority: int
    run_at: Micros


class Moved(Struct, frozen=True, gc=False):
    """Where a task that waits shall wait instead, and the place at which it was seen."""

    was: Placed
    queue: str
    priority: int
    run_at: Micros
    rank: Micros


class AmendOutcome(StrEnum):
    """The answer to an amendment: done, or why not."""

    DONE = "done"
    NOT_WAITING = "not_waiting"
    NOT_FOUND = "not_found"


class DeleteOutcome(StrEnum):
    """The answer to a deletion: done, or why not."""

    DONE = "done"
    NOT_FINISHED = "not_finished"
    NOT_FOUND = "not_found"


class Found(Struct, frozen=True):
    """Ids that were found, newest first; `next_id` is where to look on, None at the end.

    There may be fewer than were asked for, or none, though there is more: a look is bounded.
    """

    ids: list[str]
    next_id: str | None = None


class Counted(Struct, frozen=True):
    """How many were counted by state; where not `whole` there are at least so many."""

    counts: dict[State, int]
    whole: bool = True


class Do(StrEnum):
    """What an action does."""

    CANCEL = "cancel"
    RETRY = "retry"
    AMEND = "amend"
    DELETE = "delete"
    REPLAY = "replay"
    DISCARD = "discard"
    RESTORE = "restore"


class On(StrEnum):
    """To what an action does it."""

    TASKS = "tasks"
    DEAD_LETTERS = "dead_letters"


class ActionState(StrEnum):
    """How far an action is; `stopped` was by a person, `failed` by an error that stays."""

    RUNNING = "running"
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"


class Action(Struct, frozen=True, kw_only=True):
    """A change of all that a filter matches, of what there was when it was begun.

    `tenant` and `queues` are how far whoever began it reaches, and so does the action. `after` is
    how far down it is: what has an id below is still to come; None is its own id. `done` counts
    what was looked at, `changed` what was changed, `skipped` the rest by the reason.
    """

    id: str
    do: Do
    on: On
    where: TaskFilter
    asked: dict[str, Any] = field(default_factory=dict)
    tenant: str | None = None
    queues: tuple[str, ...] | None = None
    set: Changes = Changes()
    deadline: Micros | None = None
    rate: float | None = None
    reason: str | None = None
    created_at: Micros
    created_by: str = ""
    matched: int = 0
    capped: bool = False
    sample: tuple[str, ...] = ()
    state: ActionState = ActionState.RUNNING
    after: str | None = None
    done: int = 0
    changed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    error: str | None = None
    next_at: Micros = 0
    ended_at: Micros | None = None
    hold: int = 0
    """Rises with each node that takes the action in hand; an older one changes nothing more."""

    @property
    def over(self) -> bool:
        """Say whether nothing more will be done."""
        return self.state is not ActionState.RUNNING


class Carried(Struct, frozen=True):
    """What a step of an action did, and when there is another one to do (None: nothing is left)."""

    changed: int = 0
    next_at: Micros | None = None
