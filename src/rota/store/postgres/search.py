"""Looks whose cost is bounded, whatever is looked for: at so many tasks and no more (B170)."""

from msgspec import structs

from rota.actions import Counted, Found
from rota.model import State, TaskFilter
from rota.store.postgres.reads import Conditions, places_of, possible
from rota.store.postgres.statements import Connection

_RUNNING = "session is not null"
HELD = f"(select * from rota.ready where {_RUNNING} offset 0) as ready"  # noqa: S608 - fixed
"""What runs is a small part of what is ready, with an index of its own; `offset` keeps the planner
from going through everything in the order of the ids instead."""
_CANCELLED = "state = 'cancelled'"
"""Few among many, with an index of their own."""


async def search(
    connection: Connection, where: TaskFilter, before_id: str | None, limit: int, most: int
) -> Found:
    """Return ids of matching tasks among the newest."""
    places = places_of(where)
    if not places or not possible(where):
        return Found([])
    # What leads to the ids by their index goes inside, where it counts as a look.
    conditions = Conditions(structs.replace(where, id_prefix=None))
    below = "true" if before_id is None else f"id < {conditions.bind(before_id)}"
    if where.id_prefix:
        below += f" and {conditions.begins(where.id_prefix)}"
    last = f"order by id desc limit {conditions.bind(most)}"
    tables: dict[str, list[str]] = {}
    for state, (table, only) in places.items():
        source = f"rota.{table}"
        if state is State.RUNNING and State.READY not in places:
            source = HELD
        tables.setdefault(source, []).append(only)
    arms = [
        f"(select id, {_fits(conditions, source, only)} as fits"  # noqa: S608 - values are bound
        f" from {source} where {below} and {_CANCELLED if only == [_CANCELLED] else 'true'} {last})"
        for source, only in tables.items()
    ]
    sql = (
        "with looked as materialized ("  # noqa: S608 - fixed fragments, values are bound
        f"select * from ({' union all '.join(arms)}) as newest {last}) "
        "select array(select id::text from looked where fits"
        f" order by id desc limit {conditions.bind(limit)}),"
        " (select id::text from looked order by id limit 1), (select count(*) from looked)"
    )
    row = await connection.fetchrow(sql, *conditions.values)
    ids: list[str] = row[0]
    if len(ids) == limit:
        return Found(ids, ids[-1])
    return Found(ids, row[1] if row[2] == most else None)


async def count_among(connection: Connection, where: TaskFilter, cap: int, most: int) -> Counted:
    """Count matching tasks by state, among so many of each."""
    places = places_of(where)
    if not places or not possible(where):
        return Counted({})
    conditions = Conditions(where)
    limit = conditions.bind(most)
    arms = [
        f"(select '{state.value}', count(*) filter (where fits), count(*)"  # noqa: S608 - bound
        f" from (select {_fits(conditions, table, [only])} as fits"
        f" from rota.{table} where {_inside(only)} limit {limit}) as looked)"
        for state, (table, only) in places.items()
    ]
    rows = await connection.fetch(" union all ".join(arms), *conditions.values)
    counts = {State(state): min(number, cap) for state, number, _ in rows if number}
    return Counted(counts, all(number <= cap and looked < most for _, number, looked in rows))


def _inside(only: str) -> str:
    # By index, so that none of the others count as looked at.
    return only if "session" in only or only == _CANCELLED else "true"


def _fits(conditions: Conditions, source: str, only: list[str]) -> str:
    either = f"({' or '.join(only)})"
    return f"({conditions.on(either, source.removeprefix('rota.'))})"
