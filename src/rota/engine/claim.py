"""Claiming: which lanes have work, how many from each, and then take them (R7.1-R7.3)."""

from collections.abc import Sequence

from rota.clock import Clock
from rota.model import Claimed, PriorityClass, Share
from rota.policy import fairness
from rota.store.base import Store

LANES_LEAST = 16
LANES_MOST = 256
ROUNDS = 3
"""A lane may hold less than its share; the rest is planned again over the others this often."""


class Claims:
    """The claims of one worker; whose turn it is is carried over between them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._turns = fairness.Turns()

    async def claim(
        self, session_id: str, queues: Sequence[str], slots: int, avoid: Sequence[str]
    ) -> list[Claimed]:
        """Take at most `slots` tasks; fewer only if there are no more, or others take them."""
        # More lanes than slots would be looked up for nothing, more than LANES_MOST would make one
        # claim slow; the cursor comes round to the others.
        limit = min(max(slots, LANES_LEAST), LANES_MOST)
        lanes = await self._store.lanes(fairness.looks(self._turns, queues), limit)
        taken: list[Claimed] = []
        for _ in range(ROUNDS):
            left = slots - len(taken)
            if not lanes or not left:
                break
            shares = fairness.plan(self._turns, lanes, left, limit=limit)
            got = await self._store.take(session_id, shares, avoid, self._clock.now())
            taken += got
            counts = _count(got, shares)
            dry = set(fairness.settle(self._turns, shares, counts))
            lanes = [lane for lane in lanes if lane not in dry]
        return taken


def _count(got: Sequence[Claimed], shares: Sequence[Share]) -> list[int]:
    counts: dict[tuple[str, str, PriorityClass], int] = {}
    for task in got:
        place = (task.queue, task.tenant, PriorityClass.of(task.priority))
        counts[place] = counts.get(place, 0) + 1
    return [counts.get((s.lane.queue, s.lane.tenant, s.lane.cls), 0) for s in shares]
