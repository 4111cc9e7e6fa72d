"""The shapes that metrics are told in: bounded labels and histograms with few buckets (R9.3)."""

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client.core import HistogramMetricFamily

from rota.config import SECOND
from rota.policy.histogram import BOUNDS

VALUES_MOST: Final = 200
OTHER: Final = "_other"

WAIT_BOUNDS: Final = (
    0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0,
)  # fmt: skip
"""Of waits and lateness: five milliseconds to an hour; each is one of `rota.policy.histogram`."""
RUN_BOUNDS: Final = (
    0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0,
)  # fmt: skip
"""Of run times: five milliseconds to two hours."""

CLAIM_BOUNDS: Final = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
)  # fmt: skip
"""Of claims: a millisecond to ten seconds."""


class Bounded:
    """Lets so many values of a label through, first come, and calls all others `_other`."""

    def __init__(self, most: int = VALUES_MOST, first: Iterable[str] = ()) -> None:
        self._most = most
        self._known: set[str] = set()
        for value in first:
            self(value)

    def __call__(self, value: str) -> str:
        """Return the value, or `_other`."""
        if value in self._known:
            return value
        if len(self._known) >= self._most:
            return OTHER
        self._known.add(value)
        return value


def add_times(
    family: HistogramMetricFamily,
    labels: Sequence[str],
    counts: Sequence[int],
    micros: int,
    bounds: Sequence[float],
) -> None:
    """Add a histogram of `rota.policy.histogram` to a family, with only some of its bounds.

    The buckets of Prometheus count all that is shorter as well, so any of them may be left out.
    """
    chosen = dict.fromkeys(bounds)
    buckets: list[tuple[str, float]] = []
    so_far = 0
    for bound, count in zip(BOUNDS, counts, strict=False):
        so_far += count
        if bound in chosen:
            buckets.append((str(bound), so_far))
    buckets.append(("+Inf", so_far + counts[len(BOUNDS)]))
    family.add_metric(list(labels), buckets, sum_value=micros / SECOND)


def add_buckets(
    family: HistogramMetricFamily,
    labels: Sequence[str],
    counts: Sequence[float],
    seconds: float,
    bounds: Sequence[float],
) -> None:
    """Add a histogram to a family whose counts are those of its own bounds and of what is more."""
    so_far = 0.0
    buckets: list[tuple[str, float]] = []
    for bound, number in zip((*map(str, bounds), "+Inf"), counts, strict=True):
        so_far += number
        buckets.append((bound, so_far))
    family.add_metric(list(labels), buckets, sum_value=seconds)
