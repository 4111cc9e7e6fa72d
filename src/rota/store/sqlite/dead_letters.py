"""Dead letters: replaying them, setting them aside, and which of them failed alike."""

from collections.abc import Sequence

import apsw

from rota.config import LEVEL
from rota.model import Accepted, DeadLetterGroup, Micros, TaskFilter
from rota.orders import GroupOrder
from rota.store.sqlfiles import blocks
from rota.store.sqlite.filters import grouping
from rota.store.sqlite.rows import group_in, to_json

_SQL = blocks("sqlite")


def replay(
    connection: apsw.Connection, ids: Sequence[str], copies: Sequence[str], now: Micros
) -> list[Accepted | None]:
    """Make a copy of each dead letter that has none yet; say which copy each has."""
    rows = connection.execute(_SQL["replayed_as"], {"ids": to_json(ids)})
    known: dict[str, str | None] = dict(rows)
    made: dict[str, str] = {}
    answers: list[Accepted | None] = []
    for id_, copy in zip(ids, copies, strict=True):
        if id_ not in known:
            answers.append(None)
            continue
        first = known[id_]
        if first is None:
            known[id_] = made[id_] = copy
        answers.append(Accepted(first or copy, created=first is None))
    if made:
        pairs = [{"id": id_, "copy": copy} for id_, copy in made.items()]
        given = {"copies": to_json(pairs), "now": now, "level": LEVEL}
        for block in ("replay", "replay_gated", "mark_replayed"):
            connection.execute(_SQL[block], given)
    return answers


def edit_payload(connection: apsw.Connection, task_id: str, payload: str) -> bool:
    """Change the payload of a dead letter that is still to be dealt with."""
    connection.execute(_SQL["edit_payload"], {"id": task_id, "payload": payload})
    return connection.changes() == 1


def discard(
    connection: apsw.Connection, ids: Sequence[str], reason: str, now: Micros
) -> list[bool]:
    """Set dead letters aside; say of which that was so."""
    given = {"ids": to_json(ids), "reason": reason, "now": now}
    return _told_once(ids, connection.execute(_SQL["discard"], given))


def restore(connection: apsw.Connection, ids: Sequence[str]) -> list[bool]:
    """Take back that dead letters were discarded; say of which that was so."""
    return _told_once(ids, connection.execute(_SQL["restore"], {"ids": to_json(ids)}))


def groups(
    connection: apsw.Connection, where: TaskFilter, limit: int, order: GroupOrder, since: Micros
) -> list[DeadLetterGroup]:
    """Return the first groups of those that are still to be dealt with."""
    query = grouping(where, limit, since, order)
    return [group_in(text) for (text,) in connection.execute(query.sql, query.values)]


def _told_once(ids: Sequence[str], changed: apsw.Cursor) -> list[bool]:
    left = {id_ for (id_,) in changed}
    answers = []
    for id_ in ids:
        answers.append(id_ in left)
        left.discard(id_)
    return answers
