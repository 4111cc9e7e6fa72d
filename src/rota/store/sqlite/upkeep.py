"""What goes on without being asked for: staging what has become due, dropping what is old."""

import apsw

from rota.config import KEEP_SESSIONS
from rota.model import Micros, Staged
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import ids_in

_SQL = blocks("sqlite")


def stage(connection: apsw.Connection, now: Micros, limit: int) -> Staged:
    """Move the earliest of what is due to ready."""
    due = connection.execute(_SQL["due_ids"], {"now": now, "limit": limit}).get
    moved = len(ids_in(due))
    if moved:
        connection.execute(_SQL["stage"], {"ids": due})
        connection.execute(_SQL["leave_scheduled"], {"ids": due})
    return Staged(moved, next_due(connection))


def next_due(connection: apsw.Connection) -> Micros | None:
    """Return the earliest run time of what is scheduled."""
    found: Micros | None = connection.execute(_SQL["next_due"]).get
    return found


def prune(connection: apsw.Connection, now: Micros, finished_before: Micros, limit: int) -> int:
    """Drop some of what is old; return how many finished tasks went."""
    given = {"finished_before": finished_before, "limit": limit, "now": now}
    connection.execute(_SQL["prune_finished"], given)
    pruned = connection.changes()
    connection.execute(_SQL["prune_keys"], given)
    connection.execute(_SQL["prune_sessions"], {"ended_before": now - KEEP_SESSIONS})
    return pruned
