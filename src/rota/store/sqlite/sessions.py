"""Sessions and their leases."""

import apsw

from rota.model import Micros, Session
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import session_in, to_json

_SQL = blocks("sqlite")


def open_session(connection: apsw.Connection, session: Session) -> None:
    """Register a session, once."""
    row = {
        "id": session.id,
        "name": session.name,
        "host": session.host,
        "pid": session.pid,
        "version": session.version,
        "queues": to_json(session.queues),
        "kinds": to_json(session.kinds),
        "slots": session.slots,
        "started_at": session.started_at,
        "lease_until": session.lease_until,
        "closed_at": session.closed_at,
        "process": session.process,
        "owner": session.owner,
    }
    connection.execute(_SQL["open_session"], row)


def close_session(connection: apsw.Connection, session_id: str, now: Micros) -> None:
    """End a session."""
    connection.execute(_SQL["close_session"], {"session": session_id, "now": now})


def end_expired(connection: apsw.Connection, now: Micros, limit: int) -> list[str]:
    """End sessions whose lease has run out; return ended ones that still hold tasks."""
    given = {"now": now, "limit": limit}
    connection.execute(_SQL["end_expired_sessions"], given)
    return [id_ for (id_,) in connection.execute(_SQL["ended_sessions_holding"], given)]


def sessions(connection: apsw.Connection, live_at: Micros | None) -> list[Session]:
    """Return the sessions, newest first."""
    rows = connection.execute(_SQL["list_sessions"], {"live_at": live_at})
    return [session_in(text) for (text,) in rows]
