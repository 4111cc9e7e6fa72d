"""Putting tasks that wait in other places: another queue, priority or time (R5.4)."""

from collections.abc import Sequence

import apsw
from msgspec import UNSET, structs

from rota.actions import AmendOutcome, Changes, Moved, Placed
from rota.model import Micros
from rota.store import action_rows
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import to_json

_SQL = blocks("sqlite")


def placed(connection: apsw.Connection, ids: Sequence[str]) -> list[Placed | AmendOutcome]:
    """Return where each task waits, or why it cannot be amended."""
    return action_rows.places(connection.execute(_SQL["placed"], {"ids": to_json(ids)}), ids)


def amend(
    connection: apsw.Connection, moves: Sequence[Moved], changes: Changes, now: Micros
) -> list[AmendOutcome | None]:
    """Put tasks that wait where they were seen into other places, and where those belong."""
    ids = [move.was.id for move in moves]
    found = dict(zip(ids, placed(connection, ids), strict=True))
    still = [move for move in moves if found[move.was.id] == move.was]
    given = {"ids": to_json([move.was.id for move in still])}
    scheduled = {id_: bool(gate) for id_, gate in connection.execute(_SQL["amendable"], given)}
    _put(connection, "amend_scheduled", [m for m in still if m.was.id in scheduled], changes, now)
    _put(connection, "amend_ready", [m for m in still if m.was.id not in scheduled], changes, now)
    due = [m.was.id for m in still if m.run_at <= now and scheduled.get(m.was.id) is False]
    later = [m.was.id for m in still if m.run_at > now and m.was.id not in scheduled]
    for chosen, copy, remove in (
        (due, "stage", "leave_scheduled"),
        (later, "put_off", "leave_ready"),
    ):
        if chosen:
            connection.execute(_SQL[copy], {"ids": to_json(chosen)})
            connection.execute(_SQL[remove], {"ids": to_json(chosen)})
    return action_rows.amended(moves, {move.was.id for move in still}, found)


def _put(
    connection: apsw.Connection, block: str, moves: Sequence[Moved], changes: Changes, now: Micros
) -> None:
    if not moves:
        return
    places = [structs.asdict(move) | {"id": move.was.id, "was": None} for move in moves]
    tags = None if changes.tags is UNSET else changes.tags
    values = {
        "moves": to_json(places),
        "with_timeout": changes.timeout is not UNSET,
        "timeout": None if changes.timeout is UNSET else changes.timeout,
        "with_tags": changes.tags is not UNSET,
        "tags": to_json(tags) if tags else None,
    }
    given = values | {"now": now} if block == "amend_scheduled" else values
    connection.execute(_SQL[block], given)
