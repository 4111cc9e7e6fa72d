"""Tasks as the JSON that every outward face shows: the command line, HTTP and the dashboard alike.

Instants are text in UTC, durations are seconds, and every field is there: null if it does not
apply. Only the summary leaves the large ones out.
"""

from typing import Any

from rota.clock import Micros
from rota.config import SECOND
from rota.model import AttemptError, Task
from rota.times import show_instant

HEAVY = ("payload", "headers", "result", "errors")
"""What a summary leaves out, so that a page of tasks stays small."""


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
    }


def summary(task: Task) -> dict[str, Any]:
    """Return a task without its payload, headers, result and errors."""
    return {name: value for name, value in full(task).items() if name not in HEAVY}


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
