"""How many tasks ended, minute by minute; the statements that end them count them."""

from rota.config import MINUTE
from rota.model import Micros, State
from rota.store.postgres.statements import Connection, fetch

SETTLED = 2 * MINUTE
"""Minutes that ended longer ago than this are written to no more; their shards are added up."""


async def tallies(connection: Connection, since: Micros) -> dict[tuple[str, str, State], int]:
    """Return how many tasks ended since the minute that `since` lies in."""
    rows = await fetch(connection, "read_tallies", minute=minute_of(since))
    return {(queue, kind, State(state)): number for queue, kind, state, number in rows}


def minute_of(instant: Micros) -> Micros:
    """Return the beginning of the minute that an instant lies in."""
    return instant - instant % MINUTE
