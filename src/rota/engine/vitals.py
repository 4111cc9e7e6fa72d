"""Whether a process is well, from memory: what the store has answered, and what was done (R9.3)."""

from collections.abc import Mapping

from rota.clock import Clock
from rota.config import SECOND
from rota.model import Micros


class Vitals:
    """Whether this process is well, from memory: nothing here asks the store.

    All instants are of the monotonic clock; `offset` is how far the system's clock is from the
    store's, in seconds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.opened = False
        self.reached_at: float | None = None
        self.ticked: dict[str, float] = {}
        self.offset = 0.0
        self._seen_tick: float | None = None

    def reached(self) -> None:
        """Take note that the store has just answered."""
        self.reached_at = self._clock.monotonic()

    def age(self) -> float | None:
        """Return how many seconds ago the store last answered; None if it never did."""
        return None if self.reached_at is None else self._clock.monotonic() - self.reached_at

    def saw(self, ticks: Mapping[str, Micros]) -> None:
        """Take in when any node last did each duty, as the store has it."""
        self.reached()
        if ticks:
            ago = (self._clock.now() - min(ticks.values())) / SECOND
            self._seen_tick = self._clock.monotonic() - max(ago, 0.0)

    def tick_age(self) -> float | None:
        """Return how long ago the duty was done that was not done for longest; None without any.

        Here, or if this process does none, on any node.
        """
        first = min(self.ticked.values(), default=self._seen_tick)
        return None if first is None else self._clock.monotonic() - first
