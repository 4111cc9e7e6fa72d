"""A store's ready tasks in memory, as far as fairness can see them: so many in each lane."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from rota.model import Lane, Look, PriorityClass
from rota.policy.fairness import WEIGHTS, Turns, looks, plan, settle


def lane(tenant: str = "", cls: PriorityClass = PriorityClass.NORMAL, queue: str = "sms") -> Lane:
    return Lane(queue, cls, tenant)


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
        found = []
        for look in wanted:
            tenants = self._tenants.get((look.queue, look.cls), [])
            bisect = bisect_left if look.inclusive else bisect_right
            start = 0 if look.after is None else bisect(tenants, look.after)
            ring = (tenants[start:] + tenants[:start])[:limit]
            found += [Lane(look.queue, look.cls, tenant) for tenant in ring]
        return found

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
        weights: Mapping[PriorityClass, int] = WEIGHTS,
        tenant_weight: Callable[[str], int] = lambda _: 1,
    ) -> Counter[Lane]:
        got: Counter[Lane] = Counter()
        lanes = self.lanes(looks(turns, list(queues)), limit)
        while lanes and got.total() < slots:
            shares = plan(
                turns,
                lanes,
                slots - got.total(),
                limit=limit,
                weights=weights,
                tenant_weight=tenant_weight,
            )
            taken = [self.take(share.lane, share.count) for share in shares]
            for share, count in zip(shares, taken, strict=True):
                got[share.lane] += count
            dry = settle(turns, shares, taken)
            lanes = [where for where in lanes if where not in dry]
        return got
