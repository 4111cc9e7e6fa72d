"""What the store keeps of changes of tasks: see `rota.store.actions`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec import UNSET

from rota.actions import Action, AmendOutcome, Changes, Counted, DeleteOutcome, Found, Moved, Placed
from rota.model import Micros, PriorityClass, TaskFilter
from rota.orders import Order, Ordered, Spot
from rota.store import action_rows
from rota.store.postgres import ordered, search
from rota.store.postgres.connections import Role
from rota.store.postgres.rows import possible_ids
from rota.store.postgres.statements import Connection, fetch
from rota.store.postgres.verbs import Verbs


class ActionsVerbs(Verbs):
    """The verbs of `rota.store.actions`."""

    async def search(
        self, where: TaskFilter, *, before_id: str | None = None, limit: int, most: int
    ) -> Found:
        return await self._do(Role.READ, search.search, where, before_id, limit, most)

    async def ordered(
        self,
        where: TaskFilter,
        *,
        order: Order,
        after: Spot | None = None,
        limit: int,
        most: int,
    ) -> Ordered:
        look = partial(
            ordered.ordered, where=where, order=order, after=after, limit=limit, most=most
        )
        return await self._do(Role.READ, look)

    async def count_among(self, where: TaskFilter, cap: int, most: int) -> Counted:
        return await self._do(Role.READ, search.count_among, where, cap, most)

    async def placed(self, ids: Sequence[str]) -> list[Placed | AmendOutcome]:
        return await self._do(Role.CALL, _placed, ids)

    async def amend(
        self, moves: Sequence[Moved], changes: Changes, now: Micros
    ) -> list[AmendOutcome | None]:
        if not moves:
            return []
        done = await self._do(Role.CALL, partial(_amend, moves=moves, changes=changes, now=now))
        left = [move.was.id for move in moves if move.was.id not in done]
        found = await self.placed(left) if left else []
        return action_rows.amended(moves, done, dict(zip(left, found, strict=True)))

    async def delete(self, ids: Sequence[str]) -> list[DeleteOutcome]:
        asked = possible_ids(ids)
        if not asked:
            return [DeleteOutcome.NOT_FOUND for _ in ids]
        done = {row[0] for row in await self._fetch(Role.CALL, "delete_over", ids=asked)}
        left = [task_id for task_id in asked if task_id not in done]
        rows = await self._fetch(Role.CALL, "states_of", ids=left) if left else []
        return action_rows.deleted(ids, done, (row[0] for row in rows))

    async def begin_action(self, action: Action) -> bool:
        return await self._execute(Role.CALL, "begin_action", **action_rows.columns(action)) > 0

    async def action(self, action_id: str) -> Action | None:
        known = possible_ids([action_id])
        rows = await self._fetch(Role.READ, "get_action", id=known[0]) if known else []
        return action_rows.action_of(rows[0]) if rows else None

    async def actions(
        self,
        *,
        tenant: str | None = None,
        queues: Sequence[str] | None = None,
        before_id: str | None = None,
        limit: int = 50,
    ) -> list[Action]:
        given = {"tenant": tenant, "queues": queues, "before_id": before_id, "limit": limit}
        return [
            action_rows.action_of(row)
            for row in await self._fetch(Role.READ, "list_actions", **given)
        ]

    async def next_action(self) -> Micros | None:
        at: Micros | None = await self._value(Role.DUTY, "next_action")
        return at

    async def hold_action(self, now: Micros, until: Micros) -> Action | None:
        rows = await self._fetch(Role.DUTY, "hold_action", now=now, until=until)
        return action_rows.action_of(rows[0]) if rows else None

    async def note_run(self, action: Action) -> bool:
        given = {"id": action.id, **action_rows.progress(action)}
        return await self._execute(Role.DUTY, "note_run", **given) > 0

    async def stop_action(self, action_id: str, now: Micros) -> bool:
        known = possible_ids([action_id])
        if not known:
            return False
        return await self._execute(Role.CALL, "stop_action", id=known[0], now=now) > 0

    async def prune_actions(self, before: Micros, limit: int) -> int:
        return await self._execute(Role.DUTY, "prune_actions", before=before, limit=limit)


async def _placed(connection: Connection, ids: Sequence[str]) -> list[Placed | AmendOutcome]:
    return action_rows.places(await fetch(connection, "placed", ids=possible_ids(ids)), ids)


async def _amend(
    connection: Connection, *, moves: Sequence[Moved], changes: Changes, now: Micros
) -> set[str]:
    values: dict[str, Any] = {
        "ids": [move.was.id for move in moves],
        "old_queues": [move.was.queue for move in moves],
        "old_priorities": [move.was.priority for move in moves],
        "old_run_ats": [move.was.run_at for move in moves],
        "queues": [move.queue for move in moves],
        "priorities": [move.priority for move in moves],
        "classes": [PriorityClass.of(move.priority) for move in moves],
        "run_ats": [move.run_at for move in moves],
        "ranks": [move.rank for move in moves],
        "now": now,
        "with_timeout": changes.timeout is not UNSET,
        "timeout": None if changes.timeout is UNSET else changes.timeout,
        "with_tags": changes.tags is not UNSET,
        "tags": None if changes.tags is UNSET else list(changes.tags) or None,
    }
    return {row[0] for row in await fetch(connection, "amend", **values)}
