"""Where tasks stand at a moment."""

from collections.abc import Sequence

from rota.model import State
from rota.store.postgres.statements import Connection, fetch


async def standing(connection: Connection, ids: Sequence[str]) -> dict[str, tuple[State, bool]]:
    """Return the state of each task, and whether it is a dead letter that was dealt with."""
    if not ids:
        return {}
    rows = await fetch(connection, "states_of", ids=ids)
    return {row[0]: (State(row[1]), row[2]) for row in rows}
