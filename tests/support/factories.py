"""Makes tasks, sessions and transitions whose every field has a readable default."""

from typing import Any

import msgspec

from rota.clock import Ids, new_rng
from rota.config import DAY, HOUR, LEASE, MINUTE, SECOND
from rota.model import (
    AttemptError,
    Claimed,
    Lane,
    Micros,
    NewTask,
    PriorityClass,
    Retention,
    Session,
    State,
    Transition,
    rank_of,
)

NOW: Micros = 1_800_000_000 * SECOND
"""When every test begins."""
LATER: Micros = NOW + HOUR

LANE = Lane("default", PriorityClass.NORMAL, "")
"""The lane of a task that is made without a wish."""


class Make:
    """Makes what tests need; the same things in every run of a test."""

    def __init__(self, seed: int = 1) -> None:
        self._ids = Ids(new_rng(seed))

    def id(self) -> str:
        """An id that nothing has yet; later ones are greater."""
        return self._ids.new(NOW)

    def task(self, *, run_at: Micros = NOW, priority: int = 5, **fields: Any) -> NewTask:
        """A task that is due now unless `run_at` says otherwise."""
        defaults: dict[str, Any] = {
            "id": self.id(),
            "kind": "send_result",
            "payload": '{"student_id":1}',
            "queue": LANE.queue,
            "tenant": LANE.tenant,
            "rank": rank_of(run_at, priority),
            "created_at": NOW,
        }
        return NewTask(run_at=run_at, priority=priority, **defaults | fields)

    def tasks(self, count: int, **fields: Any) -> list[NewTask]:
        """Many tasks alike; their ids rise."""
        return [self.task(**fields) for _ in range(count)]

    def keyed(self, key: str, *, until: Micros = LATER, **fields: Any) -> NewTask:
        """A task with a key that is held until `until` or longer."""
        return self.task(key=key, key_until=until, **fields)

    def session(self, **fields: Any) -> Session:
        """A session that started now and has just renewed its lease."""
        defaults: dict[str, Any] = {
            "id": self.id(),
            "name": "worker-1",
            "host": "node-1",
            "pid": 4711,
            "version": "0.1.0",
            "queues": ("default",),
            "kinds": ("send_result",),
            "slots": 10,
            "started_at": NOW,
            "lease_until": NOW + LEASE,
            "heard_at": fields.get("started_at", NOW),
        }
        return Session(**defaults | fields)


def lane_of(task: NewTask) -> Lane:
    """The lane that the task stands in once it is ready."""
    return Lane(task.queue, PriorityClass.of(task.priority), task.tenant)


def completed(task: Claimed, result: str | None = None, *, keep: bool = True) -> Transition:
    """The handler returned."""
    return Transition(task.id, task.fence, State.COMPLETED, result=result, keep=keep)


def cancelled(task: Claimed, reason: str = "no longer wanted") -> Transition:
    """The handler found that the work is no longer wanted."""
    return Transition(task.id, task.fence, State.CANCELLED, reason=reason)


def failed(
    task: Claimed, error: str | None = None, reason: str = "5 of 5 attempts", **fields: Any
) -> Transition:
    """No attempt is left."""
    alike = {
        "group": "2b9f1c07d3aa",
        "error_type": "ConnectionError",
        "error_shape": "no route to the gateway",
    }
    return _counted(task, State.FAILED, error=error, reason=reason, **alike | fields)


def again(
    task: Claimed, at: Micros = NOW + MINUTE, error: str | None = None, **fields: Any
) -> Transition:
    """Another attempt at `at`."""
    return _counted(task, State.SCHEDULED, at=at, error=error, **fields)


def lost(task: Claimed, at: Micros = NOW) -> Transition:
    """The session's lease ran out: the task is ready again and the lost lease is counted."""
    return _counted(task, State.READY, at=at, lost=task.lost + 1)


def handed_back(task: Claimed, at: Micros = NOW) -> Transition:
    """The worker shuts down and spends no attempt."""
    return _counted(task, State.READY, at=at, attempt=task.attempt - 1)


def _counted(task: Claimed, to: State, at: Micros = NOW, **fields: Any) -> Transition:
    counters = {"attempt": task.attempt, "lost": task.lost, "snoozes": task.snoozes}
    defaults = {"run_at": at, "rank": rank_of(at, task.priority)}
    return Transition(task.id, task.fence, to, **counters | defaults | fields)


def error(attempt: int = 1, at: Micros = NOW, message: str = "no route to the gateway") -> str:
    """One failed attempt as JSON, the way a transition carries it."""
    found = AttemptError(at, attempt, "ConnectionError", message, traceback="in send_result")
    return msgspec.json.encode(found).decode()


def kept(
    span: Micros,
    *,
    cancelled: Micros | None = None,
    failed: Micros = 10_000 * DAY,
    discarded: Micros = 10_000 * DAY,
    **queues: Micros,
) -> Retention:
    """Finished tasks are kept for a time, dead letters for ever unless told otherwise."""
    return Retention(span, span if cancelled is None else cancelled, failed, discarded, queues)
