"""What goes on without being asked for: staging what has become due, dropping what is old."""

import apsw

from rota.config import KEEP_AUDIT, KEEP_EFFECTS, KEEP_SESSIONS, KEEP_SLOTS, KEEP_TALLIES
from rota.model import Micros, Retention, Staged
from rota.store.sqlfiles import blocks
from rota.store.sqlite import gates, statistics, tally
from rota.store.sqlite.rows import due_in, to_json

_SQL = blocks("sqlite")


def stage(connection: apsw.Connection, now: Micros, limit: int) -> Staged:
    """Bring the earliest of what is due to ready or to its gate, and let in who has room."""
    due = due_in(connection.execute(_SQL["due_ids"], {"now": now, "limit": limit}).get)
    free = [id_ for id_, gate in due if gate is None]
    if free:
        given = {"ids": to_json(free)}
        connection.execute(_SQL["stage"], given)
        connection.execute(_SQL["leave_scheduled"], given)
    moved = len(free)
    if moved < len(due):
        arrived = to_json([id_ for id_, gate in due if gate is not None])
        connection.execute(_SQL["come_to_gate"], {"ids": arrived})
        moved += gates.admit(connection, [gate for _, gate in due if gate is not None], now)
    return Staged(moved, next_due(connection))


def next_due(connection: apsw.Connection) -> Micros | None:
    """Return the earliest run time of what is scheduled."""
    found: Micros | None = connection.execute(_SQL["next_due"]).get
    return found


def prune(connection: apsw.Connection, now: Micros, retention: Retention, limit: int) -> int:
    """Drop some of what is old; return how many tasks went."""
    given = {
        "now": now,
        "limit": limit,
        "failed_before": now - retention.failed,
        "discarded_before": now - retention.discarded,
        "completed_before": now - retention.completed,
        "cancelled_before": now - retention.cancelled,
        "queues_before": to_json({name: now - kept for name, kept in retention.queues.items()}),
    }
    connection.execute(_SQL["prune_dead_letters"], given)
    pruned = connection.changes()
    connection.execute(_SQL["prune_finished"], given | {"limit": limit - pruned})
    pruned += connection.changes()
    connection.execute(_SQL["prune_keys"], given)
    connection.execute(_SQL["prune_submissions"], {"now": now, "limit": limit})
    connection.execute(_SQL["prune_audit"], {"before": now - KEEP_AUDIT, "limit": limit})
    connection.execute(_SQL["prune_access_keys"], {"before": now - KEEP_AUDIT})
    connection.execute(_SQL["prune_logins"], {"now": now, "limit": limit})
    connection.execute(_SQL["prune_sessions"], {"ended_before": now - KEEP_SESSIONS})
    tally.prune(connection, now - KEEP_TALLIES, limit)
    statistics.prune(connection, now, limit)
    connection.execute(_SQL["prune_effects"], {"before": now - KEEP_EFFECTS, "limit": limit})
    for block in ("prune_slots", "prune_skips"):
        connection.execute(_SQL[block], {"before": now - KEEP_SLOTS, "limit": limit})
    return pruned
