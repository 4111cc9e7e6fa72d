"""Looks whose cost is bounded, whatever is looked for: at so many tasks and no more (B170)."""

import apsw
from msgspec import structs

from rota.actions import Counted, Found
from rota.model import State, TaskFilter
from rota.store.sqlite.filters import BEGINS, arms_of, conditions_of, on, states_of
from rota.store.sqlite.rows import ids_in

_RUNNING = "session is not null"
_HELD = "ready indexed by ready_held"
"""What runs is a small part of what is ready, and has an index of its own."""


def search(
    connection: apsw.Connection, where: TaskFilter, before_id: str | None, limit: int, most: int
) -> Found:
    """Return ids of matching tasks among the newest."""
    # What leads to the ids by their index goes inside, where it counts as a look.
    conditions, values = conditions_of(structs.replace(where, id_prefix=None))
    below = "id < :before_id" if before_id is not None else "true"
    if where.id_prefix:
        below += f" and {BEGINS}"
        values["id_prefix"] = where.id_prefix
    tables: dict[str, list[str]] = {}
    for table, only in arms_of(where):
        tables.setdefault(_HELD if only == _RUNNING and _alone(where) else table, []).append(only)
    if not tables:
        return Found([])
    arms = [
        f"select * from (select id, {_fits(table, only, conditions)} as fits from {table}"  # noqa: S608
        f" where {below} and {_RUNNING if table == _HELD else 'true'}"
        " order by id desc limit :most)"
        for table, only in tables.items()
    ]
    sql = (
        "with looked as materialized ("  # noqa: S608 - fixed fragments, values are bound
        f"select * from ({' union all '.join(arms)}) order by id desc limit :most) "
        "select (select json_group_array(id) from"
        " (select id from looked where fits order by id desc limit :limit)),"
        " (select min(id) from looked), (select count(*) from looked)"
    )
    given = {**values, "before_id": before_id, "limit": limit, "most": most}
    ((found, last, looked),) = connection.execute(sql, given)
    ids = ids_in(found)
    if len(ids) == limit:
        return Found(ids, ids[-1])
    return Found(ids, last if looked == most else None)


def count_among(connection: apsw.Connection, where: TaskFilter, cap: int, most: int) -> Counted:
    """Count matching tasks by state, among so many of each."""
    conditions, values = conditions_of(where)
    arms = [
        f"select '{state}', coalesce(sum(fits), 0), count(*)"  # noqa: S608 - values are bound
        f" from (select {_fits(table, [only], conditions)} is true as fits"
        f" from {table} where {_inside(only)} limit :most)"
        for state, (table, only) in zip(states_of(where), arms_of(where), strict=True)
    ]
    if not arms:
        return Counted({})
    rows = list(connection.execute(" union all ".join(arms), {**values, "most": most}))
    counts = {State(state): min(number, cap) for state, number, _ in rows if number}
    return Counted(counts, all(number <= cap and looked < most for _, number, looked in rows))


def _inside(only: str) -> str:
    # By index, so that none of the others count as looked at.
    return only if "session" in only or "state" in only else "true"


def _alone(where: TaskFilter) -> bool:
    return State.READY not in states_of(where)


def _fits(table: str, only: list[str], conditions: list[str]) -> str:
    either = f"({' or '.join(only)})"
    return on(table, [either, *conditions])
