"""Gates: what waits at them goes in as far as there is room; whoever writes here writes alone."""

from collections.abc import Sequence
from typing import Final

import apsw

from rota.model import Micros, NewTask
from rota.schedule import GateUse
from rota.store.sqlfiles import blocks
from rota.store.sqlite import accept
from rota.store.sqlite.rows import ids_in, to_json

_SQL = blocks("sqlite")

MOST: Final = 5_000
"""So many tasks are let in at once at most; what is left is let in by the next who asks."""
NONE: Final = "[]"


def enter(connection: apsw.Connection, tasks: Sequence[NewTask], now: Micros) -> None:
    """Store tasks; those with a gate that are due go in at once as far as there is room."""
    accept.submit(connection, tasks, now)
    due = [task for task in tasks if task.concurrency_key is not None and task.run_at <= now]
    if due:
        connection.execute(_SQL["come_to_gate"], {"ids": to_json([task.id for task in due])})
        admit(connection, [task.concurrency_key for task in due if task.concurrency_key], now)


def choose(connection: apsw.Connection, keys: Sequence[str]) -> str:
    """Return, as JSON, the ids of what may go in."""
    chosen: str = connection.execute(_SQL["admit"], {"keys": to_json(keys), "most": MOST}).get
    return chosen


def admit(connection: apsw.Connection, keys: Sequence[str], now: Micros) -> int:  # noqa: ARG001 - rows are counted
    """Let in what waits at the gates; return how many tasks."""
    chosen = choose(connection, keys)
    if chosen == NONE:
        return 0
    connection.execute(_SQL["stage"], {"ids": chosen})
    connection.execute(_SQL["leave_scheduled"], {"ids": chosen})
    return len(ids_in(chosen))


def waiting(connection: apsw.Connection, after: str, limit: int) -> list[str]:
    """Return the next gates that have a task waiting."""
    given = {"after": after, "limit": limit}
    return ids_in(connection.execute(_SQL["waiting_gates"], given).get)


def use(connection: apsw.Connection, key: str, cap: int) -> GateUse:
    """Count what is inside a gate and what waits at it."""
    ((inside, waiting_),) = connection.execute(_SQL["gate_use"], {"key": key, "cap": cap})
    return GateUse(inside, waiting_)
