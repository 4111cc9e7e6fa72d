"""Claiming: which lanes have work, how many from each, and then take them (R7.1-R7.5, R7.7)."""

from collections.abc import Iterator, Sequence

from rota.backend import Claim, Report
from rota.clock import Clock, Rng
from rota.config import SECOND
from rota.engine.looking import Looking, windows
from rota.engine.sharing import Known
from rota.errors import ClaimSuperseded
from rota.model import Claimed, Lane, Micros, Share
from rota.policy import fairness
from rota.policy.costs import lane_of
from rota.policy.limits import closed_until, room_of, soonest
from rota.policy.terms import Terms
from rota.policy.turns import correct
from rota.remote import Numbered
from rota.shares import Blocked, Held, Taken
from rota.store.base import Store

ROUNDS = 3
"""A lane may hold less than its share; the rest is planned again over the others this often."""
ROUNDS_IN_VAIN = 12
"""As long as nothing was got, it is planned again so often."""
STALE_TRIES = 5
PATIENCE: Micros = SECOND // 50
"""Tokens may gather for so long before they are asked for."""
BUSY: Micros = SECOND // 200
"""What another claimer has locked is asked for again after this long, and a part by chance."""
CHECKED = 64
"""The use of so many limits at most is looked at in one claim."""


class Claims:
    """The claims of one worker; whose turn it is is carried over between them."""

    def __init__(self, store: Store, clock: Clock, rng: Rng, known: Known) -> None:
        self._store = store
        self._clock = clock
        self._rng = rng
        self._known = known
        self._turns = fairness.Turns()
        self._looking = Looking(store, known, self._turns)

    async def claim(
        self,
        session_id: str,
        queues: Sequence[str],
        slots: int,
        avoid: Sequence[str],
        spare: int,
        *,
        tenant: str | None = None,
        numbered: Numbered | None = None,
    ) -> Claim:
        """Take at most `slots` tasks; fewer only if there are no more, or others take them.

        Nothing is taken by settings that were changed before the claim began (invariant 4), nor
        under a number that is not the session's newest: that is `ClaimSuperseded`.
        """
        one = _Going(session_id, slots, avoid, spare, numbered)
        self._looking.began()
        for window in windows(self._looking, queues):
            for _ in range(STALE_TRIES):
                lanes, terms = await self._looking.lanes(window, slots, tenant)
                if not await self._fill(one, lanes, terms):
                    break
                await self._known.read()
            else:
                one.again.append(self._clock.now() + BUSY)
            if one.tasks:
                break
        if self._looking.more and one.left:
            one.again.append(self._clock.now())
        return Claim(one.tasks, min(one.again, default=None), one.spared)

    async def _fill(self, one: "_Going", lanes: list[Lane], terms: Terms) -> bool:
        """Take from these lanes, as far as there are slots; True if the terms were too old."""
        checked = not terms.limited
        for n in range(ROUNDS_IN_VAIN):
            if n >= ROUNDS and one.tasks:
                break
            shares = fairness.plan(self._turns, lanes, one.left, spare=one.spare_left, terms=terms)
            if not shares:
                one.spared = one.spared or bool(lanes and one.left)
                return False
            await self._begin(one)
            taken = await self._store.take(
                one.session_id,
                shares,
                (*one.avoid, *terms.paused_kinds),
                self._clock.now(),
                terms.version,
                number=None if one.numbered is None else one.numbered.number,
            )
            if taken.stale:
                return True
            lanes = self._settle(one, lanes, shares, taken, terms)
            if taken.blocked and one.left and not checked:
                checked = True
                lanes = await self._open(one, lanes, terms)
        self._looking.more = self._looking.more or bool(lanes)
        return False

    async def _begin(self, one: "_Going") -> None:
        """Make a numbered claim known before it takes anything; one without work needs not."""
        if one.numbered is None or one.numbered.begun:
            return
        number = one.numbered.number
        if not await self._store.begin_claim(one.session_id, number, self._clock.now()):
            raise ClaimSuperseded(one.session_id)
        one.numbered.begun = True

    def _settle(
        self,
        one: "_Going",
        lanes: list[Lane],
        shares: Sequence[Share],
        taken: Taken,
        terms: Terms,
    ) -> list[Lane]:
        """Take in what was got, and return the lanes that may have more for this claim."""
        counts, spent = self._count(taken.tasks, shares, terms)
        blocked = {block.limit for block in taken.blocked}
        self._turns.rooms.learn(shares, counts, taken.blocked)
        dry = set(fairness.settle(self._turns, shares, counts, spent=spent, blocked=blocked))
        one.add(taken.tasks, sum(n for s, n in zip(shares, counts, strict=True) if s.limits))
        one.again += self._again(one, taken.blocked, terms)
        return [
            lane
            for lane in lanes
            if lane not in dry and not (blocked and blocked.intersection(terms.limits(lane)))
        ]

    def _count(
        self, got: Sequence[Claimed], shares: Sequence[Share], terms: Terms
    ) -> tuple[list[int], list[int]]:
        """Count the tasks of each share, and what they cost in the units of their queue."""
        counts: dict[Lane, int] = {}
        spent: dict[Lane, int] = {}
        for task in got:
            lane = lane_of(task)
            cost = self._turns.costs.hand_out(task) if terms.by_time(task.queue) else 1
            counts[lane] = counts.get(lane, 0) + 1
            spent[lane] = spent.get(lane, 0) + cost
        lanes = [share.lane for share in shares]
        return [counts.get(lane, 0) for lane in lanes], [spent.get(lane, 0) for lane in lanes]

    def _again(self, one: "_Going", blocked: Sequence[Blocked], terms: Terms) -> Iterator[Micros]:
        for block in blocked:
            if block.why is Held.BUSY:
                yield self._clock.now() + BUSY + int(BUSY * self._rng.random())
            elif block.until is not None:
                limit = terms.by_id[block.limit]
                yield soonest(limit, block.until, max(one.left, 1), PATIENCE)

    async def _open(self, one: "_Going", lanes: list[Lane], terms: Terms) -> list[Lane]:
        """Leave out lanes whose limits have no room: to ask each in vain would take a round."""
        under = {limit: None for lane in lanes for limit in terms.limits(lane)}
        if len(under) < ROUNDS:
            return lanes
        closed = set()
        for use in await self._store.limit_use(list(under)[:CHECKED], self._clock.now()):
            room = room_of(use)
            self._turns.rooms.know(use.limit.id, room)
            if room < 1:
                closed.add(use.limit.id)
                if (until := closed_until(use)) is not None:
                    one.again.append(soonest(use.limit, until, max(one.left, 1), PATIENCE))
        return [lane for lane in lanes if not closed.intersection(terms.limits(lane))]

    def ended(self, reports: Sequence[Report]) -> None:
        """Charge runs by what they really took, where tenants share the workers' time (R7.3)."""
        costs, terms = self._turns.costs, self._known.terms
        if not costs.waiting:
            return
        for report in reports:
            took = None if report.seconds is None else int(report.seconds * SECOND)
            more = costs.ended(report.task, took)
            if more and terms is not None and terms.by_time(report.task.queue):
                correct(self._turns, lane_of(report.task), more)


class _Going:
    """A claim that is under way."""

    def __init__(
        self,
        session_id: str,
        slots: int,
        avoid: Sequence[str],
        spare: int,
        numbered: Numbered | None,
    ) -> None:
        self.session_id = session_id
        self.numbered = numbered
        self.avoid = avoid
        self.left = slots
        self.tasks: list[Claimed] = []
        self.again: list[Micros] = []
        self.spared = False
        self._limited_left = max(slots - spare, 0)

    @property
    def spare_left(self) -> int:
        """How many of the slots that are left are not for tasks under limits."""
        return max(self.left - self._limited_left, 0)

    def add(self, tasks: Sequence[Claimed], limited: int) -> None:
        """Take in what was got, some of it under limits."""
        self.tasks += tasks
        self.left -= len(tasks)
        self._limited_left -= limited
