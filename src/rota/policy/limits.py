"""How much to ask of limits, so that what they let through is shared fairly (R7.4, R7.5).

Shares under one limit are served in their order until it has no more room. Whoever asks for much
more than there is gives all of it to the first; so what a limit let through when it last held
something back is all that is asked of it, and twice that whenever it gave everything.
"""

import sys
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

from rota.config import SECOND
from rota.model import Micros, Share
from rota.shares import Blocked, Held, Limit, LimitUse

ENOUGH: Final = 1_000
"""A limit that lets so many through at once does not bind."""


class Rooms:
    """What one worker asks of each limit; it grows with the limits that bind, and no further."""

    def __init__(self) -> None:
        self._asks: dict[str, int] = {}
        self._got: dict[str, int] = {}

    def begin(self) -> None:
        """Begin a claim: what a limit lets through is counted over all of its rounds."""
        self._got.clear()

    def __len__(self) -> int:
        return len(self._asks)

    def ask(self, limits: Iterable[str]) -> int:
        """Return how many may be asked for at once under all of these limits."""
        return min((self._asks.get(limit, sys.maxsize) for limit in limits), default=sys.maxsize)

    def learn(
        self, shares: Sequence[Share], taken: Sequence[int], blocked: Sequence[Blocked]
    ) -> None:
        """Take in what the limits of these shares let through."""
        asked: set[str] = set()
        got: dict[str, int] = {}
        for share, count in zip(shares, taken, strict=True):
            for limit in share.limits:
                asked.add(limit)
                got[limit] = got.get(limit, 0) + count
                self._got[limit] = self._got.get(limit, 0) + count
        for one in blocked:
            # What another claimer had locked has said nothing about its room.
            if one.why is not Held.BUSY:
                self.know(one.limit, self._got.get(one.limit, 0))
            asked.discard(one.limit)
        for limit in asked:
            most = self._asks.get(limit)
            if most is not None and got[limit] >= most:
                self.know(limit, 2 * most)

    def know(self, limit: str, room: int) -> None:
        """Ask for so many at the next time."""
        if room >= ENOUGH:
            self._asks.pop(limit, None)
        else:
            self._asks[limit] = max(room, 1)

    def keep(self, limits: Iterable[str]) -> None:
        """Forget the limits that there are no more."""
        known = set(limits)
        self._asks = {limit: most for limit, most in self._asks.items() if limit in known}


def room_of(use: LimitUse) -> int:
    """Return how many more a limit lets through at once.

    >>> limit = Limit(id="1", queue="sms", max_running=200)
    >>> room_of(LimitUse(limit, running=150, tokens=None, as_of=0))
    50
    """
    room = sys.maxsize
    if use.limit.max_running is not None:
        room = use.limit.max_running - use.running
    if use.tokens is not None:
        room = min(room, int(use.tokens))
    return max(room, 0)


def closed_until(use: LimitUse) -> Micros | None:
    """Return when there will be a token; None if that is not what a limit waits for."""
    if use.limit.rate and use.tokens is not None and use.tokens < 1:
        return use.as_of + ceil((1 - use.tokens) * SECOND / use.limit.rate)
    return None


def soonest(limit: Limit, until: Micros, most: int, patience: Micros) -> Micros:
    """Return when it is worth asking again for what a rate holds back until `until`.

    That is when a few tokens have gathered, at most half of what can gather, and not later than
    `patience` after the first: each ask costs the same however many it gets.
    """
    if not limit.rate:
        return until
    tokens = max(min(most, int(limit.rate * patience / SECOND), (limit.burst or 1) // 2), 1)
    return until + round((tokens - 1) * SECOND / limit.rate)
