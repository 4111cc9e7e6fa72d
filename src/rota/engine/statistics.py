"""The engine's verbs for statistics by the minute, and the seven figures (R9.4, R9.6)."""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from rota.clock import Clock, Ids, Rng
from rota.config import MINUTE
from rota.engine.measuring import Measuring
from rota.engine.sharing import QUEUES_MOST, Known
from rota.engine.vitals import Vitals
from rota.errors import InvalidTask
from rota.figures import (
    DEAD_LETTERS_CAP,
    DEPTH_CAP,
    LANES_CAP,
    LATENESS,
    POINTS,
    RECENT,
    ROWS,
    RUNS,
    WAITS,
    By,
    Counted,
    Ended,
    Figures,
    Measure,
    Scale,
    Served,
    Statistic,
    StatisticsFilter,
    seconds,
)
from rota.options import check_tenant
from rota.policy.figures import Measured, readings, scales
from rota.policy.histogram import BUCKETS
from rota.policy.served import LONGEST, MOST
from rota.policy.served import since as served_since
from rota.policy.service import due, known, steps
from rota.service import REST, TOLD_MOST, Got, Service, ServiceFilter
from rota.store.base import Store

TENANTS_MOST = 1_000
"""Of so many tenants it is known what they got and what they are due."""
_PLAIN = (
    Measure.SUBMITTED,
    Measure.REFUSED,
    Measure.STARTED,
    Measure.RETRIED,
    Measure.SNOOZED,
    Measure.RELEASED,
    Measure.EXPIRED,
    Measure.STALE,
    Measure.LOST,
)


class Statistics:
    """The verbs of `rota.seam.statistics`."""

    store: Store
    clock: Clock
    measuring: Measuring
    vitals: Vitals
    _ids: Ids
    _rng: Rng
    _known: Known

    async def statistics(self, where: StatisticsFilter) -> list[Statistic]:
        check(where)
        counted = await self.store.statistics(where, ROWS)
        return combined(where, counted, await self.store.ended(where, ROWS))

    async def figures(self) -> Figures:
        measured = await self.measured()
        return Figures(measured.now, readings(measured))

    async def scaling(self) -> list[Scale]:
        return scales(await self.measured())

    async def flush(self) -> None:
        await self.measuring.flush()

    async def service(self, where: ServiceFilter) -> list[Service]:
        check(where)
        if not 1 <= where.most <= TOLD_MOST:
            raise InvalidTask("most", f"must be 1 to {TOLD_MOST}")
        if where.tenant is not None:
            check_tenant(where.tenant)
        if where.alone:
            told = [where.tenant or ""]
            return steps(await self._service(where, told), told, {}, alone=True)
        totals = await self.store.service_totals(where, TENANTS_MOST)
        names = known(totals) if len(totals) < TENANTS_MOST else None
        settings = await self.store.settings()
        dues = due({name: settings.tenant(name).weight for name in names or ()})
        first = [one.tenant for one in totals if one.tenant != REST][: where.most]
        told = first if where.tenant is None else [where.tenant]
        return steps(await self._service(where, told), told, dues)

    async def _service(self, where: ServiceFilter, told: Sequence[str]) -> list[Got]:
        points = (where.until - where.since) // where.step + 2
        return await self.store.service(where, told, points * (len(told) + 1))

    async def served(self) -> Served:
        now = self.clock.now()
        where = StatisticsFilter(since=now - LONGEST, until=now + MINUTE, step=MINUTE)
        ended = await self.store.ended(where, ROWS)
        since = served_since(now, [(one.at, one.completed) for one in ended])
        # What is completed meanwhile comes along.
        return Served(now, since, await self.store.served(since, 2 * MOST))

    async def look(self) -> None:
        """Find out that the store is there, what it knows of duties, and what time it has."""
        self.vitals.saw(await self.store.ticks())
        await self.measure()

    async def measure(self) -> None:
        """Take a reading of the store's clock."""
        raise NotImplementedError

    async def measured(self) -> Measured:
        """Return what the figures are made of; every read is bounded."""
        settings = await self.store.settings()
        tenants = [one.name for one in settings.tenants.values() if one.paused_at is not None]
        kinds = [one.name for one in settings.kinds.values() if one.paused_at is not None]
        working = await self.store.queues_with_work(QUEUES_MOST)
        depths, _ = await self.store.depths(working, (), DEPTH_CAP)
        now = self.clock.now()
        recent = StatisticsFilter(
            since=now - RECENT, until=now + MINUTE, step=MINUTE, by=(By.QUEUE,)
        )
        return Measured(
            now=now,
            since=recent.since - recent.since % MINUTE,
            waiting={depth.name: depth.waiting for depth in depths},
            oldest=await self.store.oldest_ready(tenants, kinds, LANES_CAP),
            dead_letters=await self.store.open_dead_letters(DEAD_LETTERS_CAP),
            recent=_by_queue(await self.statistics(recent)),
            sessions=await self.store.sessions(live_at=now),
            holdings=await self.store.holdings(),
            ticks=await self.store.ticks(),
            settings=settings,
        )


