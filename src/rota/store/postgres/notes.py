"""What handlers say while they run: progress and checkpoints."""

from collections.abc import Sequence

import msgspec

from rota.model import Note
from rota.store.postgres.statements import Connection, fetch


async def note(connection: Connection, session_id: str, notes: Sequence[Note]) -> list[bool]:
    """Keep what was said under a fence that still counts, and say which did."""
    said: dict[tuple[str, int], Note] = {}
    for each in notes:
        earlier = said.get((each.id, each.fence))
        said[each.id, each.fence] = each if earlier is None else _both(earlier, each)
    # In one order for all who lock rows.
    merged = [said[hand_out] for hand_out in sorted(said)]
    rows = await fetch(
        connection,
        "note",
        session=session_id,
        ids=[each.id for each in merged],
        fences=[each.fence for each in merged],
        dones=[each.done for each in merged],
        totals=[each.total for each in merged],
        checkpoints=[each.checkpoint for each in merged],
    )
    counted = {(row[0], row[1]) for row in rows}
    return [(each.id, each.fence) in counted for each in notes]


def _both(earlier: Note, later: Note) -> Note:
    """Return one note for two: what the later one leaves out was said by the earlier one."""
    left_out = {
        name: getattr(earlier, name)
        for name in ("done", "total", "checkpoint")
        if getattr(later, name) is None
    }
    return msgspec.structs.replace(later, **left_out)
