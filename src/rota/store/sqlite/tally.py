"""How many tasks ended, minute by minute: counted where they leave, one row a batch and kind."""

from typing import Final, Literal

import apsw

from rota.config import MINUTE
from rota.model import Micros, State
from rota.store.sqlfiles import blocks

_SQL = blocks("sqlite")

Over = Literal["finished", "dead_letter"]
"""The tables of tasks that have ended."""
_ADD: Final = {"finished": "add_tallies", "dead_letter": "add_failed_tallies"}


def added(connection: apsw.Connection, over: Over, now: Micros) -> int:
    """Count the tasks that the last statement has added to a table; return how many they were."""
    number = connection.changes()
    if number:
        last = connection.last_insert_rowid()
        given = {"minute": _minute(now), "last": last, "added": number}
        connection.execute(_SQL[_ADD[over]], given)
    return number


def dropped(connection: apsw.Connection, ids: str, now: Micros) -> None:
    """Count completed tasks (ids as JSON) that will leave no row; they must still be there."""
    connection.execute(_SQL["add_dropped_tallies"], {"minute": _minute(now), "ids": ids})


def tallies(connection: apsw.Connection, since: Micros) -> dict[tuple[str, str, State], int]:
    """Return how many tasks ended since the minute that `since` lies in."""
    rows = connection.execute(_SQL["read_tallies"], {"minute": _minute(since)})
    return {(queue, kind, State(state)): number for queue, kind, state, number in rows}


def prune(connection: apsw.Connection, before: Micros, limit: int) -> None:
    """Forget some of the minutes that are long past."""
    connection.execute(_SQL["prune_tallies"], {"before": before, "limit": limit})


def _minute(instant: Micros) -> Micros:
    return instant - instant % MINUTE
