"""Settings, limits, figures and workers as far as a key reaches (S2)."""

import asyncio
from collections.abc import Sequence

from msgspec import structs

from rota.access import Scope
from rota.backend import Backend
from rota.model import Micros, Session, State, TaskFilter
from rota.server.problems import Problem
from rota.service import Service, ServiceFilter
from rota.shares import AnySettings, Depth, Limit, LimitUse, Settings

QUEUES_MOST = 500
"""So many queues are asked for a tenant's own work; there is no list of those."""


def shared_by_all() -> Problem:
    """Return the answer to a bound key that would change, or see, what all share."""
    return Problem("forbidden", "this is shared by all; it takes a key that is bound to nothing")


class ScopedShares:
    """The verbs on settings and what is counted: a tenant sees its own part and changes nothing."""

    _inner: Backend
    _scope: Scope

    async def settings(self) -> Settings:
        settings = await self._inner.settings()
        scope = self._scope
        if not scope.bound:
            return settings
        queues, tenants = settings.queues, settings.tenants
        if scope.queues is not None:
            queues = {name: one for name, one in queues.items() if name in scope.queues}
        if scope.tenant is not None:
            tenants = {name: one for name, one in tenants.items() if name == scope.tenant}
        limits = tuple(limit for limit in settings.limits if self._sees(limit))
        return structs.replace(settings, queues=queues, tenants=tenants, limits=limits)

    async def put_settings(self, new: AnySettings, version: int) -> bool:
        self._unbound()
        return await self._inner.put_settings(new, version)

    async def drop_settings(self, old: AnySettings) -> bool:
        self._unbound()
        return await self._inner.drop_settings(old)

    async def put_limit(self, limit: Limit, version: int) -> bool:
        self._unbound()
        return await self._inner.put_limit(limit, version)

    async def drop_limit(self, limit_id: str) -> bool:
        self._unbound()
        return await self._inner.drop_limit(limit_id)

    async def service(self, where: ServiceFilter) -> list[Service]:
        scope = self._scope
        if scope.queues is not None:
            raise Problem(
                "forbidden", "service is of all queues together; use a key for all queues"
            )
        if scope.tenant is None:
            return await self._inner.service(where)
        if where.tenant not in (None, scope.tenant):
            raise Problem("tenant_mismatch", f"the key is for tenant {scope.tenant!r} alone")
        own = structs.replace(where, tenant=scope.tenant, alone=True)
        return await self._inner.service(own)

    async def limit_use(self, limit_ids: Sequence[str]) -> list[LimitUse]:
        return [use for use in await self._inner.limit_use(limit_ids) if self._sees(use.limit)]

    async def depths(
        self, queues: Sequence[str], tenants: Sequence[str], cap: int
    ) -> tuple[list[Depth], list[Depth]]:
        scope = self._scope
        if not scope.bound:
            return await self._inner.depths(queues, tenants, cap)
        return (
            [await self._depth(name, queue=name, tenant=scope.tenant, cap=cap) for name in queues],
            [await self._depth(name, queue=None, tenant=name, cap=cap) for name in tenants],
        )

    async def _depth(self, name: str, *, queue: str | None, tenant: str | None, cap: int) -> Depth:
        """Count what waits of what is within reach; elsewhere there is nothing."""
        scope = self._scope
        if scope.tenant not in (None, tenant):
            return Depth(name, 0)
        if queue is not None and scope.queues is not None and queue not in scope.queues:
            return Depth(name, 0)
        where = TaskFilter(states=(State.READY,), queue=queue, tenant=tenant, queues=scope.queues)
        return Depth(name, (await self._inner.count(where, cap)).get(State.READY, 0))

    async def queues_with_work(self) -> list[str]:
        found = await self._inner.queues_with_work()
        scope = self._scope
        if scope.queues is not None:
            found = [queue for queue in found if queue in scope.queues]
        if scope.tenant is None:
            return found
        found = found[:QUEUES_MOST]
        depths = await asyncio.gather(
            *(self._depth(queue, queue=queue, tenant=scope.tenant, cap=1) for queue in found)
        )
        return [depth.name for depth in depths if depth.waiting]

    async def tallies(self, since: Micros) -> dict[tuple[str, str, State], int]:
        scope = self._scope
        if scope.tenant is not None:
            return {}  # they are not kept by tenant
        counts = await self._inner.tallies(since)
        if scope.queues is None:
            return counts
        return {key: count for key, count in counts.items() if key[0] in scope.queues}

    async def sessions(self, *, live: bool = True) -> list[Session]:
        return [] if self._scope.bound else await self._inner.sessions(live=live)

    def _sees(self, limit: Limit) -> bool:
        """Say whether a limit counts nothing but what is within reach."""
        scope = self._scope
        if scope.tenant is not None and limit.tenant != scope.tenant:
            return False
        if scope.queues is None or limit.queue in scope.queues:
            return True
        return scope.tenant is not None and limit.queue is None

    def _unbound(self) -> None:
        if self._scope.bound:
            raise shared_by_all()
