"""Lists in the order of an index: bounded looks, each from where the last one ended (B170)."""

from rota.model import PriorityClass, TaskFilter
from rota.orders import SORTED, Order, Ordered, Sorted, Spot, lane_of, taken
from rota.store.postgres.reads import Conditions, places_of, possible
from rota.store.postgres.search import HELD
from rota.store.postgres.statements import Connection


async def ordered(
    connection: Connection,
    where: TaskFilter,
    order: Order,
    after: Spot | None,
    *,
    limit: int,
    most: int,
) -> Ordered:
    """Return ids of matching tasks behind a place, looking at so many at most."""
    if not places_of(where) or not possible(where):
        return Ordered([])
    how = SORTED[order]
    conditions = Conditions(where)
    behind = "true"
    if after is not None:
        at, id_ = conditions.bind(after.at), conditions.bind(after.id)
        behind = f"({how.column}, id) {'<' if how.falling else '>'} ({at}::bigint, {id_}::uuid)"
    source = HELD if order is Order.STARTED_AT else f"rota.{how.table}"
    way = "desc" if how.falling else "asc"
    last = f"order by at {way}, id {way} limit {conditions.bind(most)}"
    fits = f"({conditions.on('true', how.table)}) is true"
    arms = [
        f"(select {how.column} as at, id, {fits} as fits"  # noqa: S608 - values are bound
        f" from {source} where {only} and {behind} {last})"
        for only in _arms(how, order, where, conditions)
    ]
    sql = f"select at, id::text, fits from ({' union all '.join(arms)}) as looked {last}"  # noqa: S608
    rows = await connection.fetch(sql, *conditions.values)
    return taken([(row[0], row[1], row[2]) for row in rows], limit, most)


def _arms(how: Sorted, order: Order, where: TaskFilter, conditions: Conditions) -> list[str]:
    """Return the conditions of each run of the index that is in order by itself."""
    if order is not Order.RANK:
        return [how.only]
    queue, tenant = map(conditions.bind, lane_of(where))
    lane = f"{how.only} and queue = {queue}::text and tenant = {tenant}::text"
    return [f"{lane} and class = {int(one)}::smallint" for one in PriorityClass]
