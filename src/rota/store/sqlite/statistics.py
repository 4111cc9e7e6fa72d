"""What the store keeps of statistics by the minute: see `rota.store.statistics`."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import apsw

from rota.config import HOUR, KEEP_STATISTICS, MINUTE
from rota.figures import Counted, Ended, Holding, StatisticsFilter
from rota.model import Micros
from rota.service import REST, Got, ServiceFilter
from rota.store import statistic_rows
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import to_json
from rota.store.sqlite.verbs import Verbs

_SQL: Final = blocks("sqlite")


class StatisticsVerbs(Verbs):
    """The verbs of `rota.store.statistics`."""

    async def add_statistics(self, rows: Sequence[Counted]) -> None:
        if rows:
            await self._write.do(partial(_add, rows=rows))

    async def statistics(self, where: StatisticsFilter, limit: int) -> list[Counted]:
        return await self._read.do(partial(_statistics, where=where, limit=limit))

    async def ended(self, where: StatisticsFilter, limit: int) -> list[Ended]:
        return await self._read.do(partial(_ended, where=where, limit=limit))

    async def add_service(self, rows: Sequence[Got]) -> None:
        if rows:
            await self._write.do(partial(_add_service, rows=rows))

    async def service_totals(self, where: ServiceFilter, limit: int) -> list[Got]:
        return await self._read.do(partial(_service_totals, where=where, limit=limit))

    async def service(self, where: ServiceFilter, tenants: Sequence[str], limit: int) -> list[Got]:
        return await self._read.do(partial(_service, where=where, tenants=tenants, limit=limit))

    async def tick(self, duties: Sequence[str], now: Micros, apart: Micros) -> None:
        # Looked at beside the writers: mostly another node has just written the same.
        known = await self.ticks()
        late = [duty for duty in duties if known.get(duty, -apart) < now - apart]
        if late:
            await self._write.do(partial(_tick, duties=late, now=now, apart=apart))

    async def ticks(self) -> dict[str, Micros]:
        return await self._read.do(_ticks)

    async def oldest_ready(
        self, paused_tenants: Sequence[str], paused_kinds: Sequence[str], limit: int
    ) -> dict[str, Micros]:
        given = {
            "paused_tenants": to_json(paused_tenants),
            "paused_kinds": to_json(paused_kinds),
            "limit": limit,
        }
        return await self._read.do(partial(_by_queue, "oldest_ready", given))

    async def open_dead_letters(self, limit: int) -> dict[str, int]:
        return await self._read.do(partial(_by_queue, "open_dead_letters", {"limit": limit}))

    async def holdings(self) -> list[Holding]:
        return await self._read.do(_holdings)

    async def served(self, since: Micros, limit: int) -> dict[str, int]:
        minute = since - since % MINUTE
        given: dict[str, object] = {"since": since, "minute": minute, "limit": limit}
        return await self._read.do(partial(_by_queue, "served", given))


def prune(connection: apsw.Connection, now: Micros, limit: int) -> None:
    """Forget what was counted for minutes and hours that are long past."""
    for span in (MINUTE, HOUR):
        given = {"span": span, "before": now - KEEP_STATISTICS[span], "limit": limit}
        connection.execute(_SQL["prune_statistics"], given)
        connection.execute(_SQL["prune_service"], given)


def _add(connection: apsw.Connection, rows: Sequence[Counted]) -> None:
    connection.execute(_SQL["add_statistics"], {"rows": statistic_rows.to_json(rows)})


def _statistics(connection: apsw.Connection, where: StatisticsFilter, limit: int) -> list[Counted]:
    rows = connection.execute(_SQL["read_statistics"], statistic_rows.values(where, limit))
    return [statistic_rows.counted(row, where.step) for row in rows]


def _ended(connection: apsw.Connection, where: StatisticsFilter, limit: int) -> list[Ended]:
    rows = connection.execute(_SQL["read_ended"], statistic_rows.values(where, limit))
    return [Ended(*row) for row in rows]


def _add_service(connection: apsw.Connection, rows: Sequence[Got]) -> None:
    connection.execute(_SQL["add_service"], {"rows": statistic_rows.packed(rows)})


def _service_totals(connection: apsw.Connection, where: ServiceFilter, limit: int) -> list[Got]:
    rows = connection.execute(_SQL["service_totals"], statistic_rows.window(where, limit))
    return [Got(where.since, where.until - where.since, *row) for row in rows]


def _service(
    connection: apsw.Connection, where: ServiceFilter, tenants: Sequence[str], limit: int
) -> list[Got]:
    given = statistic_rows.window(where, limit) | {
        "step": where.step,
        "tenants": to_json(tenants),
        "rest": REST,
    }
    return [
        statistic_rows.got(row, where.step)
        for row in connection.execute(_SQL["read_service"], given)
    ]


def _tick(connection: apsw.Connection, duties: Sequence[str], now: Micros, apart: Micros) -> None:
    given = {"names": to_json(duties), "now": now, "apart": apart}
    connection.execute(_SQL["tick"], given)


def _ticks(connection: apsw.Connection) -> dict[str, Micros]:
    return dict(connection.execute(_SQL["ticks"]))


def _by_queue(block: str, given: dict[str, object], connection: apsw.Connection) -> dict[str, int]:
    return dict(connection.execute(_SQL[block], given))


def _holdings(connection: apsw.Connection) -> list[Holding]:
    return [Holding(*row) for row in connection.execute(_SQL["holdings"])]
