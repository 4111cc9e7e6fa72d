"""What the store keeps of statistics by the minute: see `rota.store.statistics`."""

from collections.abc import Sequence

from rota.figures import Counted, Ended, Holding, StatisticsFilter
from rota.model import Micros
from rota.service import REST, Got, ServiceFilter
from rota.store import statistic_rows
from rota.store.postgres.connections import Role
from rota.store.postgres.verbs import Verbs


class StatisticsVerbs(Verbs):
    """The verbs of `rota.store.statistics`.

    What is counted at the moment goes by settings under which indexes are walked, whatever the
    planner believes of a table that has just grown, and holds up neither claims nor submits.
    """

    async def add_statistics(self, rows: Sequence[Counted]) -> None:
        if rows:
            packed = statistic_rows.to_json(rows)
            await self._execute(Role.DUTY, "add_statistics", rows=packed)

    async def statistics(self, where: StatisticsFilter, limit: int) -> list[Counted]:
        given = statistic_rows.values(where, limit)
        rows = await self._fetch(Role.READ, "read_statistics", **given)
        return [statistic_rows.counted(row, where.step) for row in rows]

    async def ended(self, where: StatisticsFilter, limit: int) -> list[Ended]:
        rows = await self._fetch(Role.READ, "read_ended", **statistic_rows.values(where, limit))
        return [Ended(*row) for row in rows]

    async def add_service(self, rows: Sequence[Got]) -> None:
        if rows:
            await self._execute(Role.DUTY, "add_service", rows=statistic_rows.packed(rows))

    async def service_totals(self, where: ServiceFilter, limit: int) -> list[Got]:
        given = statistic_rows.window(where, limit)
        rows = await self._fetch(Role.READ, "service_totals", **given)
        return [Got(where.since, where.until - where.since, *row) for row in rows]

    async def service(self, where: ServiceFilter, tenants: Sequence[str], limit: int) -> list[Got]:
        given = statistic_rows.window(where, limit)
        rows = await self._fetch(
            Role.READ, "read_service", step=where.step, tenants=list(tenants), rest=REST, **given
        )
        return [statistic_rows.got(row, where.step) for row in rows]

    async def tick(self, duties: Sequence[str], now: Micros, apart: Micros) -> None:
        await self._execute(Role.DUTY, "tick", names=list(duties), now=now, apart=apart)

    async def ticks(self) -> dict[str, Micros]:
        return dict(await self._fetch(Role.READ, "ticks"))

    async def oldest_ready(
        self, paused_tenants: Sequence[str], paused_kinds: Sequence[str], limit: int
    ) -> dict[str, Micros]:
        rows = await self._fetch(
            Role.FIRE,
            "oldest_ready",
            paused_tenants=list(paused_tenants),
            paused_kinds=list(paused_kinds),
            limit=limit,
        )
        return dict(rows)

    async def open_dead_letters(self, limit: int) -> dict[str, int]:
        return dict(await self._fetch(Role.FIRE, "open_dead_letters", limit=limit))

    async def holdings(self) -> list[Holding]:
        return [Holding(*row) for row in await self._fetch(Role.FIRE, "holdings")]

    async def served(self, since: Micros, limit: int) -> dict[str, int]:
        return dict(await self._fetch(Role.CALL, "served", since=since, limit=limit))
