"""How many tasks ended, minute by minute.

The statements that finish batches count them themselves; what ends otherwise is added here, in the
same transaction.
"""

from collections import Counter
from collections.abc import Sequence

from rota.config import MINUTE
from rota.model import Micros, State
from rota.store.postgres.statements import Connection, Record, execute, fetch

SETTLED = 2 * MINUTE
"""Minutes that ended longer ago than this are written to no more; their shards are added up."""


async def add(connection: Connection, rows: Sequence[Record], state: State, now: Micros) -> None:
    """Count the tasks in rows of (id, queue, kind), which ended in `state`."""
    ended = Counter((row[1], row[2]) for row in rows)
    if ended:
        await execute(
            connection,
            "add_tallies",
            minute=minute_of(now),
            state=state,
            queues=[queue for queue, _ in ended],
            kinds=[kind for _, kind in ended],
            counts=list(ended.values()),
        )


async def tallies(connection: Connection, since: Micros) -> dict[tuple[str, str, State], int]:
    """Return how many tasks ended since the minute that `since` lies in."""
    rows = await fetch(connection, "read_tallies", minute=minute_of(since))
    return {(queue, kind, State(state)): number for queue, kind, state, number in rows}


def minute_of(instant: Micros) -> Micros:
    """Return the beginning of the minute that an instant lies in."""
    return instant - instant % MINUTE
