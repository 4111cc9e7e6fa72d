"""Reading by filter: queries put together from fixed fragments, with every value bound."""

from typing import Any, Final, NamedTuple

from rota.model import State, TaskFilter

_ARMS: Final = {
    State.SCHEDULED: ("scheduled", "true"),
    State.READY: ("ready", "session is null"),
    State.RUNNING: ("ready", "session is not null"),
    State.COMPLETED: ("finished", "state = 'completed'"),
    State.CANCELLED: ("finished", "state = 'cancelled'"),
    State.FAILED: ("dead_letter", "true"),
}
"""Where the tasks of a state lie."""

_CONDITIONS: Final = {
    "queue": "queue = :queue",
    "kind": "kind = :kind",
    "tenant": "tenant = :tenant",
    "key": "key = :key",
    "tag": "exists (select 1 from json_each(tags) where value = :tag)",
    # A g sorts after every digit of an id.
    "id_prefix": "id between :id_prefix and :id_prefix || 'g'",
}


class Query(NamedTuple):
    """A statement and the values of its parameters."""

    sql: str
    values: dict[str, Any]


def finding(where: TaskFilter, before_id: str | None, limit: int) -> Query:
    """Return the query for the ids of matching tasks, newest first."""
    conditions, values = _conditions(where)
    if before_id is not None:
        conditions.append("id < :before_id")
    arms = [
        "select * from ("  # noqa: S608 - fixed fragments, values are bound
        f"select id from {table} where {' and '.join([only, *conditions])}"
        " order by id desc limit :limit)"
        for table, only in _arms(where)
    ]
    sql = f"{' union all '.join(arms)} order by id desc limit :limit"
    return Query(sql, {**values, "before_id": before_id, "limit": limit})


def counting(where: TaskFilter, cap: int) -> Query:
    """Return the query for (state, number of matching tasks up to `cap`)."""
    conditions, values = _conditions(where)
    arms = [
        f"select '{state}', count(*) from ("  # noqa: S608 - fixed fragments, values are bound
        f"select 1 from {table} where {' and '.join([only, *conditions])} limit :cap)"
        for state, (table, only) in zip(_states(where), _arms(where), strict=True)
    ]
    return Query(" union all ".join(arms), {**values, "cap": cap})


def _states(where: TaskFilter) -> list[State]:
    return [state for state in _ARMS if not where.states or state in where.states]


def _arms(where: TaskFilter) -> list[tuple[str, str]]:
    return [_ARMS[state] for state in _states(where)]


def _conditions(where: TaskFilter) -> tuple[list[str], dict[str, Any]]:
    values = {name: value for name in _CONDITIONS if (value := getattr(where, name)) is not None}
    return [_CONDITIONS[name] for name in values], values
