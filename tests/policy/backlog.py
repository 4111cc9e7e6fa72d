"""A store's ready tasks in memory, as far as fairness can see them: so many in each lane."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Mapping

from rota.model import Lane, Look, PriorityClass, Share
from rota.policy.fairness import DEFAULTS, Turns, looks, plan, settle
from rota.policy.terms import Terms
from rota.policy.turns import found
from rota.shares import Blocked, Held, Limit, QueueSettings, Settings, TenantSettings, Weights


def lane(tenant: str = "", cls: PriorityClass = PriorityClass.NORMAL, queue: str = "sms") -> Lane:
    return Lane(queue, cls, tenant)


def weighted(**tenants: int) -> Terms:
    """Terms under which these tenants have weights."""
    known = {name: TenantSettings(name=name, weight=part) for name, part in tenants.items()}
    return Terms(Settings(tenants=known))


def classed(*, queue: str = "sms", **classes: int) -> Terms:
    """Terms under which the classes of a queue have these weights."""
    settings = QueueSettings(name=queue, weights=Weights(**classes))
    return Terms(Settings(queues={queue: settings}))


def capped(*limits: Limit, **tenants: int) -> Terms:
    """Terms with these limits, under which these tenants have weights."""
    known = {name: TenantSettings(name=name, weight=part) for name, part in tenants.items()}
    return Terms(Settings(tenants=known, limits=limits))


class Backlog:
    """Counts by lane; `claim` takes from them like the engine does from the store."""

    def __init__(self, counts: Mapping[Lane, int]) -> None:
        self._counts: Counter[Lane] = Counter()
        self._tenants: dict[tuple[str, PriorityClass], list[str]] = {}
        for where, count in counts.items():
            self.add(where, count)

    @property
    def total(self) -> int:
        return self._counts.total()

    def add(self, where: Lane, count: int) -> None:
        if count and not self._counts[where]:
            insort(self._tenants.setdefault((where.queue, where.cls), []), where.tenant)
        self._counts[where] += count

    def lanes(self, wanted: Iterable[Look], limit: int) -> list[Lane]:
        lanes = []
        for look in wanted:
            tenants = self._tenants.get((look.queue, look.cls), [])
            bisect = bisect_left if look.inclusive else bisect_right
            start = 0 if look.after is None else bisect(tenants, look.after)
            ring = (tenants[start:] + tenants[:start])[:limit]
            lanes += [Lane(look.queue, look.cls, tenant) for tenant in ring]
        return lanes

    def take(self, where: Lane, count: int) -> int:
        taken = min(count, self._counts[where])
        self._counts[where] -= taken
        if taken and not self._counts[where]:
            self._tenants[where.queue, where.cls].remove(where.tenant)
        return taken

    def claim(
        self,
        turns: Turns,
        slots: int,
        *,
        queues: Iterable[str] = ("sms",),
        limit: int = 1000,
        terms: Terms = DEFAULTS,
        rooms: dict[str, int] | None = None,
    ) -> Counter[Lane]:
        """Claim like the engine does; limits let through what is in `rooms`, which is used up."""
        got: Counter[Lane] = Counter()
        lanes = self.lanes(looks(turns, list(queues)), limit)
        found(turns, lanes, limit)
        while lanes and got.total() < slots:
            shares = plan(turns, lanes, slots - got.total(), terms=terms)
            taken, blocked = self._serve(shares, {} if rooms is None else rooms)
            for share, count in zip(shares, taken, strict=True):
                got[share.lane] += count
            turns.rooms.learn(shares, taken, [Blocked(name, Held.CAP) for name in blocked])
            dry = settle(turns, shares, taken, blocked=blocked)
            lanes = [
                where
                for where in lanes
                if where not in dry and not blocked.intersection(terms.limits(where))
            ]
        return got

    def _serve(self, shares: Iterable[Share], rooms: dict[str, int]) -> tuple[list[int], set[str]]:
        """Take the shares in their order, with what room is left in all of their limits."""
        taken = []
        blocked: set[str] = set()
        for share in shares:
            under = [name for name in share.limits if name in rooms]
            room = min((rooms[name] for name in under), default=share.count)
            count = self.take(share.lane, min(share.count, room))
            taken.append(count)
            for name in under:
                rooms[name] -= count
                if count < share.count and rooms[name] == 0:
                    blocked.add(name)
        return taken, blocked
