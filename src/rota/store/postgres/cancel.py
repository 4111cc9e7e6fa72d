"""Cancelling: at once what waits, by asking what runs, and for good what did not stop in time."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from rota.model import CancelOutcome, CancelRequest, Micros, State
from rota.store.postgres.connections import Lines, Role
from rota.store.postgres.rows import possible_ids
from rota.store.postgres.statements import Connection, execute, fetch, fetch_value
from rota.store.postgres.states import standing
from rota.store.postgres.tally import minute_of

ASKED: Final = "cancelled by request"
EXPIRED: Final = "expired"
REVOKED: Final = "cancelled: its handler did not stop by the deadline"

_TRIES = 3
"""A task may move while it is looked for; it is looked for again this often."""


async def cancel(
    lines: Lines, ids: Sequence[str], now: Micros, deadline: Micros | None
) -> list[CancelOutcome]:
    """Cancel the tasks that wait, and ask those that run to stop; say what became of each.

    Each step is one statement and a transaction of its own: the worker that holds a task waits for
    whoever asks it to stop, and must not wait for a caller that was stopped in between.
    """
    outcomes: dict[str, CancelOutcome] = {}
    left = possible_ids(ids)
    for _ in range(_TRIES):
        step = partial(_cancel, ids=left, now=now, deadline=deadline)
        outcomes |= await lines.run(Role.CALL, step)
        left = [task_id for task_id in left if task_id not in outcomes]
        if not left:
            break
        outcomes |= await lines.run(Role.CALL, partial(_over, ids=left))
        left = [task_id for task_id in left if task_id not in outcomes]
    return [outcomes.get(task_id, CancelOutcome.NOT_FOUND) for task_id in ids]


async def _cancel(
    connection: Connection, *, ids: Sequence[str], now: Micros, deadline: Micros | None
) -> dict[str, CancelOutcome]:
    """Return what became of the tasks; those that moved on meanwhile are left out."""
    values = {"ids": ids, "now": now, "deadline": deadline, "reason": ASKED}
    rows = await fetch(connection, "cancel", minute=minute_of(now), **values)
    return {row[0]: CancelOutcome(row[1]) for row in rows}


async def _over(connection: Connection, *, ids: Sequence[str]) -> dict[str, CancelOutcome]:
    """Return the outcomes of the tasks that are over, or that there are not."""
    outcomes: dict[str, CancelOutcome] = {}
    found = await standing(connection, ids)
    for task_id in ids:
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
    values = {"now": now, "minute": minute_of(now), "limit": limit}
    rows = await fetch(connection, "revoke_overdue", **values, reason=REVOKED)
    return [row[0] for row in rows]


async def expire(connection: Connection, now: Micros, limit: int) -> int:
    """Cancel waiting tasks whose time is over or that were asked to stop; return how many."""
    if not await fetch_value(connection, "anything_over", now=now):
        return 0
    await execute(connection, "apply_requests", limit=limit)
    texts = {"expired": EXPIRED, "asked": ASKED}
    ended = 0
    for name in ("expire_ready", "expire_scheduled"):
        values = {"now": now, "minute": minute_of(now), "limit": limit - ended}
        ended += len(await fetch(connection, name, **values, **texts))
    return ended
