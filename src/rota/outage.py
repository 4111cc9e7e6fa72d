"""Waits out a store that is away: again and again, later and later, with jitter (R3.7)."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rota.clock import Clock, Rng
from rota.errors import StoreFull, StoreUnavailable

T = TypeVar("T")

OUTAGES = (StoreUnavailable, StoreFull)
"""What passes: a worker waits for a store that is away, and for room on a disk that is full."""
FIRST = 0.1
LONGEST = 5.0
LONGEST_ASKED = 60.0
"""A server that asks for a longer wait is asked again after this many seconds all the same."""

log = logging.getLogger("rota.store")


def pause(tries: int, rng: Rng) -> float:
    """Return the seconds until the next try: 0.1 s doubling to 5 s, up to half of it by chance.

    Chance keeps a thousand processes from coming back in the same instant.
    """
    longest: float = min(FIRST * 2.0 ** min(tries, 10), LONGEST)
    return longest * (0.5 + rng.random() / 2)


def pause_after(error: Exception, tries: int, rng: Rng) -> float:
    """Return the seconds until the next try after `error`, and no fewer than a server has asked.

    What a server asks for is stretched by up to half: it tells all of its callers the same.
    """
    asked = min(getattr(error, "retry_after", 0.0), LONGEST_ASKED)
    return max(pause(tries, rng), asked * (1 + rng.random() / 2))


async def through_outage(
    call: Callable[[], Awaitable[T]],
    clock: Clock,
    rng: Rng,
    *,
    patience: float | None = None,
    what: str = "the store",
) -> T:
    """Repeat `call` while the store is unavailable, for `patience` seconds.

    Without it for ever, also while the disk is full: callers with patience are told of that at
    once. Only for calls that may be repeated although their outcome is not known.
    """
    began = clock.monotonic()
    tries = 0
    while True:
        try:
            result = await call()
        except OUTAGES as error:
            wait = pause_after(error, tries, rng)
            tries += 1
            over = patience is not None and clock.monotonic() - began + wait > patience
            if over or (patience is not None and isinstance(error, StoreFull)):
                raise
            log.warning("%s is unavailable (%s); trying again in %.1f s", what, error, wait)
            await clock.sleep(wait)
        else:
            if tries:
                log.info("%s is back", what)
            return result
