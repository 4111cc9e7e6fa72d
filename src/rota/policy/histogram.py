"""Histograms of times with fixed buckets, so that any two can be added up (R9.3).

The bounds go 1, 2, 5 and the like from a millisecond to two hours. A bucket counts what is no
longer than its bound and longer than the one before; the last one counts all that is longer still.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, TypeVar

N = TypeVar("N", int, float)

BOUNDS: Final = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
    1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0,
)  # fmt: skip
"""The upper bounds of the buckets in seconds; thresholds that people set are among them."""
_MICROS: Final = tuple(round(bound * 1_000_000) for bound in BOUNDS)
BUCKETS: Final = len(BOUNDS) + 1
FEW: Final = 8
"""So many values are looked up one by one; more are put in order first."""


def bucket(seconds: float) -> int:
    """Return the number of the bucket that a time belongs to; what is negative counts as none.

    >>> bucket(0.001), bucket(0.0011), bucket(10_000.0)
    (0, 1, 22)
    """
    return bisect_left(BOUNDS, seconds)


def add(counts: list[int], start: int, values: list[float]) -> None:
    """Count times into the buckets that begin at `start` of a list; puts `values` in order."""
    _add(counts, start, values, BOUNDS)


def add_micros(counts: list[int], start: int, values: list[int]) -> None:
    """Do what `add` does with times in microseconds."""
    _add(counts, start, values, _MICROS)


def _add(counts: list[int], start: int, values: list[N], bounds: Sequence[N]) -> None:
    if len(values) <= FEW:
        for value in values:
            counts[start + bisect_left(bounds, value)] += 1
        return
    values.sort()
    before, last = 0, len(values)
    for number in range(bisect_left(bounds, values[0]), len(bounds)):
        until = bisect_right(values, bounds[number], before)
        counts[start + number] += until - before
        before = until
        if until == last:
            return
    counts[start + len(bounds)] += last - before


def merge(*histograms: Sequence[int]) -> tuple[int, ...]:
    """Return what several have counted together.

    >>> merge((1, 0, 2), (0, 5))
    (1, 5, 2)
    """
    longest = max(map(len, histograms), default=0)
    return tuple(
        sum(one[place] for one in histograms if place < len(one)) for place in range(longest)
    )


def quantile(counts: Sequence[int], part: float) -> float | None:
    """Return the time that `part` of all were no longer than; None if nothing was counted.

    Exact to the width of a bucket, within which times are taken to lie evenly. Of what is longer
    than the last bound it is only known that it is: the bound is returned.

    >>> quantile((0, 0, 0, 100), 0.5)
    0.0075
    """
    total = sum(counts)
    if not total:
        return None
    wanted, before = part * total, 0
    for number, count in enumerate(counts):
        if count and before + count >= wanted:
            if number >= len(BOUNDS):
                break
            below = BOUNDS[number - 1] if number else 0.0
            return below + (BOUNDS[number] - below) * max(wanted - before, 0.0) / count
        before += count
    return BOUNDS[-1]
