"""Reading by filter: queries put together from fixed fragments, with every value bound."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from rota.config import GROUPS_LOOK_AT
from rota.model import Micros, State, TaskFilter
from rota.orders import GroupOrder
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import to_json

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
_ENDED: Final = frozenset({State.COMPLETED, State.CANCELLED, State.FAILED})
_ONLY_IN: Final = {
    "group": frozenset({State.FAILED}),
    "error_type": frozenset({State.FAILED}),
    "session": _ENDED | {State.RUNNING},
    "finished_from": _ENDED,
    "finished_to": _ENDED,
}
"""What is known of tasks in some states alone."""
_DEAD: Final = "dead_letter"
"""The table that has another name for when a task ended."""

# A g sorts after every digit of an id.
BEGINS: Final = "id between :id_prefix and :id_prefix || 'g'"

_CONDITIONS: Final = {
    "queue": "queue = :queue",
    "kind": "kind = :kind",
    "tenant": "tenant = :tenant",
    "queues": "queue in (select value from json_each(:queues))",
    "kinds": "kind in (select value from json_each(:kinds))",
    "tenants": "tenant in (select value from json_each(:tenants))",
    "key": "key = :key",
    "concurrency_key": "concurrency_key = :concurrency_key",
    "schedule": "schedule = :schedule",
    "session": "session = :session",
    "tag": "exists (select 1 from json_each(tags) where value = :tag)",
    "id_prefix": BEGINS,
    "id_or_key": "(id between lower(:id_or_key) and lower(:id_or_key) || 'g'"
    " or substr(key, 1, length(:id_or_key)) = :id_or_key)",
    "group": "error_group = :group",
    "error_type": "error_type = :error_type",
    "created_from": "created_at >= :created_from",
    "created_to": "created_at < :created_to",
    "run_from": "run_at >= :run_from",
    "run_to": "run_at < :run_to",
    "finished_from": "finished_at >= :finished_from",
    "finished_to": "finished_at < :finished_to",
}
_SEVERAL: Final = ("queues", "kinds", "tenants")
_LAST_CONDITION: Final = "and discarded_at is null"
"""Where the block of the groups takes more of them."""
_LARGEST, _LATEST = "number desc", "last_at desc"


NOTHING: Final = "select null as id, 0 where false"
"""What is found where no task can match."""


class Query(NamedTuple):
    """A statement and the values of its parameters."""

    sql: str
    values: dict[str, Any]


def finding(where: TaskFilter, before_id: str | None, limit: int) -> Query:
    """Return the query for the ids of matching tasks, newest first."""
    conditions, values = conditions_of(where)
    if before_id is not None:
        conditions.append("id < :before_id")
    arms = [
        "select * from ("  # noqa: S608 - fixed fragments, values are bound
        f"select id from {table} where {on(table, [only, *conditions])}"
        " order by id desc limit :limit)"
        for table, only in arms_of(where)
    ]
    sql = f"{' union all '.join(arms or [NOTHING])} order by id desc limit :limit"
    return Query(sql, {**values, "before_id": before_id, "limit": limit})


def counting(where: TaskFilter, cap: int) -> Query:
    """Return the query for (state, number of matching tasks up to `cap`)."""
    conditions, values = conditions_of(where)
    arms = [
        f"select '{state}', count(*) from ("  # noqa: S608 - fixed fragments, values are bound
        f"select 1 from {table} where {on(table, [only, *conditions])} limit :cap)"
        for state, (table, only) in zip(states_of(where), arms_of(where), strict=True)
    ]
    return Query(" union all ".join(arms or [NOTHING]), {**values, "cap": cap})


def grouping(
    where: TaskFilter, limit: int, since: Micros, order: GroupOrder = GroupOrder.COUNT
) -> Query:
    """Return the query for the groups of matching dead letters, each as JSON."""
    conditions, values = conditions_of(where)
    if State.FAILED not in states_of(where):
        conditions.append("false")
    further = "".join(f"\n        and {on(_DEAD, [condition])}" for condition in conditions)
    block = blocks("sqlite")["dead_letter_groups"]
    if order is GroupOrder.LAST_AT:
        block = block.replace(_LARGEST, _LATEST)
    sql = block.replace(_LAST_CONDITION, _LAST_CONDITION + further)
    return Query(sql, {**values, "limit": limit, "since": since, **GROUPS_LOOK_AT})


def states_of(where: TaskFilter) -> list[State]:
    """Return the states that tasks which match can be in."""
    wanted = set(where.states or _ARMS)
    for name, states in _ONLY_IN.items():
        if getattr(where, name) is not None:
            wanted &= states
    return [state for state in _ARMS if state in wanted]


def arms_of(where: TaskFilter) -> list[tuple[str, str]]:
    """Return where the tasks of those states lie, each with its condition."""
    return [
        _DISCARDED if state is State.FAILED and where.discarded else _ARMS[state]
        for state in states_of(where)
    ]


def on(table: str, conditions: Sequence[str]) -> str:
    """Return the conditions as they are said of a table."""
    joined = " and ".join(conditions)
    return joined.replace("finished_at", "failed_at") if table == _DEAD else joined


def conditions_of(where: TaskFilter) -> tuple[list[str], dict[str, Any]]:
    """Return the conditions of a filter, and the values of their parameters."""
    values = {name: value for name in _CONDITIONS if (value := getattr(where, name)) is not None}
    conditions = [_CONDITIONS[name] for name in values]
    values |= {name: to_json(values[name]) for name in _SEVERAL if name in values}
    for number, (path, text) in enumerate(where.payload):
        value = msgspec.json.decode(text)
        kind, at = f"json_type(payload, :path_{number})", f"json_extract(payload, :path_{number})"
        values[f"path_{number}"] = "$" + "".join(f'."{name}"' for name in path.split("."))
        values[f"value_{number}"] = text if value is None or isinstance(value, bool) else value
        if value is None or isinstance(value, bool):
            conditions.append(f"{kind} = :value_{number}")
        else:
            types = "'text'" if isinstance(value, str) else "'integer', 'real'"
            conditions.append(f"{kind} in ({types}) and {at} = :value_{number}")
    return conditions, values
