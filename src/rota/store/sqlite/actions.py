"""What the store keeps of changes of tasks: see `rota.store.actions`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import apsw

from rota.actions import Action, AmendOutcome, Changes, Counted, DeleteOutcome, Found, Moved, Placed
from rota.model import Micros, TaskFilter
from rota.orders import Order, Ordered, Spot
from rota.store import action_rows
from rota.store.action_rows import to_json
from rota.store.sqlfiles import blocks
from rota.store.sqlite import amend, ordered, search
from rota.store.sqlite.states import standing
from rota.store.sqlite.verbs import Verbs

_SQL = blocks("sqlite")


class ActionsVerbs(Verbs):
    """The verbs of `rota.store.actions`."""

    async def search(
        self, where: TaskFilter, *, before_id: str | None = None, limit: int, most: int
    ) -> Found:
        work = partial(search.search, where=where, before_id=before_id, limit=limit, most=most)
        return await self._read.do(work)

    async def ordered(
        self,
        where: TaskFilter,
        *,
        order: Order,
        after: Spot | None = None,
        limit: int,
        most: int,
    ) -> Ordered:
        work = partial(
            ordered.ordered, where=where, order=order, after=after, limit=limit, most=most
        )
        return await self._read.do(work)

    async def count_among(self, where: TaskFilter, cap: int, most: int) -> Counted:
        work = partial(search.count_among, where=where, cap=cap, most=most)
        return await self._read.do(work)

    async def placed(self, ids: Sequence[str]) -> list[Placed | AmendOutcome]:
        return await self._read.do(partial(amend.placed, ids=ids))

    async def amend(
        self, moves: Sequence[Moved], changes: Changes, now: Micros
    ) -> list[AmendOutcome | None]:
        work = partial(amend.amend, moves=moves, changes=changes, now=now)
        return await self._write.do(work)

    async def delete(self, ids: Sequence[str]) -> list[DeleteOutcome]:
        return await self._write.do(partial(_delete, ids=ids))

    async def begin_action(self, action: Action) -> bool:
        values = action_rows.columns(action)
        values["queues"] = None if action.queues is None else to_json(action.queues)
        return await self._write.do(partial(_changed, "begin_action", values))

    async def action(self, action_id: str) -> Action | None:
        found = await self._read.do(partial(_actions, "get_action", {"id": action_id}))
        return found[0] if found else None

    async def actions(
        self,
        *,
        tenant: str | None = None,
        queues: Sequence[str] | None = None,
        before_id: str | None = None,
        limit: int = 50,
    ) -> list[Action]:
        given = {
            "tenant": tenant,
            "queues": None if queues is None else to_json(queues),
            "before_id": before_id,
            "limit": limit,
        }
        return await self._read.do(partial(_actions, "list_actions", given))

    async def next_action(self) -> Micros | None:
        return await self._read.do(_next)

    async def hold_action(self, now: Micros, until: Micros) -> Action | None:
        given = {"now": now, "until": until}
        found = await self._write.do(partial(_actions, "hold_action", given))
        return found[0] if found else None

    async def note_run(self, action: Action) -> bool:
        values = {"id": action.id, **action_rows.progress(action)}
        return await self._write.do(partial(_changed, "note_run", values))

    async def stop_action(self, action_id: str, now: Micros) -> bool:
        values = {"id": action_id, "now": now}
        return await self._write.do(partial(_changed, "stop_action", values))

    async def prune_actions(self, before: Micros, limit: int) -> int:
        return await self._write.do(partial(_prune, before=before, limit=limit))


# The name of the block comes first, so that the connection that is handed in stands behind it.
def _actions(block: str, given: dict[str, Any], connection: apsw.Connection) -> list[Action]:
    return [action_rows.action_of(row) for row in connection.execute(_SQL[block], given)]


def _changed(block: str, given: dict[str, Any], connection: apsw.Connection) -> bool:
    connection.execute(_SQL[block], given)
    return connection.changes() > 0


def _next(connection: apsw.Connection) -> Micros | None:
    at: Micros | None = connection.execute(_SQL["next_action"]).get
    return at


def _prune(connection: apsw.Connection, before: Micros, limit: int) -> int:
    connection.execute(_SQL["prune_actions"], {"before": before, "limit": limit})
    return connection.changes()


def _delete(connection: apsw.Connection, ids: Sequence[str]) -> list[DeleteOutcome]:
    given = {"ids": to_json(ids)}
    done = {
        id_
        for block in ("delete_finished", "delete_dead_letters")
        for (id_,) in connection.execute(_SQL[block], given)
    }
    return action_rows.deleted(ids, done, standing(connection, ids))
