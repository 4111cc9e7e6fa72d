"""How fast a change of many tasks goes: so many a second, by the clock that is handed in."""

from math import ceil

from rota.clock import Clock

PER_SECOND = 10
"""What is throttled is cut into runs of a tenth of a second, so that it flows."""


class Pace:
    """Holds a change to so many tasks a second; without a rate it only says how long a run is."""

    def __init__(self, rate: float | None, most: int) -> None:
        self._rate = rate
        self._next = 0.0
        self.size = most if rate is None else min(max(ceil(rate / PER_SECOND), 1), most)

    async def wait(self, count: int, clock: Clock) -> None:
        """Wait until `count` more tasks may be changed."""
        if self._rate is None:
            return
        while (left := self._next - clock.monotonic()) > 0:
            await clock.sleep(left)
        self._next = max(self._next, clock.monotonic()) + count / self._rate
