"""What every list takes and answers: how long a page is, and where the next one begins."""

from typing import Annotated, Any

from msgspec import Meta

from rota.insights import PAGE, PAGE_MOST
from rota.server.route import Answer, Call, In
from rota.times import show_instant

CURSOR_CODES = ((400, "cursor_invalid"), (422, "cursor_mismatch"))

Limit = Annotated[int, Meta(ge=1, le=PAGE_MOST)]


class PageQuery(In, frozen=True):
    """How long the page is, and the cursor of the one before it."""

    limit: Limit = PAGE
    cursor: str | None = None


def page_answer(call: Call, items: list[Any], next_: str | None) -> Answer:
    """Return a page; `next_` is the cursor behind it, None if nothing comes behind it."""
    as_of = show_instant(call.place.clock.now())
    return Answer({"items": items, "next": next_, "as_of": as_of})
