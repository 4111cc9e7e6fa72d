"""Pages of things that have names, in the order of those."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar

from msgspec import Meta

from rota.insights import PAGE, PAGE_MOST
from rota.server.route import Answer, Call, In
from rota.times import show_instant

T = TypeVar("T")

Limit = Annotated[int, Meta(ge=1, le=PAGE_MOST)]


class Named(In, frozen=True):
    """Which ones to list, and where the page begins."""

    paused: bool | None = None
    limit: Limit = PAGE
    cursor: str | None = None


async def page_of(
    call: Call,
    found: Iterable[T],
    name: Callable[[T], str],
    show: Callable[[T], dict[str, Any]],
) -> Answer:
    """Return the page, of all that were found, that begins where the cursor says."""
    after = await begins_after(call)
    left = sorted((one for one in found if after is None or name(one) > after), key=name)
    return await page(call, left[: call.query.limit], name, show, more=len(left) > call.query.limit)


async def page(
    call: Call,
    items: list[T],
    name: Callable[[T], str],
    show: Callable[[T], dict[str, Any]],
    *,
    more: bool,
) -> Answer:
    """Return one page, and where the next one begins if there is more."""
    after = None
    if more and items:
        last = [name(items[-1])]
        after = await call.place.cursors.seal(call.route.name, last, _about(call))
    as_of = show_instant(call.place.clock.now())
    return Answer({"items": [show(one) for one in items], "next": after, "as_of": as_of})


async def begins_after(call: Call) -> str | None:
    """Return the name after which the page begins; `Problem` if the cursor is not one of ours."""
    if call.query.cursor is None:
        return None
    (name,) = await call.place.cursors.open(call.query.cursor, call.route.name, _about(call))
    return str(name)


def _about(call: Call) -> dict[str, Any]:
    """Return what a list is narrowed by, and of what."""
    query = call.query
    asked = {
        name: getattr(query, name)
        for name in query.__struct_fields__
        if name not in ("limit", "cursor")
    }
    return {**asked, **call.path}
