"""Lists in the order of an index: bounded looks, each from where the last one ended (B170)."""

from typing import Any

import apsw

from rota.model import PriorityClass, TaskFilter
from rota.orders import SORTED, Order, Ordered, Sorted, Spot, lane_of, taken
from rota.store.sqlite.filters import arms_of, conditions_of, on

_HELD = "ready indexed by ready_held"
"""What runs is a small part of what is ready, and has an index of its own."""


def ordered(
    connection: apsw.Connection,
    where: TaskFilter,
    order: Order,
    after: Spot | None,
    *,
    limit: int,
    most: int,
) -> Ordered:
    """Return ids of matching tasks behind a place, looking at so many at most."""
    if not arms_of(where):
        return Ordered([])
    how = SORTED[order]
    conditions, values = conditions_of(where)
    values["most"] = most
    behind = "true"
    if after is not None:
        behind = f"({how.column}, id) {'<' if how.falling else '>'} (:after_at, :after_id)"
        values |= {"after_at": after.at, "after_id": after.id}
    fits = on(how.table, ["true", *conditions])
    source = _HELD if order is Order.STARTED_AT else how.table
    way = "desc" if how.falling else "asc"
    last = f"order by at {way}, id {way} limit :most"
    arms = [
        f"select * from (select {how.column} as at, id, ({fits}) is true as fits"  # noqa: S608
        f" from {source} where {only} and {behind} {last})"
        for only in _arms(how, order, where, values)
    ]
    rows = connection.execute(f"{' union all '.join(arms)} {last}", values)
    return taken(list(rows), limit, most)


def _arms(how: Sorted, order: Order, where: TaskFilter, values: dict[str, Any]) -> list[str]:
    """Return the conditions of each run of the index that is in order by itself."""
    if order is not Order.RANK:
        return [how.only]
    values["lane_queue"], values["lane_tenant"] = lane_of(where)
    lane = f"{how.only} and queue = :lane_queue and tenant = :lane_tenant"
    return [f"{lane} and class = {int(one)}" for one in PriorityClass]
