"""Limits in a hand-out: how much they let through, and what of it was used.

Whoever writes here writes alone, so the limits need no locks.
"""

from collections.abc import Iterable
from math import ceil, floor

import apsw
from msgspec import Struct

from rota.config import SECOND
from rota.model import Micros, Share
from rota.shares import Blocked, Held, Limit
from rota.store.share_rows import SLACK, filled
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import to_json
from rota.store.sqlite.sharing import running

_SQL = blocks("sqlite")


class Room(Struct):
    """What a limit lets through: how many more may run, and how many tokens are left at `at`."""

    id: str
    free: int | None
    rate: float | None
    tokens: float | None
    at: Micros
    dirty: bool
    blocking: bool = False

    @property
    def least(self) -> int | None:
        """How many more tasks may start."""
        tokens = None if self.tokens is None else floor(self.tokens + SLACK)
        return min((n for n in (self.free, tokens) if n is not None), default=None)

    def used(self, share: Share, got: int) -> None:
        """Count what a share was given."""
        if self.free is not None:
            self.free -= got
        if self.tokens is not None:
            self.tokens -= got
            self.dirty |= got > 0
        least = self.least
        self.blocking |= got < share.count and least is not None and least <= 0

    def blocked(self) -> Blocked:
        """Say why it let less through than was asked for."""
        if self.rate is None or self.tokens is None or (self.free is not None and self.free <= 0):
            return Blocked(self.id, Held.CAP)
        return Blocked(self.id, Held.RATE, self.at + ceil((1 - self.tokens) / self.rate * SECOND))


class Rooms:
    """The limits of one hand-out."""

    def __init__(self, connection: apsw.Connection, shares: Iterable[Share], now: Micros) -> None:
        self._connection = connection
        self._now = now
        ids = sorted({limit_id for share in shares for limit_id in share.limits})
        self._rooms = {
            limit.id: _room(limit, number, now) for limit, number in running(connection, ids)
        }
        self._gone = [limit_id for limit_id in ids if limit_id not in self._rooms]

    def most(self, share: Share) -> int:
        """Return how many tasks a share may have."""
        least = [room.least for room in self._of(share)]
        if any(limit_id in self._gone for limit_id in share.limits):
            return 0
        return max(min(n for n in (share.count, *least) if n is not None), 0)

    def starts_at(self, share: Share) -> Micros:
        """Return by what clock a share starts: not before its limits were filled up last."""
        return max((room.at for room in self._of(share)), default=self._now)

    def used(self, share: Share, got: int) -> None:
        """Count what a share was given."""
        for room in self._of(share):
            room.used(share, got)

    def close(self) -> tuple[Blocked, ...]:
        """Write down what is left, and say which limits let less through than was asked for."""
        spent = [
            {"id": room.id, "tokens": room.tokens, "filled_at": room.at}
            for room in self._rooms.values()
            if room.dirty
        ]
        if spent:
            self._connection.execute(_SQL["spend"], {"used": to_json(spent)})
        blocked = [room.blocked() for room in self._rooms.values() if room.blocking]
        return (*blocked, *(Blocked(limit_id, Held.BUSY) for limit_id in self._gone))

    def _of(self, share: Share) -> list[Room]:
        return [self._rooms[limit_id] for limit_id in share.limits if limit_id in self._rooms]


def _room(limit: Limit, number: int, now: Micros) -> Room:
    at, tokens = filled(limit, now)
    free = None if limit.max_running is None else limit.max_running - number
    return Room(limit.id, free, limit.rate, tokens, at, dirty=limit.filled_at > at)
