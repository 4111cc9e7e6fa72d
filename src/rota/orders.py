"""In which orders tasks are listed: those that an index gives, and no other (B170, ADR 33)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from rota.errors import InvalidTask
from rota.model import Micros, State, TaskFilter


class Order(StrEnum):
    """An order of a list; with a minus the largest comes first. Ids decide between equals."""

    CREATED = "-created"
    RANK = "rank"
    RUN_AT = "run_at"
    STARTED_AT = "started_at"
    FINISHED_AT = "-finished_at"


class GroupOrder(StrEnum):
    """An order of groups of dead letters: the largest first, or what failed last."""

    COUNT = "-count"
    LAST_AT = "-last_at"


class Spot(Struct, frozen=True):
    """A place in an order: the value that it goes by, and the id."""

    at: Micros
    id: str


class Ordered(Struct, frozen=True):
    """Ids in order; `next` is the place behind which to look on, None at the end.

    There may be fewer than were asked for, or none, though there is more: a look is bounded.
    """

    ids: list[str]
    next: Spot | None = None


class Sorted(Struct, frozen=True):
    """What an order goes by: a column of a table, among the rows that its index has."""

    table: str
    column: str
    only: str
    falling: bool = False


SORTED: Final = {
    Order.RANK: Sorted("ready", "rank", "session is null"),
    Order.RUN_AT: Sorted("scheduled", "run_at", "not at_gate"),
    Order.STARTED_AT: Sorted("ready", "started_at", "session is not null"),
    Order.FINISHED_AT: Sorted("dead_letter", "failed_at", "discarded_at is null", falling=True),
}
"""Of every order but that by id."""
_STATES: Final = {
    Order.RANK: State.READY,
    Order.RUN_AT: State.SCHEDULED,
    Order.STARTED_AT: State.RUNNING,
    Order.FINISHED_AT: State.FAILED,
}


def check_order(order: Order, where: TaskFilter) -> None:
    """Refuse an order for which these tasks have no index; `InvalidTask` says what it needs."""
    state = _STATES.get(order)
    if state is None:
        return
    if where.states != (state,):
        raise InvalidTask("order", f"{order} sorts tasks that are {state}; add state={state}")
    if order is Order.FINISHED_AT and where.discarded:
        raise InvalidTask("order", f"{order} leaves out what was discarded; use {Order.CREATED}")
    if order is Order.RANK:
        lane_of(where)


def lane_of(where: TaskFilter) -> tuple[str, str]:
    """Return the one queue and the one tenant of a filter; `InvalidTask` if there are not both."""
    queues = where.queues if where.queue is None else (where.queue,)
    tenants = where.tenants if where.tenant is None else (where.tenant,)
    for name, found in (("queue", queues), ("tenant", tenants)):
        if found is None or len(found) != 1:
            raise InvalidTask("order", f"{Order.RANK} is that of one lane; add one {name}")
    assert queues is not None
    assert tenants is not None
    return queues[0], tenants[0]


def taken(looked: Sequence[tuple[Micros, str, bool]], limit: int, most: int) -> Ordered:
    """Return what fits of the rows that a look met, in order; `most` is how many it might meet."""
    fitting = [(at, id_) for at, id_, fits in looked if fits]
    if len(fitting) >= limit:
        return Ordered([id_ for _, id_ in fitting[:limit]], Spot(*fitting[limit - 1]))
    on = Spot(looked[-1][0], looked[-1][1]) if looked and len(looked) >= most else None
    return Ordered([id_ for _, id_ in fitting], on)
