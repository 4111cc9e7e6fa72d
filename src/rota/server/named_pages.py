"""Pages of things that have names, in the order of those."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from rota.server.paging import PageQuery, page_answer
from rota.server.route import Answer, Call

T = TypeVar("T")


class Named(PageQuery, frozen=True):
    """Which ones to list."""

    paused: bool | None = None


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
    return page_answer(call, [show(one) for one in items], after)


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
