"""The engine's verbs for settings and limits, and what a node knows of them (R7)."""

from collections.abc import Sequence

from rota.backend import Report
from rota.clock import Clock
from rota.engine.news import Change, Topic
from rota.engine.newsroom import Newsroom
from rota.model import Micros
from rota.policy.terms import Terms
from rota.shares import (
    AnySettings,
    Depth,
    KindSettings,
    Limit,
    LimitUse,
    QueueSettings,
    Settings,
    TenantSettings,
)
from rota.store.base import CHANGED, Store

FRESH = 1.0
"""Whoever submits knows of a change after at most so many seconds."""
QUEUES_MOST = 10_000

DEFAULTS = Terms(Settings())


class Known:
    """The settings as this node knows them; each claim finds out whether there are newer ones."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._read_at = 0.0
        self.terms: Terms | None = None

    async def any(self) -> Terms:
        """Return the terms that were read last, however old they are."""
        return self.terms or await self.read()

    async def fresh(self) -> Terms:
        """Return terms that are at most `FRESH` seconds old."""
        if self.terms is None or self._clock.monotonic() - self._read_at > FRESH:
            return await self.read()
        return self.terms

    async def read(self) -> Terms:
        """Read the settings; terms are worked out anew only if they have changed."""
        began = self._clock.monotonic()
        settings = await self._store.settings()
        if self.terms is None or self.terms.version != settings.version:
            self.terms = Terms(settings)
        self._read_at = began
        return self.terms

    def aging(self, queue: str) -> Micros:
        """Return the aging of a queue as far as it is known (R7.2)."""
        return (self.terms or DEFAULTS).aging(queue)

    def capped(self, reports: Sequence[Report]) -> bool:
        """Say whether the end of one of these makes room under a cap, as far as is known."""
        terms = self.terms
        if terms is None or not terms.limited:
            return False
        return any(
            terms.capped(queue, tenant)
            for queue, tenant in {(report.task.queue, report.task.tenant) for report in reports}
        )


class Sharing:
    """The part of an engine that has to do with settings and limits; every change is news."""

    store: Store
    clock: Clock
    news: Newsroom
    _known: Known

    async def settings(self) -> Settings:
        return await self.store.settings()

    async def put_settings(self, new: AnySettings, version: int) -> bool:
        return await self._changed(await self.store.put_settings(new, version), _of(new))

    async def drop_settings(self, old: AnySettings) -> bool:
        return await self._changed(await self.store.drop_settings(old), _of(old))

    async def put_limit(self, limit: Limit, version: int) -> bool:
        change = Change(limit.id, "limit", limit.queue, limit.tenant)
        return await self._changed(await self.store.put_limit(limit, version), change)

    async def drop_limit(self, limit_id: str) -> bool:
        dropped = await self.store.drop_limit(limit_id)
        return await self._changed(dropped, Change(limit_id, "limit"))

    async def limit_use(self, limit_ids: Sequence[str]) -> list[LimitUse]:
        return await self.store.limit_use(limit_ids, self.clock.now())

    async def depths(
        self, queues: Sequence[str], tenants: Sequence[str], cap: int
    ) -> tuple[list[Depth], list[Depth]]:
        return await self.store.depths(queues, tenants, cap)

    async def queues_with_work(self) -> list[str]:
        return await self.store.queues_with_work(QUEUES_MOST)

    async def _changed(self, changed: bool, change: Change) -> bool:
        """Tell the nodes: what waited may be started now."""
        if changed:
            self.news.add(Topic.QUEUES, [change])
            self._known.terms = None
            await self.store.notify(CHANGED)
        return changed


def _of(settings: AnySettings) -> Change:
    match settings:
        case QueueSettings():
            return Change(settings.name, "queue", queue=settings.name)
        case TenantSettings():
            return Change(settings.name, "tenant", tenant=settings.name)
        case KindSettings():
            return Change(settings.name, "kind")
