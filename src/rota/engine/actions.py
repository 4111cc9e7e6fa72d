"""The engine's verbs for changes of tasks: one by one, and actions that go on by themselves."""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import cast

from msgspec import UNSET, structs

from rota.actions import (
    Action,
    ActionState,
    AmendOutcome,
    Carried,
    Changes,
    Counted,
    DeleteOutcome,
    Found,
    Moved,
    Placed,
)
from rota.backend import Backend
from rota.clock import Clock, Ids, Rng, born
from rota.config import KEEP_ACTIONS, MINUTE, SECOND
from rota.engine.deeds import CHANGED, carry_out
from rota.engine.looks import looked
from rota.engine.news import Topic
from rota.engine.newsroom import Newsroom
from rota.engine.sharing import Known
from rota.errors import RotaError, StoreError
from rota.filters import within
from rota.model import Micros, TaskFilter, rank_of
from rota.orders import Order, Ordered, Spot, check_order
from rota.policy.terms import Terms
from rota.store.base import CHANGED as NEWS
from rota.store.base import Store

RUN = 1_000
"""So many tasks a run of an action changes at most."""
LOOK = 4_000
"""So many a run looks at, if few of them match what is in their payloads."""
HELD = MINUTE
"""A node that dies with an action in hand keeps it so long; a run takes a second or two."""
TRIES = 3
"""A task may be moved while its new place is worked out; that is done anew so often."""

_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F-]{0,28})?")

log = logging.getLogger("rota.engine")


