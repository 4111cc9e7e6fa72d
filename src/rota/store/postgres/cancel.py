"""Cancelling: at once what waits, by asking what runs, and for good what did not stop in time."""

from collections.abc import Sequence
from typing import Any, Final

from rota.model import CancelOutcome, CancelRequest, Micros, State
from rota.store.postgres import tally
from rota.store.postgres.rows import possible_ids
from rota.store.postgres.statements import Connection, Record, execute, fetch, fetch_value
from rota.store.postgres.states import standing

ASKED: Final = "cancelled by request"
EXPIRED: Final = "expired"
REVOKED: Final = "cancelled: its handler did not stop by the deadline"

_TRIES = 3
"""A task may move while it is looked for; it is looked for again this often."""
_AT_ONCE = ("cancel_scheduled", "cancel_ready")


async def cancel(
    connection: Connection, ids: Sequence[str], now: Micros, deadline: Micros | None
) -> list[CancelOutcome]:
    """Cancel the tasks that wait, and ask those that run to stop; say what became of each."""
    outcomes: dict[str, CancelOutcome] = {}
    left = possible_ids(ids)
    async with connection.transaction():
        for _ in range(_TRIES):
            outcomes |= await _try(connection, left, now, deadline)
            left = [task_id for task_id in left if task_id not in outcomes]
            if not left:
                break
    return [outcomes.get(task_id, CancelOutcome.NOT_FOUND) for task_id in ids]


async def _try(
    connection: Connection, ids: Sequence[str], now: Micros, deadline: Micros | None
) -> dict[str, CancelOutcome]:
    """Return the outcomes that are certain; the others moved on meanwhile."""
    outcomes: dict[str, CancelOutcome] = {}
    for name in _AT_ONCE:
        rows = await fetch(connection, name, ids=ids, now=now, reason=ASKED)
        await tally.add(connection, rows, State.CANCELLED, now)
        outcomes |= {row[0]: CancelOutcome.COMPLETED for row in rows}
    rows = await fetch(connection, "ask_to_cancel", ids=ids, now=now, deadline=deadline)
    outcomes |= {row[0]: CancelOutcome.ACCEPTED for row in rows}
    left = [task_id for task_id in ids if task_id not in outcomes]
    found = await standing(connection, left)
    for task_id in left:
        if task_id not in found:
            outcomes[task_id] = CancelOutcome.NOT_FOUND
        elif found[task_id][0].final or found[task_id][0] is State.FAILED:
            outcomes[task_id] = CancelOutcome.TOO_LATE
    return outcomes


async def asked(connection: Connection, session_id: str) -> tuple[CancelRequest, ...]:
    """Return what the session holds and is asked to stop."""
    rows = await fetch(connection, "asked_cancels", session=session_id)
    return tuple(CancelRequest(*row) for row in rows)


async def revoke_overdue(connection: Connection, now: Micros, limit: int) -> list[str]:
    """Cancel running tasks whose deadline to stop has passed; return their ids."""
    # Looked at first, here and below: mostly there is nothing to do, and that takes one question.
    if not await fetch_value(connection, "anything_overdue", now=now):
        return []
    rows = await _end(connection, "revoke_overdue", now, limit=limit, reason=REVOKED)
    return [row[0] for row in rows]


async def expire(connection: Connection, now: Micros, limit: int) -> int:
    """Cancel waiting tasks whose time is over or that were asked to stop; return how many."""
    if not await fetch_value(connection, "anything_over", now=now):
        return 0
    await execute(connection, "apply_requests", limit=limit)
    ended = 0
    for name in ("expire_ready", "expire_scheduled"):
        texts = {"expired": EXPIRED, "asked": ASKED}
        ended += len(await _end(connection, name, now, limit=limit - ended, **texts))
    return ended


async def _end(connection: Connection, name: str, now: Micros, **values: Any) -> list[Record]:
    async with connection.transaction():
        rows = await fetch(connection, name, now=now, **values)
        await tally.add(connection, rows, State.CANCELLED, now)
    return rows
