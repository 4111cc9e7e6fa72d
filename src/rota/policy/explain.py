"""Why a task is where it is: from facts to reasons, each with its numbers (R7.8).

Several reasons stand together. `in_turn` alone means that a task waits for nothing but its turn,
`at_gate` alone that it waits for nothing but room.
"""

from collections.abc import Iterator

from msgspec import Struct

from rota.model import Micros, Session, State, Task
from rota.policy.limits import closed_until
from rota.policy.overload import full_from
from rota.policy.patterns import takes
from rota.policy.reasons import (
    AtCap,
    AtGate,
    Cancelling,
    Expired,
    Explanation,
    Finished,
    InTurn,
    NotDue,
    NoWorker,
    OutOfTokens,
    Paused,
    PutOff,
    Reason,
    Running,
    Why,
)
from rota.schedule import GateUse
from rota.shares import Depth, LimitUse, Settings, WhenFull


class Facts(Struct, frozen=True, kw_only=True):
    """What is known of a task, of who could run it, and of what is allowed to run.

    `sessions` are the live ones for a task that waits, all for one that runs. `ahead` counts up
    to `ahead_cap`, and so does `gate`: what is inside the gate at which a due task waits. `limits`
    are those that a due task falls under. `queue_depth` and `tenant_depth` are counted, up to
    `depth_cap`, where a task may have been put off.
    """

    now: Micros
    task: Task
    sessions: tuple[Session, ...] = ()
    settings: Settings = Settings()
    limits: tuple[LimitUse, ...] = ()
    queue_depth: Depth | None = None
    tenant_depth: Depth | None = None
    depth_cap: int = 0
    ahead: int = 0
    ahead_cap: int = 0
    gate: GateUse | None = None
    max_attempts: int | None = None


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
    # Who could run it, and what is at its limit, counts once it is due: until then that changes.
    # A pause does not end by itself.
    if task.run_at > facts.now:
        due = NotDue(task.run_at, _why(task), task.attempt, facts.max_attempts)
        return [due, *_put_off(facts), *_paused(facts)]
    turn: Reason = _at_gate(task, facts) or InTurn(facts.ahead, 0 < facts.ahead_cap <= facts.ahead)
    return [*_paused(facts), *_no_worker(facts), *_limited(facts), turn]


def _paused(facts: Facts) -> Iterator[Paused]:
    task, settings = facts.task, facts.settings
    if (queue := settings.queues.get(task.queue)) and queue.paused_at is not None:
        yield Paused("queue", task.queue, queue.paused_at, queue.pause_reason)
    if (tenant := settings.tenants.get(task.tenant)) and tenant.paused_at is not None:
        yield Paused("tenant", task.tenant, tenant.paused_at, tenant.pause_reason)
    if (kind := settings.kinds.get(task.kind)) and kind.paused_at is not None:
        yield Paused("kind", task.kind, kind.paused_at, kind.pause_reason)


def _limited(facts: Facts) -> Iterator[AtCap | OutOfTokens]:
    for use in facts.limits:
        limit = use.limit
        if limit.max_running is not None and use.running >= limit.max_running:
            yield AtCap(limit.queue, limit.tenant, use.running, limit.max_running)
    for use in facts.limits:
        limit = use.limit
        if limit.rate is not None and (until := closed_until(use)) is not None:
            yield OutOfTokens(limit.queue, limit.tenant, limit.rate, limit.burst or 1, until)


def may_be_put_off(task: Task, settings: Settings, now: Micros) -> bool:
    """Say whether a task waits for its time although it may have been due when it came (R1.7)."""
    return (
        task.state is State.SCHEDULED
        and task.run_at > now
        and not task.errors
        and not task.snoozes
        and settings.queue(task.queue).when_full is WhenFull.DEFER
        and full_from(1, task.priority_class) is not None
    )


def _put_off(facts: Facts) -> Iterator[PutOff]:
    task, settings = facts.task, facts.settings
    if not may_be_put_off(task, settings, facts.now):
        return
    if over := _over(facts.queue_depth, settings.queue(task.queue).max_depth, facts):
        yield PutOff("queue", task.queue, *over)
    if over := _over(facts.tenant_depth, settings.tenant(task.tenant).max_depth, facts):
        yield PutOff("tenant", task.tenant, *over)


def _over(depth: Depth | None, most: int | None, facts: Facts) -> tuple[int, int, bool] | None:
    if depth is None or most is None:
        return None
    full = full_from(most, facts.task.priority_class)
    if full is None or depth.waiting < full:
        return None
    return depth.waiting, most, 0 < facts.depth_cap <= depth.waiting


def waits_at_gate(task: Task, now: Micros) -> bool:
    """Say whether a task is due and not let in yet: one with a key is ready only behind its gate.

    Whether `stage` has put it before the gate already makes no difference to whoever asks.
    """
    return task.state is State.SCHEDULED and task.concurrency_key is not None and task.run_at <= now


def _at_gate(task: Task, facts: Facts) -> AtGate | None:
    if task.concurrency_key is None or facts.gate is None or not waits_at_gate(task, facts.now):
        return None
    inside, waiting = facts.gate.inside, max(facts.gate.waiting, 1)
    return AtGate(
        key=task.concurrency_key,
        inside=inside,
        room=task.max_concurrency or 1,
        waiting=waiting,
        capped=0 < facts.ahead_cap <= max(inside, waiting),
    )


def _why(task: Task) -> Why:
    if task.errors:
        return "again" if task.snoozes else "retry"
    return "snooze" if task.snoozes else "delay"


def _no_worker(facts: Facts) -> Iterator[NoWorker]:
    task, live = facts.task, facts.sessions
    taking = [session for session in live if takes(session.queues, task.queue)]
    knowing = [session for session in live if task.kind in session.kinds]
    if not any(task.kind in session.kinds for session in taking):
        yield NoWorker(task.queue, task.kind, len(live), len(taking), len(knowing))


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
