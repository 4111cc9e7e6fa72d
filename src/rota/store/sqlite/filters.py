"""Reading by filter: queries put together from fixed fragments, with every value bound."""

from typing import Any, Final, NamedTuple

from rota.model import State, TaskFilter
from rota.store.sqlfiles import blocks

_ARMS: Final = {
    State.SCHEDULED: ("scheduled", "true"),
    State.READY: ("ready", "session is null"),
    State.RUNNING: ("ready", "session is not null"),
    State.COMPLETED: ("finished", "state = 'completed'"),
    State.CANCELLED: ("finished", "state = 'cancelled'"),
    State.FAILED: ("dead_letter", "discarded_at is null"),
}
"""Where the tasks of a state lie."""
_DISCARDED: Final = ("dead_letter", "discarded_at is not null")
_ONLY_FAILED: Final = ("group", "error_type")
"""What is known of dead letters alone."""

_CONDITIONS: Final = {
    "queue": "queue = :queue",
    "kind": "kind = :kind",
    "tenant": "tenant = :tenant",
    "key": "key = :key",
    "concurrency_key": "concurrency_key = :concurrency_key",
    "schedule": "schedule = :schedule",
    "tag": "exists (select 1 from json_each(tags) where value = :tag)",
    # A g sorts after every digit of an id.
    "id_prefix": "id between :id_prefix and :id_prefix || 'g'",
    "group": "error_group = :group",
    "error_type": "error_type = :error_type",
    "created_from": "created_at >= :created_from",
    "created_to": "created_at < :created_to",
}
_LAST_CONDITION: Final = "and discarded_at is null"
"""Where the block of the groups takes more of them."""


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


def grouping(where: TaskFilter, limit: int) -> Query:
    """Return the query for the groups of matching dead letters, each as JSON."""
    conditions, values = _conditions(where)
    if State.FAILED not in _states(where):
        conditions.append("false")
    further = "".join(f"\n        and {condition}" for condition in conditions)
    block = blocks("sqlite")["dead_letter_groups"]
    sql = block.replace(_LAST_CONDITION, _LAST_CONDITION + further)
    return Query(sql, {**values, "limit": limit})


def _states(where: TaskFilter) -> list[State]:
    """Return the states that tasks which match can be in."""
    dead = any(getattr(where, name) is not None for name in _ONLY_FAILED)
    wanted = where.states or tuple(State)
    return [state for state in _ARMS if state in wanted and (state is State.FAILED or not dead)]


def _arms(where: TaskFilter) -> list[tuple[str, str]]:
    return [
        _DISCARDED if state is State.FAILED and where.discarded else _ARMS[state]
        for state in _states(where)
    ]


def _conditions(where: TaskFilter) -> tuple[list[str], dict[str, Any]]:
    values = {name: value for name in _CONDITIONS if (value := getattr(where, name)) is not None}
    return [_CONDITIONS[name] for name in values], values
