"""Pages of tasks: by id, newest first, at a cost that is bounded whatever is looked for (B170)."""

from typing import Any

from msgspec import Struct

from rota import views
from rota.insights import COUNT_CAP, PAGE, PAGE_MOST
from rota.model import Task, TaskFilter
from rota.server.route import Answer, Call
from rota.times import show_instant

__all__ = [
    "COUNT_CAP",
    "COUNT_LOOK",
    "CURSOR_CODES",
    "LOOK_INTO",
    "PAGE",
    "PAGE_MOST",
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
ORDER = "-created"
CURSOR_CODES = ((400, "cursor_invalid"), (422, "cursor_mismatch"))


class Paged(Struct, frozen=True):
    """How many tasks a page has, where it begins, and how much of each it shows."""

    limit: int
    cursor: str | None
    full: bool


async def page_of(call: Call, where: TaskFilter, paged: Paged, *, about: Any) -> Answer:
    """Return a page of matching tasks; `about` is the filter as it was asked for."""
    cursors = call.place.cursors
    before_id = None
    if paged.cursor is not None:
        (before_id,) = await cursors.open(paged.cursor, ORDER, about)
    as_of = show_instant(call.place.clock.now())
    most = LOOK_INTO if where.payload else LOOK
    found = await call.backend.search(where, before_id=before_id, limit=paged.limit, most=most)
    tasks = await call.backend.get(found.ids) if found.ids else []
    items = [
        shown(call, task, full=paged.full)
        for task in tasks
        # What has moved on since it was found is on nobody's list of the state that it had.
        if task is not None and (not where.states or task.state in where.states)
    ]
    next_ = None if found.next_id is None else await cursors.seal(ORDER, [found.next_id], about)
    return Answer({"items": items, "next": next_, "as_of": as_of})


def shown(call: Call, task: Task, *, full: bool) -> dict[str, Any]:
    """Return a task as this caller sees it."""
    view = views.full(task) if full else views.summary(task)
    return view | {"masked": not call.caller.scope.payloads}
