"""How often somebody may call: buckets of tokens, one a key and one an address (S8, S12).

In memory of one process: behind a balancer each process has its own.
"""

import math
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from rota.clock import Clock

Headers = tuple[tuple[str, str], ...]

BUCKETS_MOST: Final = 10_000
"""So many keys or addresses are remembered; the one that was quiet the longest is forgotten."""


class Rate(Struct, frozen=True):
    """So many a second in the long run, and up to `burst` at once after a lull."""

    per_second: float
    burst: float


class Bounds(Struct, frozen=True, kw_only=True):
    """What a server takes: calls of a key, unknown keys and log-ins from an address.

    Enough for the fastest machine and far too little for guessing.
    """

    calls: Rate = Rate(5_000, 10_000)
    unknown: Rate = Rate(1, 60)
    logins: Rate = Rate(5 / 60, 5)


POLICY: Final = "key"
"""The name of the rate that every key has, as callers are told."""
LOW: Final = 0.2
"""With less of its tokens left than this share somebody is told so."""


class Bucket:
    """The tokens that are left to somebody; filled up when one is taken."""

    __slots__ = ("_at", "_rate", "_tokens")

    def __init__(self, rate: Rate, now: float) -> None:
        self._rate = rate
        self._tokens = rate.burst
        self._at = now

    def take(self, now: float) -> float:
        """Take a token and return 0; or, if there is none, in how many seconds there is one."""
        rate = self._rate
        self._tokens = min(rate.burst, self._tokens + (now - self._at) * rate.per_second)
        self._at = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / rate.per_second

    @property
    def low(self) -> bool:
        """Say whether it is time to call less often."""
        return self._tokens < LOW * self._rate.burst

    def headers(self, name: str, wait: float = 0.0) -> Headers:
        """Return the policy, and what is left of it for how long, as callers are told.

        `wait` is in how many seconds there is a token again, if there is none.
        """
        rate = self._rate
        left = 0 if wait else int(self._tokens)
        full = wait or (rate.burst - self._tokens) / rate.per_second
        window = math.ceil(rate.burst / rate.per_second)
        return (
            ("RateLimit-Policy", f'"{name}";q={int(rate.burst)};w={window}'),
            ("RateLimit", f'"{name}";r={left};t={max(1, math.ceil(full))}'),
        )

    def give_back(self) -> None:
        """Put a token back that was taken for what turned out well."""
        self._tokens = min(self._rate.burst, self._tokens + 1)


class Buckets:
    """A bucket for each name, for those that were heard of last."""

    def __init__(self, rate: Rate, clock: Clock, most: int = BUCKETS_MOST) -> None:
        self._rate = rate
        self._clock = clock
        self._most = most
        self._known: OrderedDict[str, Bucket] = OrderedDict()

    def of(self, name: str) -> Bucket:
        """Return the bucket of a name."""
        bucket = self._known.get(name)
        if bucket is None:
            if len(self._known) >= self._most:
                self._known.popitem(last=False)
            bucket = self._known[name] = Bucket(self._rate, self._clock.monotonic())
        else:
            self._known.move_to_end(name)
        return bucket

    def take(self, name: str) -> float:
        """Take a token of a name and return 0, or in how many seconds there is one."""
        return self.of(name).take(self._clock.monotonic())
