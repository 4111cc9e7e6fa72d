"""Handing out: which lanes have work, and taking from them."""

from collections.abc import Sequence

import apsw

from rota.model import Claimed, Lane, Look, Micros, Share
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import claimed_in, places_in, to_json

_SQL = blocks("sqlite")

_JUST_AFTER = "\x01"
"""No name lies between another name and that name followed by this."""


def lanes(connection: apsw.Connection, looks: Sequence[Look], limit: int) -> list[Lane]:
    """Return the next lanes with work for each look."""
    wanted = to_json(
        [{"queue": look.queue, "class": look.cls, "start": _start(look)} for look in looks]
    )
    found = connection.execute(_SQL["next_lanes"], {"looks": wanted, "limit": limit}).get
    return [
        Lane(looks[place].queue, looks[place].cls, tenant) for place, tenant in places_in(found)
    ]


def take(
    connection: apsw.Connection,
    session_id: str,
    shares: Sequence[Share],
    avoid: Sequence[str],
    now: Micros,
) -> list[Claimed]:
    """Hand out the first tasks of the shares' lanes to the session, if it is alive."""
    wanted = {
        "session": session_id,
        "now": now,
        "shares": to_json(shares),
        "avoid": to_json(avoid),
    }
    picked = connection.execute(_SQL["pick"], wanted).get
    if picked == "[]":
        return []
    connection.execute(_SQL["take"], {"session": session_id, "now": now, "picked": picked})
    return claimed_in(connection.execute(_SQL["taken"], {"picked": picked}).get)


def held(connection: apsw.Connection, session_id: str, limit: int) -> list[Claimed]:
    """Return what the session holds."""
    wanted = {"session": session_id, "limit": limit}
    return claimed_in(connection.execute(_SQL["held"], wanted).get)


def _start(look: Look) -> str:
    if look.after is None:
        return ""
    return look.after if look.inclusive else look.after + _JUST_AFTER
