"""Why a task is where it is: from facts to reasons, each with its numbers (R7.8).

Several reasons stand together. `in_turn` alone means that a task waits for nothing but its turn.
"""

from typing import Literal

from msgspec import Struct

from rota.model import Micros, Session, State, Task

Why = Literal["delay", "retry", "snooze", "again"]
"""What a task waits for its time after; `again` where it was both tried and snoozed."""


class Facts(Struct, frozen=True, kw_only=True):
    """What is known of a task and of who could run it.

    `sessions` are the live ones for a task that waits, all for one that runs. `ahead` counts up
    to `ahead_cap`.
    """

    now: Micros
    task: Task
    sessions: tuple[Session, ...] = ()
    ahead: int = 0
    ahead_cap: int = 0
    max_attempts: int | None = None


class NotDue(Struct, frozen=True, tag="not_due", tag_field="code"):
    """Its time has not come; after a failed attempt this is number `attempt` of `max_attempts`."""

    until: Micros
    why: Why
    attempt: int
    max_attempts: int | None


class InTurn(Struct, frozen=True, tag="in_turn", tag_field="code"):
    """It stands in its lane behind `ahead` others, or more where that is `capped`."""

    ahead: int
    capped: bool
    until: Micros | None = None


class NoWorker(Struct, frozen=True, tag="no_worker", tag_field="code"):
    """No live worker takes its queue and knows its kind; so many do one or the other."""

    queue: str
    kind: str
    workers: int
    taking_queue: int
    knowing_kind: int
    until: Micros | None = None


class Expired(Struct, frozen=True, tag="expired", tag_field="code"):
    """Its `expires_at` passed before it was started; it is cancelled, or is about to be."""

    expired_at: Micros | None
    until: Micros | None = None


class Cancelling(Struct, frozen=True, tag="cancelling", tag_field="code"):
    """It was asked to stop while it ran and came back; it is about to be cancelled."""

    requested_at: Micros
    until: Micros | None = None


class Running(Struct, frozen=True, tag="running", tag_field="code"):
    """A worker has it since `since`.

    Once the worker is not `alive`, the task runs again when its lease is over: `until`.
    """

    session: str | None
    worker: str | None
    host: str | None
    pid: int | None
    since: Micros | None
    attempt: int
    max_attempts: int | None
    cancel_requested_at: Micros | None
    alive: bool
    until: Micros | None = None


class Finished(Struct, frozen=True, tag="finished", tag_field="code"):
    """It is over; a dead letter may have been replayed or discarded since."""

    state: State
    finished_at: Micros | None
    reason: str | None
    attempt: int
    replayed_as: str | None = None
    discarded_at: Micros | None = None
    until: Micros | None = None


Reason = NotDue | InTurn | NoWorker | Expired | Cancelling | Running | Finished
"""One reason; `until` is when it ends, where that is known."""


class Explanation(Struct, frozen=True):
    """Why a task was where it was at `as_of`."""

    task: Task
    as_of: Micros
    reasons: tuple[Reason, ...]


def explain(facts: Facts) -> Explanation:
    """Return every reason that holds, the one to look at first in front."""
    task = facts.task
    match task.state:
        case State.SCHEDULED | State.READY:
            reasons = _waiting(facts)
        case State.RUNNING:
            reasons = [_running(facts)]
        case _:
            reasons = [_finished(task)]
    return Explanation(task, facts.now, tuple(reasons))


def _waiting(facts: Facts) -> list[Reason]:
    task = facts.task
    if task.expires_at is not None and task.expires_at <= facts.now:
        return [Expired(task.expires_at)]
    if task.cancel_requested_at is not None:
        return [Cancelling(task.cancel_requested_at)]
    # Who could run it counts once it is due: until then workers may come and go.
    if task.run_at > facts.now:
        return [NotDue(task.run_at, _why(task), task.attempt, facts.max_attempts)]
    in_turn = InTurn(facts.ahead, 0 < facts.ahead_cap <= facts.ahead)
    worker = _no_worker(facts)
    return [in_turn] if worker is None else [worker, in_turn]


def _why(task: Task) -> Why:
    if task.errors:
        return "again" if task.snoozes else "retry"
    return "snooze" if task.snoozes else "delay"


def _no_worker(facts: Facts) -> NoWorker | None:
    task, live = facts.task, facts.sessions
    taking = [session for session in live if task.queue in session.queues]
    knowing = [session for session in live if task.kind in session.kinds]
    if any(task.kind in session.kinds for session in taking):
        return None
    return NoWorker(task.queue, task.kind, len(live), len(taking), len(knowing))


def _running(facts: Facts) -> Running:
    task = facts.task
    holder = next((session for session in facts.sessions if session.id == task.session), None)
    alive = holder is not None and holder.closed_at is None and holder.lease_until > facts.now
    return Running(
        session=task.session,
        worker=holder.name if holder else None,
        host=holder.host if holder else None,
        pid=holder.pid if holder else None,
        since=task.started_at,
        attempt=task.attempt,
        max_attempts=facts.max_attempts,
        cancel_requested_at=task.cancel_requested_at,
        alive=alive,
        until=None if alive or holder is None else holder.lease_until,
    )


def _finished(task: Task) -> Reason:
    if task.state is State.CANCELLED and task.reason == "expired":
        return Expired(task.expires_at)
    return Finished(
        task.state, task.finished_at, task.reason, task.attempt, task.replayed_as, task.discarded_at
    )
