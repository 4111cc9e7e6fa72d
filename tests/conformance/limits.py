"""What tests of limits do again and again."""

from collections.abc import Sequence
from typing import Any

from rota.model import Lane, Micros, PriorityClass, Share
from rota.shares import Limit, Taken
from rota.store.base import Store
from tests.support.factories import NOW

QUEUE = "default"
BOARD = Lane(QUEUE, PriorityClass.NORMAL, "board")
SCHOOL = Lane(QUEUE, PriorityClass.NORMAL, "school")
MAIL = Lane("mail", PriorityClass.NORMAL, "board")


async def store_limits(store: Store, *limits: Limit) -> None:
    """Store new limits."""
    for limit in limits:
        assert await store.put_limit(limit, 0), limit


def limit(id_: str, **fields: Any) -> Limit:
    """A limit of the default queue unless told otherwise, filled up at the beginning."""
    scope = {} if {"queue", "tenant"} & fields.keys() else {"queue": QUEUE}
    return Limit(id=id_, **{"filled_at": NOW} | scope | fields)


def under(lane: Lane, count: int, limits: Sequence[Limit]) -> Share:
    """A share of a lane, with those of the limits that bind it."""
    binding = [limit.id for limit in limits if limit.binds(lane.queue, lane.tenant)]
    return Share(lane, count, tuple(binding))


async def take_under(
    store: Store, session_id: str, shares: Sequence[Share], now: Micros = NOW
) -> Taken:
    """Take shares by the settings of this moment."""
    taken = await store.take(session_id, shares, (), now, (await store.lanes([], 1)).version)
    assert not taken.stale
    return taken
