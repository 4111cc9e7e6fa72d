"""What becomes of a task when a hand-out of it ends: the one place that decides.

Four things are counted apart (R3.6, R3.8, case B134). A claim counts an attempt at once; whatever
ends the hand-out without a verdict on the work gives that attempt back:

    how it ended                      attempt    counted instead
    completed, failed, timed out      stays
    snoozed                           back       snoozes + 1
    lease lost                        back       lost + 1
    released, expired                 back       nothing
"""

from collections.abc import Mapping
from typing import Final, assert_never

import msgspec
from msgspec import Struct, structs

from rota.config import LEVEL, LONGEST_DELAY, LOST_LEASES
from rota.model import AttemptError, Claimed, Micros, State, Transition, rank_of
from rota.policy.retry import Backoff, delay
from rota.policy.shape import group_of

LEGAL: Final[Mapping[State, frozenset[State]]] = {
    State.SCHEDULED: frozenset({State.READY, State.CANCELLED}),
    State.READY: frozenset({State.RUNNING, State.SCHEDULED, State.CANCELLED}),
    State.RUNNING: frozenset(set(State) - {State.RUNNING}),
    State.FAILED: frozenset({State.READY, State.SCHEDULED}),
    State.COMPLETED: frozenset(),
    State.CANCELLED: frozenset(),
}
"""Which states may follow which (design §1).

Back to `scheduled` leads what is amended to a later time, and what is retried behind a gate; from
`failed` a task comes back only if somebody retries it.
"""


def legal(from_: State, to: State) -> bool:
    """Say whether a task may move from one state to the other.

    >>> legal(State.READY, State.COMPLETED)
    False
    """
    return to in LEGAL[from_]


class Completed(Struct, frozen=True):
    """The handler returned; `result` is JSON, or None if it returned nothing."""

    result: str | None = None


class Failed(Struct, frozen=True):
    """The handler raised.

    `permanent` means that running it again would not help; `after` is a delay in microseconds
    that is obeyed in place of the task's own backoff, `least` one that this is at least (R4.2).
    """

    error: AttemptError
    permanent: bool = False
    after: Micros | None = None
    least: Micros | None = None


class TimedOut(Struct, frozen=True):
    """The handler ran beyond its hard time limit (R4.3)."""

    error: AttemptError


class Snoozed(Struct, frozen=True):
    """The handler asked to be run again at `until`; waiting is no attempt (case B134)."""

    until: Micros


class Cancelled(Struct, frozen=True):
    """The work is no longer wanted."""

    reason: str


class Released(Struct, frozen=True):
    """The worker handed the task back without a verdict, for instance to shut down (R3.6)."""


class LeaseLost(Struct, frozen=True):
    """The session that held the task is gone (R3.8)."""


class Expired(Struct, frozen=True):
    """The task's `expires_at` had passed before its handler was started."""


Ending = Completed | Failed | TimedOut | Snoozed | Cancelled | Released | LeaseLost | Expired
"""How a hand-out ended."""


def outcome_of(ending: Ending) -> str:
    """Return one word for how a hand-out ended, the same in logs and in traces.

    >>> outcome_of(Released())
    'released'
    """
    return "timed_out" if isinstance(ending, TimedOut) else type(ending).__name__.lower()


def decide(
    task: Claimed,
    ending: Ending,
    policy: Backoff,
    now: Micros,
    chance: float,
    *,
    lost_limit: int = LOST_LEASES,
    aging: Micros = LEVEL,
) -> Transition:
    """Return what shall become of the task (R3.6, R3.8, R4.1, R4.2).

    `chance` is a number in [0, 1) for the jitter, `aging` that of the task's queue. A task that
    loses its `lost_limit`-th lease is set aside as a dead letter.
    """
    move = _decided(task, ending, policy, now, chance=chance, lost_limit=lost_limit)
    if aging == LEVEL:
        return move
    return structs.replace(move, rank=rank_of(move.run_at, task.priority, aging))


def _decided(
    task: Claimed, ending: Ending, policy: Backoff, now: Micros, *, chance: float, lost_limit: int
) -> Transition:
    match ending:
        case Completed(result):
            return _moved(task, State.COMPLETED, result=result)
        case Failed() | TimedOut():
            return _failed(task, ending, policy, now, chance)
        case Snoozed(until):
            run_at = _later(now, until - now)
            return _moved(task, State.SCHEDULED, run_at=run_at, spent=False, snoozes=1)
        case Cancelled(reason):
            return _moved(task, State.CANCELLED, reason=reason)
        case Released():
            return _moved(task, State.READY, spent=False)
        case LeaseLost():
            return _orphaned(task, now, lost_limit)
        case Expired():
            return _moved(task, State.CANCELLED, spent=False, reason="expired")
        case _:
            assert_never(ending)


def _failed(
    task: Claimed, ending: Failed | TimedOut, policy: Backoff, now: Micros, chance: float
) -> Transition:
    error = ending.error
    match ending:
        case Failed(permanent=True):
            return _moved(task, State.FAILED, error=error, reason="permanent")
        case Failed(after=wait, least=least):
            reason = "attempts_exhausted"
        case TimedOut():
            wait, least, reason = None, None, "timed_out"
    if task.attempt >= policy.max_attempts:
        return _moved(task, State.FAILED, error=error, reason=reason)
    if wait is None:
        wait = max(delay(policy, task.attempt, chance), least or 0)
    return _moved(task, State.SCHEDULED, run_at=_later(now, wait), error=error)


def _orphaned(task: Claimed, now: Micros, lost_limit: int) -> Transition:
    times = task.lost + 1
    if times < lost_limit:
        return _moved(task, State.READY, spent=False, lost=1)
    message = f"the task lost its worker {times} {'time' if times == 1 else 'times'}"
    error = AttemptError(at=now, attempt=task.attempt, type="WorkerLost", message=message)
    return _moved(task, State.FAILED, spent=False, lost=1, error=error, reason="worker_lost")


def _later(now: Micros, wait: Micros) -> Micros:
    return now + min(max(wait, 0), LONGEST_DELAY)


def _moved(
    task: Claimed,
    to: State,
    *,
    run_at: Micros | None = None,
    spent: bool = True,
    lost: int = 0,
    snoozes: int = 0,
    error: AttemptError | None = None,
    result: str | None = None,
    reason: str | None = None,
) -> Transition:
    """Return the move; `lost` and `snoozes` are added to the task's, unspent is one attempt less.

    Without a run time of its own the task keeps its place in the lane.
    """
    due = task.run_at if run_at is None else run_at
    group = group_of(task.kind, error) if to is State.FAILED else None
    return Transition(
        id=task.id,
        fence=task.fence,
        to=to,
        run_at=due,
        rank=rank_of(due, task.priority),
        attempt=task.attempt if spent else max(task.attempt - 1, 0),
        lost=task.lost + lost,
        snoozes=task.snoozes + snoozes,
        error=None if error is None else msgspec.json.encode(error).decode(),
        result=result,
        reason=reason,
        group=group.id if group else None,
        error_type=group.error_type if group else None,
        error_shape=group.shape if group else None,
    )
