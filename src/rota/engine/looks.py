"""Looks at few tasks first, since mostly these are enough, then at more (B170)."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

FIRST = 256
WIDER = 8

At = TypeVar("At")


async def looked(
    look: Callable[[At | None, int, int], Awaitable[tuple[list[str], At | None]]],
    at: At | None,
    limit: int,
    most: int,
) -> tuple[list[str], At | None]:
    """Return up to `limit` ids from `at` on, and where to go on; look at no more than `most`.

    `look` is asked with a place, a limit and a most, and answers ids and the next place.
    """
    ids: list[str] = []
    wide = max(limit, FIRST)
    while True:
        wide = min(wide, most)
        found, at = await look(at, limit - len(ids), wide)
        ids += found
        most -= wide
        if at is None or len(ids) >= limit or most <= 0:
            return ids, at
        wide *= WIDER
