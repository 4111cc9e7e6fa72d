"""Starts within windows of time, held against what a rate allows."""

from collections.abc import Sequence

WINDOWS = (0.1, 1.0, 5.0)
"""In seconds."""
SECOND = 1_000_000


def windows_over(starts: Sequence[int], rate: float, burst: int, windows: Sequence[float]) -> int:
    """Count the windows that hold more starts than the burst and what the rate adds in them.

    A window begins at each start; both of its ends belong to it. Instants are microseconds.

    >>> windows_over([0, 0, 0, 100_000], rate=10, burst=2, windows=[0.1, 1.0])
    1
    >>> windows_over([0, 0, 100_000, 200_000], rate=10, burst=2, windows=[0.1, 1.0])
    0
    """
    ordered = sorted(starts)
    return sum(_over(ordered, rate, burst, window) for window in windows)


def _over(ordered: Sequence[int], rate: float, burst: int, window: float) -> int:
    over = end = 0
    allowed = burst + rate * window
    for first, at in enumerate(ordered):
        while end < len(ordered) and ordered[end] <= at + window * SECOND:
            end += 1
        over += end - first > allowed + 1e-6
    return over
