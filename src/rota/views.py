"""Tasks as the JSON that every outward face shows: the command line, HTTP and the dashboard alike.

Instants are text in UTC, durations are seconds, and every field is there: null if it does not
apply. Only the summary leaves the large ones out.
"""

from typing import Any

import msgspec
from msgspec import Struct

from rota.clock import Micros, born
from rota.config import SECOND
from rota.model import AttemptError, DeadLetterGroup, Task
from rota.times import show_instant

HEAVY = ("payload", "headers", "result", "errors", "checkpoint")
"""What a summary leaves out, so that a page of tasks stays small."""


class Moment(Struct, frozen=True):
    """Something that happened to a task, or will: `what` is a word, `detail` the rest of it."""

    at: Micros
    what: str
    detail: str = ""


def full(task: Task) -> dict[str, Any]:
    """Return everything that is known of a task."""
    return {
        "id": task.id,
        "kind": task.kind,
        "queue": task.queue,
        "tenant": task.tenant,
        "priority": task.priority,
        "class": task.priority_class.name.lower(),
        "state": task.state.value,
        "payload": task.payload,
        "key": task.key,
        "tags": list(task.tags),
        "headers": task.headers,
        "created_at": show_instant(task.created_at),
        "run_at": show_instant(task.run_at),
        "expires_at": _instant(task.expires_at),
        "started_at": _instant(task.started_at),
        "finished_at": _instant(task.finished_at),
        "timeout": seconds(task.timeout),
        "retry": task.retry,
        "attempt": task.attempt,
        "fence": task.fence,
        "lost_leases": task.lost,
        "snoozes": task.snoozes,
        "session": task.session,
        "result": task.result,
        "errors": [attempt_error(error) for error in task.errors],
        "reason": task.reason,
        "cancel_requested": task.cancel_requested_at is not None,
        "cancel_requested_at": _instant(task.cancel_requested_at),
        "progress": None if task.progress is None else msgspec.to_builtins(task.progress),
        "checkpoint": task.checkpoint,
        "error_group": task.group,
        "replay_of": task.replay_of,
        "replayed_as": task.replayed_as,
        "discarded_at": _instant(task.discarded_at),
        "discard_reason": task.discard_reason,
    }


def summary(task: Task) -> dict[str, Any]:
    """Return a task without its payload, headers, result and errors."""
    return {name: value for name, value in full(task).items() if name not in HEAVY}


def timeline(task: Task) -> list[Moment]:
    """Return what happened to a task in order, as far as it is kept (R9.1).

    The starts of earlier attempts are not kept, their errors are.
    """
    moments = [
        Moment(
            task.created_at, "submitted", f"replay of {task.replay_of}" if task.replay_of else ""
        )
    ]
    if task.run_at > task.created_at:
        moments.append(Moment(task.run_at, "due"))
    if task.started_at is not None:
        moments.append(Moment(task.started_at, "started", f"attempt {task.attempt}"))
    moments += [
        Moment(error.at, "attempt failed", f"attempt {error.attempt}: {error.type}")
        for error in task.errors
    ]
    if task.cancel_requested_at is not None:
        moments.append(Moment(task.cancel_requested_at, "asked to stop"))
    if task.finished_at is not None:
        moments.append(Moment(task.finished_at, task.state.value, task.reason or ""))
    if task.replayed_as is not None:
        moments.append(Moment(born(task.replayed_as), "replayed", f"as {task.replayed_as}"))
    if task.discarded_at is not None:
        moments.append(Moment(task.discarded_at, "discarded", task.discard_reason or ""))
    # Stable: what happened in the same microsecond stays in the order of a task's life.
    return sorted(moments, key=lambda moment: moment.at)


def moment(happened: Moment) -> dict[str, Any]:
    """Return one entry of a timeline."""
    return {"at": show_instant(happened.at), "what": happened.what, "detail": happened.detail}


def group(alike: DeadLetterGroup) -> dict[str, Any]:
    """Return a group of dead letters that failed alike."""
    return {
        "group": alike.id,
        "kind": alike.kind,
        "error_type": alike.error_type,
        "shape": alike.shape,
        "count": alike.count,
        "first_at": show_instant(alike.first_at),
        "last_at": show_instant(alike.last_at),
        "sample": alike.sample,
    }


def attempt_error(error: AttemptError) -> dict[str, Any]:
    """Return what went wrong in one attempt."""
    return {
        "at": show_instant(error.at),
        "attempt": error.attempt,
        "type": error.type,
        "message": error.message,
        "traceback": error.traceback,
        "session": error.session or None,
    }


def seconds(length: Micros | None) -> float | None:
    """Return a duration in seconds, whole ones without a fraction.

    >>> seconds(30_000_000), seconds(250_000)
    (30, 0.25)
    """
    if length is None:
        return None
    return length / SECOND if length % SECOND else length // SECOND


def _instant(at: Micros | None) -> str | None:
    return None if at is None else show_instant(at)
