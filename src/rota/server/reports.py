"""What remote workers report, as they write it: how tasks ended, and how far they are (R8.4)."""

from typing import Annotated

from msgspec import UNSET, Meta, Raw, UnsetType

from rota.http.wire import FINISH_MOST, NUMBER_MOST, Outcome
from rota.server.route import In
from rota.server.submissions import RetryIn

Fence = Annotated[int, Meta(ge=0, le=NUMBER_MOST)]
Id = Annotated[str, Meta(max_length=64)]
Count = Annotated[int, Meta(ge=0, le=NUMBER_MOST)]


class ErrorIn(In, frozen=True, gc=False):
    """What an attempt failed of; long texts keep their beginning and end."""

    type: str
    message: str = ""
    traceback: str = ""


class FinishItem(In, frozen=True, gc=False):
    """How a task ended; the server decides what becomes of it.

    `error` goes with failed and timed_out; `permanent`, `retry_after` seconds in place of the
    policy's wait, or `retry_least` seconds that this is at least, with failed;
    `until` or `after` with snooze; `reason` with cancelled. `retry` is the policy of the kind where
    the task has none of its own. With `keep` false a task that completes leaves only its count.
    `seconds` is how long it ran.
    """

    id: Id
    fence: Fence
    outcome: Outcome
    result: Raw | UnsetType = UNSET
    error: ErrorIn | None = None
    permanent: bool = False
    retry_after: float | str | None = None
    retry_least: float | str | None = None
    until: str | None = None
    after: float | str | None = None
    reason: str = ""
    retry: RetryIn | None = None
    keep: bool = True
    seconds: Annotated[float, Meta(ge=0)] | None = None


class FinishIn(In, frozen=True):
    """A report of many tasks."""

    items: Annotated[list[FinishItem], Meta(max_length=FINISH_MOST)]


class NoteItem(In, frozen=True, gc=False):
    """How far a task is, and what a later run of it may go on from."""

    id: Id
    fence: Fence
    done: Count | None = None
    total: Count | None = None
    checkpoint: Raw | UnsetType = UNSET


class ProgressIn(In, frozen=True):
    """Notes of many tasks; durable when answered."""

    items: Annotated[list[NoteItem], Meta(max_length=FINISH_MOST)]
