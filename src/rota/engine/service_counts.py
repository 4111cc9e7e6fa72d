"""Counting what each tenant gets, batch by batch, in the memory of a process (R7.3, ADR 29)."""

from collections.abc import Mapping, Sequence
from typing import Final

from rota.backend import Report
from rota.config import DAY, HOUR, MINUTE, SECOND
from rota.model import Micros
from rota.service import REST, TOLD_MOST, Got

WAITING_MOST: Final = 5_000
"""So many pairs of minute and tenant wait to be written; of further tenants there is one sum."""

RAN_MOST: Final = 7 * DAY / SECOND
"""Runs count for so long on average at most: whatever is reported, sums fit into a column."""

_Key = tuple[Micros, str]


class ServiceCounts:
    """What completed since it was written down last: tasks and run time by minute and tenant."""

    def __init__(self) -> None:
        self._waiting: dict[_Key, tuple[int, Micros]] = {}

    def completed(self, reports: Sequence[Report], now: Micros) -> None:
        """Count a batch; mostly it is of one tenant, or of few."""
        if not reports:
            return
        minute = now - now % MINUTE
        if len({report.task.tenant for report in reports}) == 1:
            took = [report.seconds or 0.0 for report in reports]
            self._took((minute, reports[0].task.tenant), took)
            return
        found: dict[str, list[float]] = {}
        for report in reports:
            found.setdefault(report.task.tenant, []).append(report.seconds or 0.0)
        for tenant, took in found.items():
            self._took((minute, tenant), took)

    def take(self) -> dict[_Key, tuple[int, Micros]]:
        """Return what waits to be written, which from now on does not wait any more."""
        taken, self._waiting = self._waiting, {}
        return taken

    def give_back(self, taken: Mapping[_Key, tuple[int, Micros]]) -> None:
        """Let it wait again: it could not be written."""
        for key, (count, ran) in taken.items():
            self._add(key, count, ran)

    def _took(self, key: _Key, seconds: Sequence[float]) -> None:
        ran = min(sum(seconds), len(seconds) * RAN_MOST)
        self._add(key, len(seconds), round(ran * SECOND))

    def _add(self, key: _Key, count: int, ran: Micros) -> None:
        if key not in self._waiting and len(self._waiting) >= WAITING_MOST:
            key = (key[0], REST)
        known = self._waiting.get(key, (0, 0))
        self._waiting[key] = (known[0] + count, known[1] + ran)


def rows(taken: Mapping[_Key, tuple[int, Micros]], most: int = TOLD_MOST) -> list[Got]:
    """Return what is written, by the minute and by the hour; `most` tenants are told apart."""
    totals: dict[str, int] = {}
    for (_, tenant), (count, _) in taken.items():
        totals[tenant] = totals.get(tenant, 0) + count
    first = sorted(totals, key=lambda tenant: (-totals[tenant], tenant))[:most]
    told = set(first)
    sums: dict[tuple[Micros, Micros, str], tuple[int, Micros]] = {}
    for (minute, tenant), (count, ran) in taken.items():
        name = tenant if tenant in told else REST
        for span in (MINUTE, HOUR):
            key = (span, minute - minute % span, name)
            known = sums.get(key, (0, 0))
            sums[key] = (known[0] + count, known[1] + ran)
    return [
        Got(at, span, name, count, ran) for (span, at, name), (count, ran) in sorted(sums.items())
    ]
