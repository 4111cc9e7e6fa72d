"""What the settings say of each lane, worked out once for each version of them."""

from collections.abc import Iterable

from rota.config import LEVEL
from rota.model import Lane, Micros, PriorityClass
from rota.shares import (
    AnySettings,
    FairBy,
    Settings,
    Weights,
    WhenFull,
)


class Terms:
    """The terms on which lanes get slots: weights, limits and pauses, all of one version.

    >>> Terms(Settings()).weights("sms").low
    5
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.version = settings.version
        self.paused_queues = _paused(settings.queues.values())
        self.paused_tenants = _paused(settings.tenants.values())
        self.paused_kinds = tuple(sorted(_paused(settings.kinds.values())))
        self.by_id = {limit.id: limit for limit in settings.limits}
        self._by_scope = {(limit.queue, limit.tenant): limit.id for limit in settings.limits}
        self.limited = bool(settings.limits)
        queues, tenants = settings.queues.values(), settings.tenants.values()
        depths = [*(one.max_depth for one in queues), *(one.max_depth for one in tenants)]
        self.bounded = any(depth is not None for depth in depths)
        self.aged = any(one.aging != LEVEL for one in queues)

    def weights(self, queue: str) -> Weights:
        """Return what the classes of a queue get (R7.1)."""
        return self._settings.queue(queue).weights

    def weight(self, tenant: str) -> int:
        """Return a tenant's part beside other tenants (R7.3)."""
        known = self._settings.tenants.get(tenant)
        return 1 if known is None else known.weight

    def by_time(self, queue: str) -> bool:
        """Say whether the tenants of a queue share the time of its workers."""
        return self._settings.queue(queue).fair_by is FairBy.TIME

    def aging(self, queue: str) -> Micros:
        """Return for how long a task of a queue has to wait to rise by one level (R7.2)."""
        return self._settings.queue(queue).aging

    def depth_of_queue(self, queue: str) -> int | None:
        """Return how many tasks of a queue may wait before work is turned away (R1.7)."""
        return self._settings.queue(queue).max_depth

    def depth_of_tenant(self, tenant: str) -> int | None:
        """Return how many tasks of a tenant may wait before work is turned away (R1.7)."""
        return self._settings.tenant(tenant).max_depth

    def when_full(self, queue: str) -> WhenFull:
        """Return what becomes of work that a queue turns away."""
        return self._settings.queue(queue).when_full

    def of_queue(self, queue: str) -> str | None:
        """Return the id of the limit that all lanes of a queue fall under."""
        return self._by_scope.get((queue, None))

    def limits(self, lane: Lane) -> tuple[str, ...]:
        """Return the ids of the limits that a lane falls under (R7.4, R7.5)."""
        if not self.limited:
            return ()
        queue, tenant = lane.queue, lane.tenant
        found = map(self._by_scope.get, ((queue, None), (None, tenant), (queue, tenant)))
        return tuple(limit for limit in found if limit is not None)

    def capped(self, queue: str, tenant: str) -> bool:
        """Say whether the end of such a task makes room for another one."""
        return any(
            self.by_id[limit].max_running is not None
            for limit in self.limits(Lane(queue, PriorityClass.NORMAL, tenant))
        )


def _paused(known: Iterable[AnySettings]) -> frozenset[str]:
    return frozenset(one.name for one in known if one.paused_at is not None)
