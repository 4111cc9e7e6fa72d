"""Finds and counts tasks: the rows of `get` under other conditions, newest first."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from rota.model import State, Task, TaskFilter
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
_ONLY_FAILED = ("group", "error_type")
"""What is known of dead letters alone."""
_COLUMNS = {
    "queue": "queue",
    "kind": "kind",
    "tenant": "tenant",
    "key": "key",
    "concurrency_key": "concurrency_key",
    "group": "error_group",
    "error_type": "error_type",
}
_GROUPS = statement("dead_letter_groups")
_LAST_CONDITION = "and discarded_at is null"
"""Where the block of the groups takes more of them."""


class Query(NamedTuple):
    """A statement and the values of its parameters."""

    sql: str
    values: list[Any]


class _Conditions:
    """The conditions of a filter, with the values that they are bound to."""

    def __init__(self, where: TaskFilter) -> None:
        self.values: list[Any] = []
        self._parts: list[str] = []
        for field, column in _COLUMNS.items():
            self._add(f"{column} = {{}}", getattr(where, field))
        self._add("schedule = {}::uuid", where.schedule)
        self._add("tags @> array[{}::text]", where.tag)
        self._add("created_at >= {}", where.created_from)
        self._add("created_at < {}", where.created_to)
        if where.id_prefix:
            digits = where.id_prefix.replace("-", "").lower()
            self._add("id >= {}", _padded(digits, "0"))
            self._add("id <= {}", _padded(digits, "f"))

    def before(self, task_id: str | None) -> None:
        """Leave out this task and what is newer."""
        self._add("id < {}", task_id)

    def bind(self, value: Any) -> str:
        """Bind a value and return what stands for it."""
        self.values.append(value)
        return f"${len(self.values)}"

    def on(self, condition: str) -> str:
        """Return all conditions with one more."""
        return " and ".join([condition, *self._parts])

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
    places = _places(where)
    if not places or not _possible(where):
        return {}
    conditions = _Conditions(where)
    limit = conditions.bind(cap)
    parts = []
    for table, condition in places.values():
        some = f"select from rota.{table} where {conditions.on(condition)} limit {limit}"
        parts.append(f"(select count(*) from ({some}) as counted)")  # noqa: S608 - values are bound
    row = await connection.fetchrow(f"select {', '.join(parts)}", *conditions.values)
    return {state: n for state, n in zip(places, row, strict=True) if n}


def grouping(where: TaskFilter, limit: int) -> Query | None:
    """Return the query for the groups of matching dead letters; None if nothing can match."""
    if State.FAILED not in _places(where) or not _possible(where):
        return None
    conditions = _Conditions(where)
    sql = _GROUPS.sql.replace("$1", conditions.bind(limit))
    return Query(sql.replace(_LAST_CONDITION, conditions.on(_LAST_CONDITION)), conditions.values)


def _finding(
    where: TaskFilter, before_id: str | None, limit: int, selects: dict[str, str]
) -> Query | None:
    tables = _tables(_places(where).values())
    if not tables or not _possible(where):
        return None
    conditions = _Conditions(where)
    conditions.before(before_id)
    last = f"order by id desc limit {conditions.bind(limit)}"
    parts = [
        f"({selects[table]} where {conditions.on(condition)} {last})"
        for table, condition in tables.items()
    ]
    sql = " union all ".join(parts)
    return Query(f"{sql} {last}" if len(parts) > 1 else sql, conditions.values)


def _places(where: TaskFilter) -> dict[State, tuple[str, str]]:
    """Return where the tasks of each state that may match lie, each with its condition."""
    dead = any(getattr(where, name) is not None for name in _ONLY_FAILED)
    wanted = where.states or tuple(_PLACES)
    places = {state: place for state, place in _PLACES.items() if state in wanted}
    if dead:
        places = {state: place for state, place in places.items() if state is State.FAILED}
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


def _possible(where: TaskFilter) -> bool:
    if where.schedule is not None and not possible_ids([where.schedule]):
        return False
    digits = (where.id_prefix or "").replace("-", "").lower()
    return len(digits) <= 32 and set(digits) <= set("0123456789abcdef")


def _padded(digits: str, with_digit: str) -> str:
    return digits.ljust(32, with_digit)
