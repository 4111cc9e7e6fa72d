"""Tasks and schedules as the JSON that every outward face shows: command line, HTTP, dashboard.

Instants are text in UTC, durations are seconds, and every field is there: null if it does not
apply. Only the summary leaves the large ones out.
"""

from typing import Any

import msgspec
from msgspec import Struct

from rota.clock import Micros, born, instant
from rota.config import LEASE, SECOND
from rota.model import AttemptError, DeadLetterGroup, Session, Task
from rota.policy.calendar import Occurrence
from rota.schedule import Overlap, Schedule, Slot, SlotRun, Work
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
        "concurrency_key": task.concurrency_key,
        "max_concurrency": task.max_concurrency,
        "at_gate": task.at_gate,
        "schedule": task.schedule,
        "slot": when(task.slot),
        "created_at": show_instant(task.created_at),
        "run_at": show_instant(task.run_at),
        "expires_at": when(task.expires_at),
        "started_at": when(task.started_at),
        "finished_at": when(task.finished_at),
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
        "cancel_requested_at": when(task.cancel_requested_at),
        "progress": None if task.progress is None else msgspec.to_builtins(task.progress),
        "checkpoint": task.checkpoint,
        "error_group": task.group,
        "replay_of": task.replay_of,
        "replayed_as": task.replayed_as,
        "discarded_at": when(task.discarded_at),
        "discard_reason": task.discard_reason,
    }


def summary(task: Task) -> dict[str, Any]:
    """Return a task without its payload, headers, result and errors."""
    return {name: value for name, value in full(task).items() if name not in HEAVY}


def timeline(task: Task) -> list[Moment]:
    """Return what happened to a task in order, as far as it is kept (R9.1).

    The starts of earlier attempts are not kept, their errors are.
    """
    moments = [Moment(task.created_at, "submitted", _origin(task))]
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


def _origin(task: Task) -> str:
    if task.replay_of is not None:
        return f"replay of {task.replay_of}"
    if task.schedule is None:
        return ""
    of = "at once" if task.slot is None else f"for its slot {show_instant(task.slot)}"
    return f"by schedule {task.schedule}, {of}"


def moment(happened: Moment) -> dict[str, Any]:
    """Return one entry of a timeline."""
    return {"at": show_instant(happened.at), "what": happened.what, "detail": happened.detail}


