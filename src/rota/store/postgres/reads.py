"""Finds and counts tasks: the rows of `get` under other conditions, newest first."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from rota.config import GROUPS_LOOK_AT
from rota.model import Micros, State, Task, TaskFilter
from rota.orders import GroupOrder
from rota.store.postgres.rows import possible_ids, task_of
from rota.store.postgres.statements import Connection, statement

_TABLES = ("scheduled", "ready", "dead_letter", "finished")
_SELECTS = dict(
    zip(
        _TABLES,
        (part.partition("\nwhere")[0] for part in statement("get").sql.split("union all\n")),
        strict=True,
    )
)
_PLACES: dict[State, tuple[str, str]] = {
    State.SCHEDULED: ("scheduled", "true"),
    State.READY: ("ready", "session is null"),
    State.RUNNING: ("ready", "session is not null"),
    State.FAILED: ("dead_letter", "discarded_at is null"),
    State.COMPLETED: ("finished", "state = 'completed'"),
    State.CANCELLED: ("finished", "state = 'cancelled'"),
}
_DISCARDED = ("dead_letter", "discarded_at is not null")
_ENDED = frozenset({State.COMPLETED, State.CANCELLED, State.FAILED})
_ONLY_IN = {
    "group": frozenset({State.FAILED}),
    "error_type": frozenset({State.FAILED}),
    "session": _ENDED | {State.RUNNING},
    "finished_from": _ENDED,
    "finished_to": _ENDED,
}
"""What is known of tasks in some states alone."""
_CONDITIONS = {
    "queue": "queue = {}",
    "kind": "kind = {}",
    "tenant": "tenant = {}",
    "queues": "queue = any({}::text[])",
    "kinds": "kind = any({}::text[])",
    "tenants": "tenant = any({}::text[])",
    "key": "key = {}",
    "concurrency_key": "concurrency_key = {}",
    "group": "error_group = {}",
    "error_type": "error_type = {}",
    "schedule": "schedule = {}::uuid",
    "session": "session = {}::uuid",
    "tag": "tags @> array[{}::text]",
    "created_from": "created_at >= {}",
    "created_to": "created_at < {}",
    "run_from": "run_at >= {}",
    "run_to": "run_at < {}",
    "finished_from": "finished_at >= {}",
    "finished_to": "finished_at < {}",
}
_DEAD = "dead_letter"
"""The table that has another name for when a task ended."""
_GROUPS = statement("dead_letter_groups")
_LAST_CONDITION = "and discarded_at is null"
"""Where the block of the groups takes more of them."""
_LARGEST, _LATEST = "number desc", "last_at desc"


class Query(NamedTuple):
    """A statement and the values of its parameters."""

    sql: str
    values: list[Any]


class Conditions:
    """The conditions of a filter, with the values that they are bound to."""

    def __init__(self, where: TaskFilter) -> None:
        self.values: list[Any] = []
        self._parts: list[str] = []
        for field, condition in _CONDITIONS.items():
            self._add(condition, getattr(where, field))
        if where.id_prefix:
            self._parts.append(self.begins(where.id_prefix))
        if where.id_or_key:
            key = f"starts_with(key, {self.bind(where.id_or_key)}::text)"
            id_ = f"({self.begins(where.id_or_key)})" if _digits(where.id_or_key) else "false"
            self._parts.append(f"({id_} or {key})")
        for path, value in where.payload:
            at = self.bind(path.split("."))
            self._parts.append(f"payload #> {at}::text[] = {self.bind(value)}::jsonb")

    def before(self, task_id: str | None) -> None:
        """Leave out this task and what is newer."""
        self._add("id < {}", task_id)

    def bind(self, value: Any) -> str:
        """Bind a value and return what stands for it."""
        self.values.append(value)
        return f"${len(self.values)}"

    def on(self, condition: str, table: str) -> str:
        """Return all conditions with one more, as they are said of a table."""
        conditions = " and ".join([condition, *self._parts])
        return conditions.replace("finished_at", "failed_at") if table == _DEAD else conditions

    def begins(self, prefix: str) -> str:
        """Return the condition that an id begins with these digits."""
        digits = prefix.replace("-", "").lower()
        first, last = self.bind(digits.ljust(32, "0")), self.bind(digits.ljust(32, "f"))
        return f"id >= {first} and id <= {last}"

    def _add(self, condition: str, value: Any) -> None:
        if value is not None:
            self._parts.append(condition.format(self.bind(value)))


async def find(
    connection: Connection, where: TaskFilter, before_id: str | None, limit: int
) -> list[Task]:
    """Return matching tasks, newest first."""
    query = _finding(where, before_id, limit, _SELECTS)
    rows = await connection.fetch(query.sql, *query.values) if query else []
    return [task_of(row) for row in rows]


async def find_ids(
    connection: Connection, where: TaskFilter, before_id: str | None, limit: int
) -> list[str]:
    """Return the ids of matching tasks, newest first."""
    selects = {table: f"select id from rota.{table}" for table in _TABLES}  # noqa: S608 - fixed
    query = _finding(where, before_id, limit, selects)
    rows = await connection.fetch(query.sql, *query.values) if query else []
    return [str(row[0]) for row in rows]


async def count(connection: Connection, where: TaskFilter, cap: int) -> dict[State, int]:
    """Count matching tasks by state, none further than the cap."""
    places = places_of(where)
    if not places or not possible(where):
        return {}
    conditions = Conditions(where)
    limit = conditions.bind(cap)
    parts = []
    for table, condition in places.values():
        some = f"select from rota.{table} where {conditions.on(condition, table)} limit {limit}"
        parts.append(f"(select count(*) from ({some}) as counted)")  # noqa: S608 - values are bound
    row = await connection.fetchrow(f"select {', '.join(parts)}", *conditions.values)
    return {state: n for state, n in zip(places, row, strict=True) if n}


def grouping(
    where: TaskFilter, limit: int, since: Micros, order: GroupOrder = GroupOrder.COUNT
) -> Query | None:
    """Return the query for the groups of matching dead letters; None if nothing can match."""
    if State.FAILED not in places_of(where) or not possible(where):
        return None
    conditions = Conditions(where)
    values = {"limit": limit, "since": since, **GROUPS_LOOK_AT}
    # Its own parameters go behind those of the conditions.
    own = [conditions.bind(values[name]) for name in _GROUPS.names]
    sql = re.sub(r"\$(\d+)", lambda place: own[int(place[1]) - 1], _GROUPS.sql)
    if order is GroupOrder.LAST_AT:
        sql = sql.replace(_LARGEST, _LATEST)
    return Query(
        sql.replace(_LAST_CONDITION, conditions.on(_LAST_CONDITION, _DEAD)), conditions.values
    )


def _finding(
    where: TaskFilter, before_id: str | None, limit: int, selects: dict[str, str]
) -> Query | None:
    tables = _tables(places_of(where).values())
    if not tables or not possible(where):
        return None
    conditions = Conditions(where)
    conditions.before(before_id)
    last = f"order by id desc limit {conditions.bind(limit)}"
    parts = [
        f"({selects[table]} where {conditions.on(condition, table)} {last})"
        for table, condition in tables.items()
    ]
    sql = " union all ".join(parts)
    return Query(f"{sql} {last}" if len(parts) > 1 else sql, conditions.values)


def places_of(where: TaskFilter) -> dict[State, tuple[str, str]]:
    """Return where the tasks of each state that may match lie, each with its condition."""
    wanted = set(where.states or _PLACES)
    for name, states in _ONLY_IN.items():
        if getattr(where, name) is not None:
            wanted &= states
    places = {state: place for state, place in _PLACES.items() if state in wanted}
    if where.discarded and State.FAILED in places:
        places[State.FAILED] = _DISCARDED
    return places


def _tables(places: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the tables to look into, each with its condition."""
    found: dict[str, list[str]] = {}
    for table, condition in places:
        found.setdefault(table, []).append(condition)
    # Both states of a table together are all of it.
    return {table: c[0] if len(c) == 1 else "true" for table, c in found.items()}


def possible(where: TaskFilter) -> bool:
    """Say whether anything can match."""
    ids = [one for one in (where.schedule, where.session) if one is not None]
    return len(possible_ids(ids)) == len(set(ids)) and _digits(where.id_prefix or "")


def _digits(prefix: str) -> bool:
    """Say whether an id may begin like this."""
    digits = prefix.replace("-", "").lower()
    return len(digits) <= 32 and set(digits) <= set("0123456789abcdef")
