"""Cancelling: at once what waits, by asking what runs, and for good what did not stop in time."""

from collections.abc import Sequence
from typing import Any, Final

import apsw

from rota.model import CancelOutcome, CancelRequest, Micros, State
from rota.store.sqlfiles import blocks
from rota.store.sqlite import tally
from rota.store.sqlite.rows import ids_in, requests_in, to_json
from rota.store.sqlite.states import standing

_SQL = blocks("sqlite")

ASKED: Final = "cancelled by request"
EXPIRED: Final = "expired"
REVOKED: Final = "cancelled: its handler did not stop by the deadline"

NONE: Final = "[]"

# From where a task is cancelled at once: the copy, and the removal.
_AT_ONCE: Final = {
    State.SCHEDULED: ("cancel_scheduled", "leave_scheduled"),
    State.READY: ("cancel_ready", "leave_ready"),
}
# Where tasks wait: which of them are over, the copy, and the removal.
_OVER: Final = (
    ("expired_ready_ids", "expire_ready", "leave_ready"),
    ("expired_scheduled_ids", "expire_scheduled", "leave_scheduled"),
)


def cancel(
    connection: apsw.Connection,
    ids: Sequence[str],
    now: Micros,
    deadline: Micros | None,
    reason: str = ASKED,
) -> list[CancelOutcome]:
    """Cancel the tasks that wait, and ask those that run to stop."""
    found = standing(connection, ids)
    for state, (copy, remove) in _AT_ONCE.items():
        waiting = [id_ for id_, (its, _) in found.items() if its is state]
        if waiting:
            given = {"ids": to_json(waiting), "now": now, "reason": reason}
            _move(connection, copy, remove, given)
    running = [id_ for id_, (its, _) in found.items() if its is State.RUNNING]
    if running:
        asked = {"ids": to_json(running), "now": now, "deadline": deadline}
        connection.execute(_SQL["ask_to_cancel"], asked)
    return [_outcome(found[id_][0] if id_ in found else None) for id_ in ids]


def asked(connection: apsw.Connection, session_id: str) -> tuple[CancelRequest, ...]:
    """Return what the session holds and is asked to stop."""
    return requests_in(connection.execute(_SQL["asked_cancels"], {"session": session_id}).get)


def overdue(connection: apsw.Connection, now: Micros, limit: int) -> str:
    """Return, as JSON, the ids of running tasks whose deadline to stop has passed."""
    ids: str = connection.execute(_SQL["overdue_ids"], {"now": now, "limit": limit}).get
    return ids


def revoke_overdue(connection: apsw.Connection, now: Micros, limit: int) -> list[str]:
    """Cancel them; return their ids."""
    ids = overdue(connection, now, limit)
    if ids != NONE:
        given = {"ids": ids, "now": now, "reason": REVOKED}
        _move(connection, "revoke_overdue", "leave_ready", given)
    return ids_in(ids)


def any_over(connection: apsw.Connection, now: Micros) -> bool:
    """Say whether a waiting task's time is over, or one was asked to stop."""
    given = {"now": now, "limit": 1}
    return any(connection.execute(_SQL[wanted], given).get != NONE for wanted, _, _ in _OVER)


def expire(connection: apsw.Connection, now: Micros, limit: int) -> int:
    """Cancel such tasks; return how many."""
    ended = 0
    for wanted, copy, remove in _OVER:
        ids = connection.execute(_SQL[wanted], {"now": now, "limit": limit - ended}).get
        if ids != NONE:
            given = {"ids": ids, "now": now, "expired": EXPIRED, "asked": ASKED}
            ended += _move(connection, copy, remove, given)
    return ended


def _move(connection: apsw.Connection, copy: str, remove: str, given: dict[str, Any]) -> int:
    """Bring tasks into the history, count them, and return how many they were."""
    connection.execute(_SQL[copy], given)
    number = tally.added(connection, "finished", given["now"])
    connection.execute(_SQL[remove], given)
    return number


def _outcome(state: State | None) -> CancelOutcome:
    match state:
        case None:
            return CancelOutcome.NOT_FOUND
        case State.RUNNING:
            return CancelOutcome.ACCEPTED
        case State.SCHEDULED | State.READY:
            return CancelOutcome.COMPLETED
        case _:
            return CancelOutcome.TOO_LATE
