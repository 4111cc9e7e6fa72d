"""What handlers say while they run: progress and checkpoints."""

from collections.abc import Sequence

import apsw
import msgspec

from rota.model import Note
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import held_in, to_json

_SQL = blocks("sqlite")


def note(connection: apsw.Connection, session_id: str, notes: Sequence[Note]) -> list[bool]:
    """Keep what was said under a fence that still counts, and say which did."""
    said: dict[tuple[str, int], Note] = {}
    for each in notes:
        earlier = said.get((each.id, each.fence))
        said[each.id, each.fence] = each if earlier is None else _both(earlier, each)
    given = {"session": session_id, "reports": to_json(list(said.values()))}
    connection.execute(_SQL["note"], given)
    if connection.changes() == len(said):
        return [True] * len(notes)
    counted = set(held_in(connection.execute(_SQL["holding"], given).get))
    return [(each.id, each.fence) in counted for each in notes]


def _both(earlier: Note, later: Note) -> Note:
    """Return one note for two: what the later one leaves out was said by the earlier one."""
    left_out = {
        name: getattr(earlier, name)
        for name in ("done", "total", "checkpoint")
        if getattr(later, name) is None
    }
    return msgspec.structs.replace(later, **left_out)
