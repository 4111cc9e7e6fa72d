"""What callers ask for one task or some: to cancel, to retry, to read."""

from collections.abc import Sequence

import apsw

from rota.config import LEVEL
from rota.model import CancelOutcome, Micros, RetryOutcome, State, Task, TaskFilter
from rota.store.sqlfiles import blocks
from rota.store.sqlite.filters import Query, counting, finding
from rota.store.sqlite.rows import task_in, to_json

_SQL = blocks("sqlite")

_CANCELLED = "cancelled by request"

# What leads out of a state: the copy, and the removal.
_CANCEL = {
    State.SCHEDULED: ("cancel_scheduled", "leave_scheduled"),
    State.READY: ("cancel_ready", "leave_ready"),
}
_RETRY = {
    State.FAILED: ("retry_failed", "leave_dead_letter"),
    State.SCHEDULED: ("retry_scheduled", "leave_scheduled"),
}


def cancel(connection: apsw.Connection, ids: Sequence[str], now: Micros) -> list[CancelOutcome]:
    """Cancel the tasks that wait."""
    states = _states(connection, ids)
    _move(connection, states, _CANCEL, now)
    return [_cancel_outcome(states.get(id_)) for id_ in ids]


def retry(connection: apsw.Connection, ids: Sequence[str], now: Micros) -> list[RetryOutcome]:
    """Make tasks that failed or wait for their time ready."""
    states = _states(connection, ids)
    _move(connection, states, _RETRY, now)
    return [_retry_outcome(states.get(id_)) for id_ in ids]


def get(connection: apsw.Connection, ids: Sequence[str]) -> list[Task | None]:
    """Return each task, or None."""
    rows = connection.execute(_SQL["get"], {"ids": to_json(ids)})
    found = {id_: task_in(text) for id_, text in rows}
    return [found.get(id_) for id_ in ids]


def find(
    connection: apsw.Connection, where: TaskFilter, before_id: str | None, limit: int
) -> list[Task]:
    """Return a page of tasks, newest first."""
    ids = [id_ for (id_,) in _run(connection, finding(where, before_id, limit))]
    return [task for task in get(connection, ids) if task is not None]


def count(connection: apsw.Connection, where: TaskFilter, cap: int) -> dict[State, int]:
    """Count tasks by state."""
    rows = _run(connection, counting(where, cap))
    return {State(state): number for state, number in rows if number}


def _run(connection: apsw.Connection, query: Query) -> apsw.Cursor:
    return connection.execute(query.sql, query.values)


def _states(connection: apsw.Connection, ids: Sequence[str]) -> dict[str, State]:
    rows = connection.execute(_SQL["states_of"], {"ids": to_json(ids)})
    return {id_: State(state) for id_, state in rows}


def _move(
    connection: apsw.Connection,
    states: dict[str, State],
    ways: dict[State, tuple[str, str]],
    now: Micros,
) -> None:
    for state, (copy, remove) in ways.items():
        ids = to_json([id_ for id_, its in states.items() if its is state])
        given = {"ids": ids, "now": now, "level": LEVEL, "reason": _CANCELLED}
        connection.execute(_SQL[copy], given)
        connection.execute(_SQL[remove], given)


def _cancel_outcome(state: State | None) -> CancelOutcome:
    if state is None:
        return CancelOutcome.NOT_FOUND
    if state is State.RUNNING:
        return CancelOutcome.RUNNING
    return CancelOutcome.COMPLETED if state in _CANCEL else CancelOutcome.TOO_LATE


def _retry_outcome(state: State | None) -> RetryOutcome:
    if state is None:
        return RetryOutcome.NOT_FOUND
    return RetryOutcome.COMPLETED if state in _RETRY else RetryOutcome.NOT_RETRYABLE
