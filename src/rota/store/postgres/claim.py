"""Handing out: which lanes have work, and taking from them."""

from collections.abc import Sequence
from typing import Any

from rota.model import Claimed, Lane, Lanes, Look, Micros, Share
from rota.shares import Blocked, Held, Taken
from rota.store.postgres.statements import Connection, fetch, fetch_value

_FIELDS = len(Claimed.__struct_fields__)
_STALE = "stale"


async def lanes(connection: Connection, looks: Sequence[Look], limit: int) -> Lanes:
    """Return the next lanes with work for each look, and the version of the settings."""
    found = await fetch(
        connection,
        "next_lanes",
        queues=[look.queue for look in looks],
        classes=[look.cls for look in looks],
        starts=[_start(look) for look in looks],
        limit=limit,
    )
    return Lanes(
        [Lane(looks[n - 1].queue, looks[n - 1].cls, tenant) for _, n, tenant in found if n],
        found[0][0],
    )


async def take(
    connection: Connection,
    session_id: str,
    shares: Sequence[Share],
    avoid: Sequence[str],
    *,
    now: Micros,
    version: int,
    number: int | None = None,
) -> Taken:
    """Hand out the first tasks of the shares' lanes to the session, if it is alive."""
    given: dict[str, Any] = {
        "session": session_id,
        "queues": [share.lane.queue for share in shares],
        "classes": [share.lane.cls for share in shares],
        "tenants": [share.lane.tenant for share in shares],
        "counts": [share.count for share in shares],
        "avoid": avoid,
        "now": now,
        "version": version,
    }
    if number is not None:
        given["number"] = number
    if any(share.limits for share in shares):
        return await _take_limited(connection, shares, given)
    found = await fetch(connection, "take" if number is None else "take_numbered", **given)
    if found:
        return Taken([Claimed(*row) for row in found])
    # The version only grows: if it is the same now, it was the same then.
    return Taken([], stale=await fetch_value(connection, "settings_version") != version)


async def _take_limited(
    connection: Connection, shares: Sequence[Share], given: dict[str, Any]
) -> Taken:
    bound = [(place, id_) for place, share in enumerate(shares, 1) for id_ in share.limits]
    places, ids = zip(*bound, strict=True)
    block = "take_numbered_limited" if "number" in given else "take_limited"
    found = await fetch(connection, block, **given, bound=places, limits=ids)
    tasks, blocked = [], []
    for row in found:
        limit, why, until = row[_FIELDS:]
        if why is None:
            tasks.append(Claimed(*row[:_FIELDS]))
        elif why == _STALE:
            return Taken([], stale=True)
        else:
            blocked.append(Blocked(limit, Held(why), until))
    return Taken(tasks, blocked=tuple(blocked))


def _start(look: Look) -> str:
    """Return the least tenant that a look takes in; nothing sorts between a text and that."""
    if look.after is None:
        return ""
    return look.after if look.inclusive else f"{look.after}\x01"
