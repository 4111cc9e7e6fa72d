"""Dead letters: replaying them, setting them aside, and which of them failed alike."""

from collections.abc import Sequence
from typing import Any

import msgspec

from rota.config import LEVEL
from rota.model import Accepted, DeadLetterGroup, Micros, TaskFilter
from rota.orders import GroupOrder
from rota.store.postgres.reads import grouping
from rota.store.postgres.rows import possible_ids
from rota.store.postgres.statements import Connection, Record, execute, fetch


async def replay(
    connection: Connection, ids: Sequence[str], copies: Sequence[str], now: Micros
) -> list[Accepted | None]:
    """Make a copy of each dead letter that has none yet; say which copy each has."""
    wanted: dict[str, str] = {}
    for task_id, copy in zip(ids, copies, strict=True):
        wanted.setdefault(task_id, copy)
    asked = possible_ids(wanted)
    async with connection.transaction():
        rows = await fetch(
            connection,
            "replay",
            ids=asked,
            copies=[wanted[task_id] for task_id in asked],
            now=now,
            level=LEVEL,
        )
        made = {row[0] for row in rows}
        copied = dict(await fetch(connection, "replayed_as", ids=asked))
    answers: list[Accepted | None] = []
    for task_id in ids:
        copy_id = copied.get(task_id)
        answers.append(None if copy_id is None else Accepted(copy_id, created=task_id in made))
        # The same dead letter further on in the list is a repeat.
        made.discard(task_id)
    return answers


async def edit_payload(connection: Connection, task_id: str, payload: str) -> bool:
    """Change the payload of a dead letter that is still to be dealt with."""
    for known in possible_ids([task_id]):
        return await execute(connection, "edit_payload", id=known, payload=payload) == 1
    return False


async def discard(
    connection: Connection, ids: Sequence[str], reason: str, now: Micros
) -> list[bool]:
    """Set dead letters aside; say of which that was so."""
    asked = possible_ids(ids)
    return _told_once(ids, await fetch(connection, "discard", ids=asked, reason=reason, now=now))


async def restore(connection: Connection, ids: Sequence[str]) -> list[bool]:
    """Take back that dead letters were discarded; say of which that was so."""
    return _told_once(ids, await fetch(connection, "restore", ids=possible_ids(ids)))


async def groups(
    connection: Connection, where: TaskFilter, limit: int, order: GroupOrder, since: Micros
) -> list[DeadLetterGroup]:
    """Return the first groups of those that are still to be dealt with."""
    query = grouping(where, limit, since, order)
    if query is None:
        return []
    rows = await connection.fetch(query.sql, *query.values)
    return [_group(dict(row)) for row in rows]


def _group(row: dict[str, Any]) -> DeadLetterGroup:
    by_tenant, by_hour = row.pop("by_tenant"), row.pop("by_hour")
    return DeadLetterGroup(
        **row,
        by_tenant=msgspec.json.decode(by_tenant or "{}", type=dict[str, int]),
        by_hour=msgspec.json.decode(by_hour or "{}", type=dict[Micros, int]),
    )


def _told_once(ids: Sequence[str], changed: Sequence[Record]) -> list[bool]:
    left = {row[0] for row in changed}
    answers = []
    for task_id in ids:
        answers.append(task_id in left)
        left.discard(task_id)
    return answers
