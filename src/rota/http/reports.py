"""What a worker reports, as it goes to a server, and what the server makes of it (R8.4)."""

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType

from rota.backend import Report
from rota.config import SECOND
from rota.errors import StoreError
from rota.model import Micros, Note
from rota.policy.lifecycle import (
    Cancelled,
    Completed,
    Expired,
    Failed,
    Released,
    Snoozed,
    TimedOut,
)
from rota.policy.retry import Backoff
from rota.times import show_instant

_LAST: Micros = 253_402_300_799 * SECOND
"""The last second that a date can be written of."""


class Item(Struct, frozen=True, omit_defaults=True, gc=False):
    """How a task ended; see `rota.server.reports` for what goes with which outcome."""

    id: str
    fence: int
    outcome: str
    result: Raw | UnsetType = UNSET
    error: dict[str, str] | None = None
    permanent: bool = False
    retry_after: float | None = None
    retry_least: float | None = None
    until: str | None = None
    reason: str = ""
    retry: Backoff | None = None
    keep: bool = True
    seconds: float | None = None


class Said(Struct, frozen=True, gc=False):
    """A verdict as a client takes it: one that it does not know is final as well."""

    id: str
    verdict: str
    problem: str | None = None


class Verdicts(Struct, frozen=True):
    """The verdicts on a report, in the order of its items."""

    items: list[Said]


def ended(report: Report) -> Item:
    """Return how a task ended, as a server is told; `StoreError` if that cannot be said."""
    task, ending = report.task, report.ending
    match ending:
        case Completed(result):
            made = UNSET if result is None else Raw(result)
            return Item(
                task.id, task.fence, "completed", made, keep=report.keep, seconds=report.seconds
            )
        case Failed(error, permanent, after, least):
            more: dict[str, Any] = {"permanent": permanent, "error": _told(error)}
            if after is not None:
                more["retry_after"] = after / SECOND
            if least is not None:
                more["retry_least"] = least / SECOND
            outcome = "failed"
        case TimedOut(error):
            outcome, more = "timed_out", {"error": _told(error)}
        case Snoozed(until):
            outcome, more = "snooze", {"until": show_instant(min(max(until, 0), _LAST))}
        case Cancelled(reason):
            outcome, more = "cancelled", {"reason": reason}
        case Released():
            outcome, more = "released", {}
        case Expired():
            outcome, more = "expired", {}
        case _:
            raise StoreError(f"a worker cannot report {type(ending).__name__}")
    return Item(task.id, task.fence, outcome, retry=report.backoff, seconds=report.seconds, **more)


def _told(error: Any) -> dict[str, str]:
    return {"type": error.type, "message": error.message, "traceback": error.traceback}


def noted(note: Note) -> dict[str, Any]:
    """Return what a run noted, as a server is told."""
    item: dict[str, Any] = {"id": note.id, "fence": note.fence}
    if note.done is not None:
        item["done"] = note.done
    if note.total is not None:
        item["total"] = note.total
    if note.checkpoint is not None:
        item["checkpoint"] = Raw(note.checkpoint)
    return item
