"""Handing out: which lanes have work, and taking from them."""

from collections.abc import Sequence

import apsw

from rota.model import Claimed, Lane, Lanes, Look, Micros, Share
from rota.shares import Taken
from rota.store.sqlfiles import blocks
from rota.store.sqlite.limits import Rooms
from rota.store.sqlite.remote import goes_on
from rota.store.sqlite.rows import claimed_in, places_in, to_json
from rota.store.sqlite.sharing import version as settings_version

_SQL = blocks("sqlite")

_JUST_AFTER = "\x01"
"""No name lies between another name and that name followed by this."""


def lanes(connection: apsw.Connection, looks: Sequence[Look], limit: int) -> Lanes:
    """Return the next lanes with work for each look, and the version of the settings."""
    wanted = to_json(
        [{"queue": look.queue, "class": look.cls, "start": _start(look)} for look in looks]
    )
    given = {"looks": wanted, "limit": limit}
    ((version, found),) = connection.execute(_SQL["next_lanes"], given)
    return Lanes(
        [Lane(looks[place].queue, looks[place].cls, tenant) for place, tenant in places_in(found)],
        version,
    )


def take(
    connection: apsw.Connection,
    session_id: str,
    shares: Sequence[Share],
    avoid: Sequence[str],
    *,
    now: Micros,
    version: int,
    number: int | None = None,
) -> Taken:
    """Hand out the first tasks of the shares' lanes to the session, if it is alive."""
    if settings_version(connection) != version:
        return Taken([], stale=True)
    if number is not None and not goes_on(connection, session_id, number):
        return Taken([])
    if not any(share.limits for share in shares):
        return Taken(_hand_out(connection, session_id, shares, avoid, now=now, start=now))
    rooms = Rooms(connection, shares, now)
    tasks: list[Claimed] = []
    for share in shares:
        most, start = rooms.most(share), rooms.starts_at(share)
        got: list[Claimed] = []
        if most:
            part = [Share(share.lane, most)]
            got = _hand_out(connection, session_id, part, avoid, now=now, start=start)
        rooms.used(share, len(got))
        tasks += got
    return Taken(tasks, blocked=rooms.close())


def _hand_out(
    connection: apsw.Connection,
    session_id: str,
    shares: Sequence[Share],
    avoid: Sequence[str],
    *,
    now: Micros,
    start: Micros,
) -> list[Claimed]:
    wanted = {
        "session": session_id,
        "now": now,
        "shares": to_json(shares),
        "avoid": to_json(avoid),
    }
    picked = connection.execute(_SQL["pick"], wanted).get
    if picked == "[]":
        return []
    connection.execute(_SQL["take"], {"session": session_id, "now": start, "picked": picked})
    return claimed_in(connection.execute(_SQL["taken"], {"picked": picked}).get)


def held(connection: apsw.Connection, session_id: str, limit: int) -> list[Claimed]:
    """Return what the session holds."""
    wanted = {"session": session_id, "limit": limit}
    return claimed_in(connection.execute(_SQL["held"], wanted).get)


def _start(look: Look) -> str:
    if look.after is None:
        return ""
    return look.after if look.inclusive else look.after + _JUST_AFTER
