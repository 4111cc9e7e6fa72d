"""The part of the seam that is about statistics by the minute, and the seven figures."""

from typing import Protocol

from rota.figures import Figures, Scale, Served, Statistic, StatisticsFilter
from rota.service import Service, ServiceFilter


class Statistics(Protocol):
    """What whoever stands before a store may ask of statistics by the minute."""

    async def statistics(self, where: StatisticsFilter) -> list[Statistic]:
        """Return what happened, step by step, the oldest first; `InvalidTask` if it is too much.

        What tasks ended as is exact and there at once; what else was counted is written down by
        each process about every ten seconds.
        """
        ...

    async def service(self, where: ServiceFilter) -> list[Service]:
        """Return who got how much, step by step, the oldest first; `InvalidTask` if too much.

        Steps in which nothing completed are left out. Each process writes down what it has counted
        about every ten seconds; one that is killed takes that much with it.
        """
        ...

    async def served(self) -> Served:
        """Count by tenant what was completed lately: in an hour, or in the time of the newest ones.

        No task is counted when it ends: it is read from what ended, and bounded.
        """
        ...

    async def figures(self) -> Figures:
        """Return the seven figures of all, and of each queue (R9.4)."""
        ...

    async def scaling(self) -> list[Scale]:
        """Return how much capacity each queue has and wants (R9.6)."""
        ...

    async def flush(self) -> None:
        """Write down what this process has counted, so that others can read it."""
        ...