def check(where: StatisticsFilter | ServiceFilter) -> None:
    """Refuse what cannot be, or would be too much: `InvalidTask` names the field."""
    if where.step < MINUTE or where.step % MINUTE:
        raise InvalidTask("step", "must be whole minutes")
    if where.until <= where.since:
        raise InvalidTask("until", "must lie after `since`")
    points = -(-(where.until - where.since) // where.step)
    if points > POINTS + 1:
        raise InvalidTask("step", f"would make {points:,} points; at most {POINTS:,} are answered")


def combined(
    where: StatisticsFilter, counted: Sequence[Counted], ended: Sequence[Ended]
) -> list[Statistic]:
    """Put together what processes counted and what the store counted of the ends."""
    ends = {(one.at, one.queue, one.kind): one for one in ended}
    counts = {(one.at, one.queue, one.kind): one.counts for one in counted}
    keys = sorted({*ends, *counts}, key=lambda key: (key[0], key[1] or "", key[2] or ""))
    return [
        statistic(Counted(at, where.step, queue, kind, counts.get((at, queue, kind), {})), end)
        for at, queue, kind in keys
        for end in (ends.get((at, queue, kind)) or Ended(at, queue, kind),)
    ]


def statistic(counted: Counted, end: Ended) -> Statistic:
    """Return what happened in one step by its names."""
    counts = counted.counts
    plain: dict[str, Any] = {one.name.lower(): counts.get(one, 0) for one in _PLAIN}
    return Statistic(
        at=counted.at,
        step=counted.span,
        queue=counted.queue,
        kind=counted.kind,
        completed=end.completed,
        failed=end.failed,
        cancelled=end.cancelled,
        waited=seconds(counts.get(Measure.WAITED, 0)),
        late=seconds(counts.get(Measure.LATE, 0)),
        ran=seconds(counts.get(Measure.RAN, 0)),
        waits=histogram(counts, WAITS),
        lateness=histogram(counts, LATENESS),
        runs=histogram(counts, RUNS),
        **plain,
    )


def histogram(counts: dict[int, int], start: int) -> tuple[int, ...]:
    """Return the buckets that begin at a place."""
    return tuple(counts.get(start + number, 0) for number in range(BUCKETS))


def _by_queue(rows: Sequence[Statistic]) -> dict[str, Statistic]:
    found: dict[str, Statistic] = {}
    for row in rows:
        name = row.queue or ""
        found[name] = _added(found[name], row) if name in found else row
    return found


def _added(one: Statistic, other: Statistic) -> Statistic:
    """Return two steps of the same queue as one."""
    names = {measure.name.lower() for measure in Measure}
    changes: dict[str, Any] = {name: getattr(one, name) + getattr(other, name) for name in names}
    for name in ("waits", "lateness", "runs"):
        pairs = zip(getattr(one, name), getattr(other, name), strict=True)
        changes[name] = tuple(a + b for a, b in pairs)
    return structs.replace(one, **changes)
