"""Over which time the tenants' shares of what was done are counted (R7.3)."""

from collections.abc import Sequence

from rota.config import HOUR, MINUTE
from rota.model import Micros

LONGEST: Micros = HOUR
MOST = 10_000
"""So many tasks say well enough who got how much; more of them would only cost."""


def since(now: Micros, minutes: Sequence[tuple[Micros, int]], most: int = MOST) -> Micros:
    """Return from when on to count: an hour ago, or later if more than `most` were done since.

    `minutes` are the minutes in which something was done, and how much, in any order.
    """
    longest = now - LONGEST
    left = most
    for at, count in sorted(minutes, reverse=True):
        if count > left:
            end = min(at + MINUTE, now)
            return max(longest, end - (end - at) * left // count)
        left -= count
    return longest
