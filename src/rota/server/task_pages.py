"""Pages of tasks in an order, at a cost that is bounded whatever is looked for (B170)."""

from typing import Any

from msgspec import Struct

from rota import views
from rota.errors import InvalidTask
from rota.insights import COUNT_CAP
from rota.model import Task, TaskFilter
from rota.orders import Order, Spot
from rota.server.filters import wrong
from rota.server.paging import page_answer
from rota.server.route import Answer, Call

__all__ = [
    "COUNT_CAP",
    "COUNT_LOOK",
    "LOOK_INTO",
    "Paged",
    "page_of",
    "shown",
]

LOOK = 10_000
"""A page looks at so many tasks at most, then says where to go on: it may be short, or empty."""
LOOK_INTO = 2_000
"""At so many if it looks into payloads, which lie apart from their rows when they are large."""
COUNT_LOOK = 20_000
"""A count looks at so many of each state; beyond them it is a least number."""


class Paged(Struct, frozen=True):
    """How many tasks a page has, in which order, where it begins, and how much it shows of each."""

    order: Order
    limit: int
    cursor: str | None
    full: bool


async def page_of(call: Call, where: TaskFilter, paged: Paged, *, about: Any) -> Answer:
    """Return a page of matching tasks; `about` is the filter as it was asked for."""
    cursors, order = call.place.cursors, paged.order
    after = None
    if paged.cursor is not None:
        after = Spot(*await cursors.open(paged.cursor, order, about))
    most = LOOK_INTO if where.payload else LOOK
    try:
        found = await call.backend.ordered(
            where, order=order, after=after, limit=paged.limit, most=most
        )
    except InvalidTask as error:
        raise wrong(error.field, error.problem) from None
    tasks = await call.backend.get(found.ids) if found.ids else []
    items = [
        shown(call, task, full=paged.full)
        for task in tasks
        # What has moved on since it was found is on nobody's list of the state that it had.
        if task is not None and (not where.states or task.state in where.states)
    ]
    on = found.next
    next_ = None if on is None else await cursors.seal(order, [on.at, on.id], about)
    return page_answer(call, items, next_)


def shown(call: Call, task: Task, *, full: bool) -> dict[str, Any]:
    """Return a task as this caller sees it."""
    view = views.full(task) if full else views.summary(task)
    return view | {"masked": not call.caller.scope.payloads}