class Actions:
    """The verbs of `rota.seam.actions`."""

    store: Store
    clock: Clock
    _ids: Ids
    _rng: Rng
    _known: Known
    news: Newsroom

    async def search(
        self, where: TaskFilter, *, before_id: str | None, limit: int, most: int
    ) -> Found:
        if before_id is None and where.id_or_key and _ID.fullmatch(where.id_or_key):
            # An id that somebody pasted leads to its task at once, however old that is.
            sure = structs.replace(where, id_or_key=None, id_prefix=where.id_or_key.lower())
            found = await self.store.search(sure, before_id=None, limit=limit, most=limit)
            if found.ids:
                return found

        async def look(at: str | None, limit: int, most: int) -> tuple[list[str], str | None]:
            found = await self.store.search(where, before_id=at, limit=limit, most=most)
            return found.ids, found.next_id

        return Found(*await looked(look, before_id, limit, most))

    async def ordered(
        self, where: TaskFilter, *, order: Order, after: Spot | None, limit: int, most: int
    ) -> Ordered:
        check_order(order, where)
        if order is Order.CREATED:
            before_id = None if after is None else after.id
            newest = await self.search(where, before_id=before_id, limit=limit, most=most)
            last = newest.next_id
            return Ordered(newest.ids, None if last is None else Spot(born(last), last))

        async def look(at: Spot | None, limit: int, most: int) -> tuple[list[str], Spot | None]:
            found = await self.store.ordered(where, order=order, after=at, limit=limit, most=most)
            return found.ids, found.next

        return Ordered(*await looked(look, after, limit, most))

    async def count_among(self, where: TaskFilter, cap: int, most: int) -> Counted:
        return await self.store.count_among(where, cap, most)

    # -- changing -------------------------------------------------------------------------------

    async def amend(self, ids: Sequence[str], changes: Changes) -> list[AmendOutcome]:
        now = self.clock.now()
        terms = await self._known.fresh()
        outcomes: dict[str, AmendOutcome] = {}
        left = list(dict.fromkeys(ids))
        for _ in range(TRIES):
            places = dict(zip(left, await self.store.placed(left), strict=True))
            moves = [
                _moved(place, changes, terms)
                for place in places.values()
                if isinstance(place, Placed)
            ]
            became = await self.store.amend(moves, changes, now)
            outcomes |= {id_: one for id_, one in places.items() if not isinstance(one, Placed)}
            outcomes |= {
                move.was.id: one for move, one in zip(moves, became, strict=True) if one is not None
            }
            left = [id_ for id_ in left if id_ not in outcomes]
            if not left:
                break
        if AmendOutcome.DONE in outcomes.values():
            # They may be due now, or wait for less; and who sleeps until the earliest looks again.
            await self.store.notify(0)
            await self.store.notify(now)
            done = [id_ for id_, outcome in outcomes.items() if outcome is AmendOutcome.DONE]
            self.news.touched(Topic.TASKS, done, "amended")
        return [outcomes.get(id_, AmendOutcome.NOT_WAITING) for id_ in ids]

    async def delete(self, ids: Sequence[str]) -> list[DeleteOutcome]:
        outcomes = await self.store.delete(ids)
        pairs = zip(ids, outcomes, strict=True)
        if gone := [id_ for id_, outcome in pairs if outcome is DeleteOutcome.DONE]:
            self.news.touched(Topic.TASKS, gone, "deleted")
            self.news.unknown(Topic.DEAD_LETTERS)
        return outcomes

    # -- actions --------------------------------------------------------------------------------

    async def begin_action(self, action: Action) -> bool:
        begun = await self.store.begin_action(action)
        if begun:
            await self.store.notify(NEWS)
            self.news.touched(Topic.ACTIONS, [action.id], "begun")
        return begun

    async def action(self, action_id: str) -> Action | None:
        return await self.store.action(action_id)

    async def actions(
        self,
        *,
        tenant: str | None,
        queues: Sequence[str] | None,
        before_id: str | None,
        limit: int,
    ) -> list[Action]:
        return await self.store.actions(
            tenant=tenant, queues=queues, before_id=before_id, limit=limit
        )

    async def stop_action(self, action_id: str) -> bool:
        stopped = await self.store.stop_action(action_id, self.clock.now())
        if stopped:
            self.news.touched(Topic.ACTIONS, [action_id], "stopped")
        return stopped

    async def carry_on(self) -> Carried:
        now = self.clock.now()
        at = await self.store.next_action()
        if at is None or at > now:
            return Carried(next_at=at)
        held = await self.store.hold_action(now, now + HELD)
        if held is None:
            return Carried(next_at=now + SECOND)
        try:
            after = await self._run(held)
        except StoreError:
            raise  # the hold runs out, and then somebody does this run again
        except RotaError as error:
            log.warning("action %s ends: %s", held.id, error)
            after = _ended(held, ActionState.FAILED, self.clock.now(), error=str(error))
        await self.store.note_run(after)
        self.news.touched(Topic.ACTIONS, [held.id], after.state.value)
        return Carried(after.changed - held.changed, None if after.over else after.next_at)

    async def _forget_actions(self, limit: int) -> int:
        return await self.store.prune_actions(self.clock.now() - KEEP_ACTIONS, limit)

    async def _run(self, action: Action) -> Action:
        """Do the next run of an action that this node has in hand; return how far it is then."""
        where = within(action.where, action.tenant, action.queues)
        # Downwards from where it was begun: what is made after it is newer, and is left alone.
        found = await self.store.search(
            where, before_id=action.after or action.id, limit=_size(action), most=LOOK
        )
        words = await carry_out(cast(Backend, self), action, found.ids)
        now = self.clock.now()
        further = counted(action, words)
        if found.next_id is None:
            return _ended(further, ActionState.COMPLETED, now)
        pause = 0 if action.rate is None else ceil(len(words) / action.rate * SECOND)
        return structs.replace(further, after=found.next_id, next_at=now + pause)


def counted(action: Action, words: Sequence[str]) -> Action:
    """Return the action with what became of some more tasks."""
    counts = Counter(words)
    changed = sum(counts[word] for word in CHANGED)
    skipped = Counter(action.skipped)
    skipped.update({word: n for word, n in counts.items() if word not in CHANGED})
    return structs.replace(
        action,
        done=action.done + len(words),
        changed=action.changed + changed,
        skipped=dict(sorted(skipped.items())),
    )


def _ended(action: Action, state: ActionState, now: Micros, error: str | None = None) -> Action:
    return structs.replace(action, state=state, ended_at=now, error=error)


def _size(action: Action) -> int:
    return RUN if action.rate is None else max(1, min(RUN, ceil(action.rate)))


def _moved(place: Placed, changes: Changes, terms: Terms) -> Moved:
    """Return where a task shall wait; its rank follows from that (R7.2)."""
    queue = place.queue if changes.queue is UNSET else changes.queue
    priority = place.priority if changes.priority is UNSET else changes.priority
    run_at = place.run_at if changes.run_at is UNSET else changes.run_at
    return Moved(place, queue, priority, run_at, rank_of(run_at, priority, terms.aging(queue)))
