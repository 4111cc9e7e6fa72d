"""The part of a store's contract that is about statistics by the minute, and the seven figures."""

from collections.abc import Sequence
from typing import Protocol

from rota.figures import Counted, Ended, Holding, StatisticsFilter
from rota.model import Micros
from rota.service import Got, ServiceFilter


class Statistics(Protocol):
    """What a store keeps of statistics by the minute, and counts at the moment; all is bounded."""

    async def add_statistics(self, rows: Sequence[Counted]) -> None:
        """Add counts to those that are there for the same moment, span, queue and kind.

        Each of the four together stands in `rows` once. A repeat adds once more.
        """
        ...

    async def statistics(self, where: StatisticsFilter, limit: int) -> list[Counted]:
        """Return what was counted, added up by steps, the oldest first; at most `limit` rows."""
        ...

    async def ended(self, where: StatisticsFilter, limit: int) -> list[Ended]:
        """Return how many tasks ended, from the tallies, added up like `statistics` (R9.1)."""
        ...

    async def add_service(self, rows: Sequence[Got]) -> None:
        """Add what tenants got to what is there for the same moment, span and tenant.

        Each of the three together stands in `rows` once. A repeat adds once more.
        """
        ...

    async def service_totals(self, where: ServiceFilter, limit: int) -> list[Got]:
        """Return what each tenant got in all that time, who got most first; at most `limit`.

        Of a filter its time counts; `at` and `span` are those of the whole.
        """
        ...

    async def service(self, where: ServiceFilter, tenants: Sequence[str], limit: int) -> list[Got]:
        """Return step by step what these tenants got, and all others in one sum, `service.REST`.

        The oldest first; at most `limit` rows.
        """
        ...

    async def tick(self, duties: Sequence[str], now: Micros, apart: Micros) -> None:
        """Write down that duties were done at `now`, unless that was done less than `apart` ago."""
        ...

    async def ticks(self) -> dict[str, Micros]:
        """Return when each duty was last done by any node, as far as it was written down."""
        ...

    async def oldest_ready(
        self, paused_tenants: Sequence[str], paused_kinds: Sequence[str], limit: int
    ) -> dict[str, Micros]:
        """Return by queue since when the oldest ready task waits, of those first in their lanes.

        Looks at `limit` lanes at most; the cost follows the lanes, never the backlog. Lanes of
        paused tenants do not count, nor those whose first task is of a paused kind (R7.7).
        """
        ...

    async def open_dead_letters(self, limit: int) -> dict[str, int]:
        """Count by queue the dead letters that are to be dealt with; at most `limit` together."""
        ...

    async def holdings(self) -> list[Holding]:
        """Count what each session holds, by queue, from the index of what is held."""
        ...

    async def served(self, since: Micros, limit: int) -> dict[str, int]:
        """Count by tenant the tasks that completed at `since` or later; at most `limit` together.

        The cost follows `limit`: whoever asks chooses a `since` from which on there are no more.
        """
        ...
