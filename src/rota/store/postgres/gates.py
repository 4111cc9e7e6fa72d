"""Gates: what waits at them goes in as far as there is room, by one statement of the server."""

from collections.abc import Sequence
from typing import Final

from rota.model import Micros, Staged
from rota.schedule import GateUse
from rota.store.postgres.statements import Connection, fetch, fetch_value

AT_ONCE: Final = 500
"""So many gates are asked in one statement: it holds a lock of each that has room."""


async def stage(connection: Connection, now: Micros, limit: int) -> Staged:
    """Bring what is due to ready or to its gate, and let in what the gates have room for."""
    ((moved, gates),) = await fetch(connection, "stage", now=now, limit=limit)
    moved += await admit(connection, gates)
    return Staged(moved, await fetch_value(connection, "next_due"))


async def admit(connection: Connection, keys: Sequence[str]) -> int:
    """Let in what waits at the gates; return how many tasks."""
    wanted = sorted(set(keys))
    moved = 0
    for first in range(0, len(wanted), AT_ONCE):
        some = wanted[first : first + AT_ONCE]
        moved += await fetch_value(connection, "admit", keys=some)
    return moved


async def waiting(connection: Connection, after: str, limit: int) -> list[str]:
    """Return the next gates that have a task waiting."""
    return [row[0] for row in await fetch(connection, "waiting_gates", after=after, limit=limit)]


async def use(connection: Connection, key: str, cap: int) -> GateUse:
    """Count what is inside a gate and what waits at it."""
    ((inside, waiting_),) = await fetch(connection, "gate_use", key=key, cap=cap)
    return GateUse(inside, waiting_)
