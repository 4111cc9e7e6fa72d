"""Looking for lanes that have work and may be served, past those that are paused (R7.7)."""

from collections.abc import Iterator, Sequence

from rota.engine.sharing import Known
from rota.model import Lane, Look
from rota.policy.fairness import Turns, looks, move_on
from rota.policy.terms import Terms
from rota.policy.turns import found
from rota.store.base import Store

LANES_LEAST = 16
LANES_MOST = 256
LANES_IN_ALL = 4_096
"""More lanes than slots would be looked up for nothing, more than these would make one claim slow;
the cursors come round to the others."""
QUEUES_AT_ONCE = 64
PAGES = 8
PAGE = 1_000
"""Behind lanes of which all are paused, so many more are looked at."""


class Looking:
    """The looks of one worker; `more` says that a claim's looks have not come to an end."""

    def __init__(self, store: Store, known: Known, turns: Turns) -> None:
        self._store = store
        self._known = known
        self._turns = turns
        self.first = 0
        self.more = False

    def began(self) -> None:
        """Begin a claim."""
        self.more = False

    async def lanes(
        self, queues: Sequence[str], slots: int, tenant: str | None = None
    ) -> tuple[list[Lane], Terms]:
        """Return the next lanes of these queues that may be served, and on which terms.

        With a `tenant` only its own: whoever works for one tenant sees no other.
        """
        terms = await self._known.any()
        while True:
            open_ = [queue for queue in queues if queue not in terms.paused_queues]
            wanted = looks(self._turns, open_)
            limit = _limit(slots, len(wanted), any(map(terms.by_time, open_)))
            if tenant is not None:
                wanted = [Look(one.queue, one.cls, tenant, inclusive=True) for one in wanted]
                limit = 1
            answer = await self._store.lanes(wanted, limit)
            if answer.version == terms.version:
                break
            before, terms = terms, await self._known.read()
            if before.paused_queues == terms.paused_queues:
                break
        self._turns.rooms.keep(terms.by_id)
        if tenant is not None:
            own = tenant not in terms.paused_tenants
            return [lane for lane in answer.lanes if own and lane.tenant == tenant], terms
        found(self._turns, answer.lanes, limit)
        if not terms.paused_tenants:
            return answer.lanes, terms
        return await self._served(answer.lanes, limit, terms), terms

    async def _served(self, lanes: Sequence[Lane], limit: int, terms: Terms) -> list[Lane]:
        """Leave out the lanes of paused tenants, and look on where there are no others."""
        served = [lane for lane in lanes if lane.tenant not in terms.paused_tenants]
        have = {(lane.queue, lane.cls) for lane in served}
        pages: dict[tuple[str, int], list[Lane]] = {}
        for lane in lanes:
            if (lane.queue, lane.cls) not in have:
                pages.setdefault((lane.queue, lane.cls), []).append(lane)
        for page in pages.values():
            if len(page) >= limit:
                served += await self._look_on(page, limit, terms)
        return served

    async def _look_on(self, page: Sequence[Lane], limit: int, terms: Terms) -> list[Lane]:
        seen = set(page)
        last = page[-1]
        for _ in range(PAGES):
            look = Look(last.queue, last.cls, after=last.tenant)
            lanes = (await self._store.lanes([look], PAGE)).lanes
            served = [lane for lane in lanes if lane.tenant not in terms.paused_tenants]
            if served:
                return served[:limit]
            if len(lanes) < PAGE or not seen.isdisjoint(lanes):
                return []
            seen.update(lanes)
            last = lanes[-1]
        move_on(self._turns, last)
        self.more = True
        return []


def windows(looking: Looking, queues: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the queues, a few at a time where they are very many, and each claim others first."""
    if len(queues) <= QUEUES_AT_ONCE:
        yield queues
        return
    for _ in range(0, len(queues), QUEUES_AT_ONCE):
        first = looking.first % len(queues)
        looking.first = first + QUEUES_AT_ONCE
        yield [*queues[first:], *queues[:first]][:QUEUES_AT_ONCE]


def _limit(slots: int, wanted: int, by_time: bool) -> int:
    # Who shares time is compared with those that are looked at alone: hence as many as there are.
    limit = LANES_MOST if by_time else min(max(slots, LANES_LEAST), LANES_MOST)
    return max(min(limit, LANES_IN_ALL // max(wanted, 1)), LANES_LEAST)
