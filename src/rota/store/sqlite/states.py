"""Where tasks stand, for verbs that do one thing or another by it."""

from collections.abc import Sequence

import apsw

from rota.model import State
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import to_json

_SQL = blocks("sqlite")


def standing(connection: apsw.Connection, ids: Sequence[str]) -> dict[str, tuple[State, bool]]:
    """Return each task's state, and whether it is a dead letter that was dealt with."""
    rows = connection.execute(_SQL["states_of"], {"ids": to_json(ids)})
    return {id_: (State(state), bool(settled)) for id_, state, settled in rows}