def group(alike: DeadLetterGroup) -> dict[str, Any]:
    """Return a group of dead letters that failed alike."""
    by_tenant = dict(sorted(alike.by_tenant.items(), key=lambda one: (-one[1], one[0])))
    return {
        "group": alike.id,
        "kind": alike.kind,
        "error_type": alike.error_type,
        "shape": alike.shape,
        "count": alike.count,
        "first_at": show_instant(alike.first_at),
        "last_at": show_instant(alike.last_at),
        "sample": alike.sample,
        "reason": alike.reason,
        "tenants": list(by_tenant),
        "by_tenant": by_tenant,
        "by_hour": {show_instant(at): count for at, count in sorted(alike.by_hour.items())},
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


def heard_at(worker: Session) -> Micros:
    """Return when a worker last renewed its lease; guessed by the usual lease if not written."""
    return worker.heard_at or max(worker.lease_until - LEASE, worker.started_at)


def session(worker: Session, held: int, now: Micros) -> dict[str, Any]:
    """Return a worker's session, how many tasks it holds and how long ago it was heard of."""
    over = worker.closed_at is not None or worker.lease_until <= now
    return {
        "id": worker.id,
        "name": worker.name,
        "host": worker.host,
        "pid": worker.pid,
        "version": worker.version,
        "queues": list(worker.queues),
        "kinds": list(worker.kinds),
        "slots": worker.slots,
        "held": held,
        "started_at": show_instant(worker.started_at),
        "lease_until": show_instant(worker.lease_until),
        "heartbeat_age_s": seconds(max(now - heard_at(worker), 0)),
        "draining": worker.drain_at is not None,
        "closed_at": when(worker.closed_at),
        "live": not over,
    }


def schedule(recurring: Schedule) -> dict[str, Any]:
    """Return everything that is known of a schedule."""
    rule, policy, work = recurring.rule, recurring.policy, recurring.work
    return {
        "id": recurring.id,
        "name": recurring.name,
        "source": recurring.source,
        "expression": rule.expression,
        "every": seconds(rule.every),
        "anchor": None if rule.every is None else show_instant(rule.anchor),
        "tz": rule.tz,
        "seconds": rule.seconds,
        "both_days": rule.both_days,
        "gap": rule.gap.value,
        "fold": rule.fold.value,
        "starts_at": when(rule.starts_at),
        "ends_at": when(rule.ends_at),
        "missed": policy.missed.value,
        "grace": seconds(policy.grace),
        "max_catchup": policy.max_catchup,
        "max_age": seconds(policy.max_age),
        "overlap": policy.overlap.value,
        "max_pending": policy.max_pending if policy.overlap is Overlap.QUEUE else None,
        "jitter": seconds(policy.jitter),
        "max_runs": policy.max_runs,
        **_work(work),
        "version": recurring.version,
        "created_at": show_instant(recurring.created_at),
        "updated_at": show_instant(recurring.updated_at),
        "next_slot": when(recurring.next_slot),
        "next_at": when(recurring.next_at),
        "paused": recurring.paused_at is not None,
        "paused_at": when(recurring.paused_at),
        "pause_reason": recurring.pause_reason,
        "last_slot": when(recurring.last_slot),
        "last_fired_at": when(recurring.last_fired_at),
        "fired": recurring.fired,
        "skipped": recurring.skipped,
        "tz_data": recurring.tz_data,
        "problem": recurring.problem,
    }


def _work(work: Work) -> dict[str, Any]:
    return {
        "kind": work.kind,
        "payload": msgspec.json.decode(work.payload),
        "queue": work.queue,
        "tenant": work.tenant,
        "priority": work.priority,
        "timeout": seconds(work.timeout),
        "retry": None if work.retry is None else msgspec.json.decode(work.retry),
        "expires_in": seconds(work.expires_in),
        "tags": list(work.tags),
        "headers": {} if work.headers is None else msgspec.json.decode(work.headers),
        "concurrency_key": work.concurrency_key,
        "max_concurrency": None if work.concurrency_key is None else work.max_concurrency,
    }


def slot(decided: Slot) -> dict[str, Any]:
    """Return what became of a slot, or of `count` of them up to `last`; null if too many."""
    return {
        "slot": show_instant(decided.slot),
        "last": when(decided.last),
        "count": decided.count,
        "state": decided.state.value,
        "at": show_instant(decided.at),
        "task": decided.task_id,
        "backfilled": decided.backfilled,
    }


def slot_run(decided: SlotRun, later: Micros = 0) -> dict[str, Any]:
    """Return what became of a slot and of its task; runs start `later` than their slots.

    How late is told of the first start; of a task that was tried again that is known no more, and
    it is told of when the task was made.
    """
    run, began = decided.slot, decided.slot.at
    if decided.attempt == 1 and decided.started_at is not None:
        began = decided.started_at
    ran = decided.finished_at and decided.started_at and decided.finished_at - decided.started_at
    late = max(0, began - run.slot - later)
    return slot(run) | {
        "task_state": None if decided.state is None else decided.state.value,
        "attempt": decided.attempt,
        "started_at": when(decided.started_at),
        "finished_at": when(decided.finished_at),
        "late_s": None if run.task_id is None or run.backfilled else seconds(late),
        "ran_s": seconds(ran),
    }


def occurrence(coming: Occurrence) -> dict[str, Any]:
    """Return a slot that will run, and what is surprising about it.

    >>> from datetime import UTC, datetime
    >>> occurrence(Occurrence(0, datetime(1970, 1, 1, tzinfo=UTC), ("fold: first",)))
    {'utc': '1970-01-01T00:00:00Z', 'local': '1970-01-01T00:00:00+00:00', 'notes': ['fold: first']}
    """
    return {
        "utc": f"{instant(coming.at):%Y-%m-%dT%H:%M:%S}{_fraction(coming.at)}Z",
        "local": coming.local.isoformat(),
        "notes": list(coming.notes),
    }


def _fraction(at: Micros) -> str:
    return f".{at % SECOND:06d}" if at % SECOND else ""


def when(at: Micros | None) -> str | None:
    """Return an instant as text in UTC, or None if there is none."""
    return None if at is None else show_instant(at)


def seconds(length: Micros | None) -> float | None:
    """Return a duration in seconds, whole ones without a fraction.

    >>> seconds(30_000_000), seconds(250_000)
    (30, 0.25)
    """
    if length is None:
        return None
    return length / SECOND if length % SECOND else length // SECOND
