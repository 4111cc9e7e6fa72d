"""Figures from samples: percentiles, medians, waits."""

import time
from collections.abc import Sequence
from math import ceil
from statistics import median

from msgspec import Struct

MILLISECONDS = 1e3
MICROSECONDS = 1e6


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the smallest sample that at least `share` of the samples do not exceed.

    >>> percentile([3.0, 1.0, 2.0, 4.0], 0.5)
    2.0
    """
    if not samples:
        raise ValueError("there is no sample")
    ordered = sorted(samples)
    return ordered[max(ceil(share * len(ordered)) - 1, 0)]


class Waits(Struct, frozen=True):
    """How long something was waited for, in milliseconds; `early` counts what came too soon."""

    p50_ms: float
    p99_ms: float
    max_ms: float
    early: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Waits":
        """Sum up waits in seconds; one below zero is early."""
        return cls(
            p50_ms=percentile(seconds, 0.5) * MILLISECONDS,
            p99_ms=percentile(seconds, 0.99) * MILLISECONDS,
            max_ms=max(seconds) * MILLISECONDS,
            early=sum(wait < 0 for wait in seconds),
        )


class Rate(Struct, frozen=True):
    """So many tasks in so many seconds, and the processor time that the side took for each.

    The processor time is that of Rota's or the control's own process, not of a server; 0 if it
    was not measured.
    """

    tasks: int
    seconds: float
    cpu_seconds_a_task: float = 0.0

    @property
    def per_second(self) -> float:
        """Tasks a second."""
        return self.tasks / self.seconds if self.seconds > 0 else 0.0


class Stopwatch:
    """Measures from its making on: the time that passes and the time this process works."""

    def __init__(self) -> None:
        self._cpu = time.process_time()
        self._began = time.perf_counter()

    def rate(self, tasks: int) -> Rate:
        """Return the rate at which so many tasks were done by now."""
        seconds = time.perf_counter() - self._began
        cpu = time.process_time() - self._cpu
        return Rate(tasks, seconds, cpu / tasks if tasks else 0.0)


class Pair(Struct, frozen=True):
    """One round: Rota's figure and the control's, measured one right after the other."""

    ours: float
    control: float

    @property
    def ratio(self) -> float:
        """Rota's figure over the control's."""
        return self.ours / self.control


def median_ratio(pairs: Sequence[Pair]) -> float:
    """Return the median of the rounds' own ratios: what the machine did to both cancels out.

    >>> median_ratio([Pair(1.0, 2.0), Pair(9.0, 10.0), Pair(6.0, 10.0)])
    0.6
    """
    return median(pair.ratio for pair in pairs)
