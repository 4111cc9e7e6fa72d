"""What callers do to tasks that no worker runs: cancel them, or have them run again."""

from collections.abc import Sequence

from rota.config import LEVEL
from rota.model import CancelOutcome, Micros, RetryOutcome, State
from rota.store.postgres.rows import possible_ids
from rota.store.postgres.statements import Connection, fetch

_TRIES = 3
"""A task may move while it is looked for; it is looked for again this often."""

_REASON = "cancelled by request"


async def cancel(connection: Connection, ids: Sequence[str], now: Micros) -> list[CancelOutcome]:
    """Cancel tasks that are scheduled or ready; say what became of each."""
    cancelled: set[str] = set()
    states: dict[str, State] = {}
    left = possible_ids(ids)
    for _ in range(_TRIES):
        for name in ("cancel_scheduled", "cancel_ready"):
            rows = await fetch(connection, name, ids=left, now=now, reason=_REASON)
            cancelled |= {row[0] for row in rows}
        left = [task_id for task_id in left if task_id not in cancelled]
        states |= await _states(connection, left)
        left = [i for i in left if states.get(i) in (State.SCHEDULED, State.READY)]
        if not left:
            break
    return [_cancelled(task_id in cancelled, states.get(task_id)) for task_id in ids]


def _cancelled(done: bool, state: State | None) -> CancelOutcome:
    if done:
        return CancelOutcome.COMPLETED
    if state is None:
        return CancelOutcome.NOT_FOUND
    over = state.final or state is State.FAILED
    return CancelOutcome.TOO_LATE if over else CancelOutcome.RUNNING


async def retry(connection: Connection, ids: Sequence[str], now: Micros) -> list[RetryOutcome]:
    """Make failed and scheduled tasks ready at once; say what became of each."""
    done: set[str] = set()
    asked = possible_ids(ids)
    for name in ("retry_failed", "retry_scheduled"):
        rows = await fetch(connection, name, ids=asked, now=now, level=LEVEL)
        done |= {row[0] for row in rows}
    states = await _states(connection, [task_id for task_id in asked if task_id not in done])
    return [_retried(task_id in done, task_id in states) for task_id in ids]


def _retried(done: bool, known: bool) -> RetryOutcome:
    if done:
        return RetryOutcome.COMPLETED
    return RetryOutcome.NOT_RETRYABLE if known else RetryOutcome.NOT_FOUND


async def _states(connection: Connection, ids: Sequence[str]) -> dict[str, State]:
    if not ids:
        return {}
    return {row[0]: State(row[1]) for row in await fetch(connection, "states_of", ids=ids)}
