"""What callers ask for one task or some: to run at once, to read."""

from collections.abc import Sequence

import apsw

from rota.config import LEVEL
from rota.model import Micros, RetryOutcome, State, Task, TaskFilter
from rota.store.sqlfiles import blocks
from rota.store.sqlite.filters import Query, counting, finding
from rota.store.sqlite.rows import task_in, to_json
from rota.store.sqlite.states import standing

_SQL = blocks("sqlite")

_RETRYABLE = (State.FAILED, State.SCHEDULED)


def retry(connection: apsw.Connection, ids: Sequence[str], now: Micros) -> list[RetryOutcome]:
    """Make tasks that failed or wait for their time ready, or due at their gates."""
    found = standing(connection, ids)
    failed, scheduled = (
        [id_ for id_, stands in found.items() if stands == (state, False)] for state in _RETRYABLE
    )
    given = {"ids": to_json(failed), "now": now, "level": LEVEL}
    for block in ("retry_failed", "retry_failed_gated", "leave_dead_letter"):
        connection.execute(_SQL[block], given)
    given["ids"] = to_json(scheduled)
    gated = {id_ for (id_,) in connection.execute(_SQL["bring_forward"], given)}
    given["ids"] = to_json([id_ for id_ in scheduled if id_ not in gated])
    for block in ("retry_scheduled", "leave_scheduled"):
        connection.execute(_SQL[block], given)
    return [_outcome(found.get(id_)) for id_ in ids]


def get(connection: apsw.Connection, ids: Sequence[str]) -> list[Task | None]:
    """Return each task, or None."""
    rows = connection.execute(_SQL["get"], {"ids": to_json(ids)})
    found = {id_: task_in(text) for id_, text in rows}
    return [found.get(id_) for id_ in ids]


def find(
    connection: apsw.Connection, where: TaskFilter, before_id: str | None, limit: int
) -> list[Task]:
    """Return a page of tasks, newest first."""
    ids = find_ids(connection, where, before_id, limit)
    return [task for task in get(connection, ids) if task is not None]


def find_ids(
    connection: apsw.Connection, where: TaskFilter, before_id: str | None, limit: int
) -> list[str]:
    """Return the ids of a page of tasks, newest first."""
    return [id_ for (id_,) in _run(connection, finding(where, before_id, limit))]


def ahead(connection: apsw.Connection, task_id: str, cap: int) -> int:
    """Count what stands before a task in its lane."""
    return int(connection.execute(_SQL["ahead"], {"id": task_id, "cap": cap}).get)


def count(connection: apsw.Connection, where: TaskFilter, cap: int) -> dict[State, int]:
    """Count tasks by state."""
    rows = _run(connection, counting(where, cap))
    return {State(state): number for state, number in rows if number}


def _run(connection: apsw.Connection, query: Query) -> apsw.Cursor:
    return connection.execute(query.sql, query.values)


def _outcome(stands: tuple[State, bool] | None) -> RetryOutcome:
    if stands is None:
        return RetryOutcome.NOT_FOUND
    state, settled = stands
    if settled or state not in _RETRYABLE:
        return RetryOutcome.NOT_RETRYABLE
    return RetryOutcome.COMPLETED
