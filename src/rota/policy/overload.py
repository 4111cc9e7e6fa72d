"""From how many waiting tasks on which class is refused or put off, and for how long (R1.7)."""

from typing import Final

from rota.config import MINUTE, SECOND
from rota.model import Micros, PriorityClass

SHORTEST: Final = SECOND
LONGEST: Final = MINUTE


def full_from(max_depth: int, cls: PriorityClass) -> int | None:
    """Return how many have to wait for work of a class to be turned away; critical never is.

    Low from `max_depth` on, normal from one and a half times that, high from twice that.

    >>> [full_from(100, cls) for cls in PriorityClass]
    [None, 200, 150, 100]
    """
    halves = {PriorityClass.LOW: 2, PriorityClass.NORMAL: 3, PriorityClass.HIGH: 4}.get(cls)
    return None if halves is None else -(-max_depth * halves // 2)


def retry_after(too_many: int, ended: int, seconds: float) -> Micros:
    """Return when to come back: as soon as so many have been worked off, at the last pace.

    `ended` tasks were over in the last `seconds`. It is a guess, and never less than a second or
    more than a minute.

    >>> retry_after(500, ended=6_000, seconds=60) // SECOND
    5
    """
    if ended < 1:
        return LONGEST
    return min(max(round(too_many * seconds / ended * SECOND), SHORTEST), LONGEST)
