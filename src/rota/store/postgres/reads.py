"""Finds and counts tasks: the rows of `get` under other conditions, newest first."""

from collections.abc import Sequence
from typing import Any

from rota.model import State, Task, TaskFilter
from rota.store.postgres.rows import task_of
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
    State.FAILED: ("dead_letter", "true"),
    State.COMPLETED: ("finished", "state = 'completed'"),
    State.CANCELLED: ("finished", "state = 'cancelled'"),
}


class _Conditions:
    """The conditions of a filter, with the values that they are bound to."""

    def __init__(self, where: TaskFilter) -> None:
        self.values: list[Any] = []
        self._parts: list[str] = []
        for column in ("queue", "kind", "tenant", "key"):
            self._add(f"{column} = {{}}", getattr(where, column))
        self._add("tags @> array[{}::text]", where.tag)
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
    if not _possible(where):
        return []
    conditions = _Conditions(where)
    conditions.before(before_id)
    last = f"order by id desc limit {conditions.bind(limit)}"
    parts = [
        f"({_SELECTS[table]} where {conditions.on(condition)} {last})"
        for table, condition in _places(where.states).items()
    ]
    sql = " union all ".join(parts)
    rows = await connection.fetch(f"{sql} {last}" if len(parts) > 1 else sql, *conditions.values)
    return [task_of(row) for row in rows]


async def count(connection: Connection, where: TaskFilter, cap: int) -> dict[State, int]:
    """Count matching tasks by state, none further than the cap."""
    if not _possible(where):
        return {}
    conditions = _Conditions(where)
    limit = conditions.bind(cap)
    states = where.states or tuple(_PLACES)
    parts = []
    for table, condition in (_PLACES[state] for state in states):
        some = f"select from rota.{table} where {conditions.on(condition)} limit {limit}"
        parts.append(f"(select count(*) from ({some}) as counted)")  # noqa: S608 - values are bound
    row = await connection.fetchrow(f"select {', '.join(parts)}", *conditions.values)
    return {state: n for state, n in zip(states, row, strict=True) if n}


def _places(states: Sequence[State]) -> dict[str, str]:
    """Return the tables to look into, each with its condition."""
    places: dict[str, list[str]] = {}
    for state in states or tuple(_PLACES):
        table, condition = _PLACES[state]
        places.setdefault(table, []).append(condition)
    # Both states of a table together are all of it.
    return {table: c[0] if len(set(c)) == 1 else "true" for table, c in places.items()}


def _possible(where: TaskFilter) -> bool:
    digits = (where.id_prefix or "").replace("-", "").lower()
    return len(digits) <= 32 and set(digits) <= set("0123456789abcdef")


def _padded(digits: str, with_digit: str) -> str:
    return digits.ljust(32, with_digit)
