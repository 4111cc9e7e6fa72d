"""What the model of a store knows of limits: each of them binds the one lane that it has."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from rota.config import SECOND
from rota.model import Micros
from rota.shares import Limit
from tests.support.factories import LANE

SCOPES: dict[str, dict[str, str]] = {
    "queue": {"queue": LANE.queue},
    "tenant": {"tenant": LANE.tenant},
    "both": {"queue": LANE.queue, "tenant": LANE.tenant},
}
bounds = st.tuples(
    st.sampled_from([*SCOPES]),
    st.sampled_from([None, 0, 1, 2, 3]),
    st.sampled_from([None, 0.05, 0.5]),
    st.integers(1, 3),
)


class KnownLimit(msgspec.Struct):
    """What the model knows of a limit."""

    limit: Limit
    tokens: float
    filled_at: Micros
    version: int = 1

    def changed(self, limit: Limit) -> None:
        """Other bounds, with the tokens that are left."""
        if limit.burst is not None:
            keep = self.limit.burst is not None
            self.tokens = min(self.tokens, limit.burst) if keep else limit.burst
        self.limit = limit
        self.version += 1

    def left(self, now: Micros) -> float | None:
        """How many tokens there are at an instant; the model's clock only goes forward."""
        if self.limit.rate is None or self.limit.burst is None:
            return None
        gained = (now - self.filled_at) * self.limit.rate / SECOND
        return min(self.tokens + gained, self.limit.burst)

    def room(self, running: int, now: Micros) -> int:
        """How many more may start."""
        cap, tokens = self.limit.max_running, self.left(now)
        rooms = [] if cap is None else [cap - running]
        return max(min([*rooms, *([] if tokens is None else [int(tokens + 1e-6)])]), 0)

    def spend(self, started: int, now: Micros) -> None:
        """So many were handed out."""
        tokens = self.left(now)
        if started and tokens is not None:
            self.tokens, self.filled_at = tokens - started, now


def made(bounds: tuple[str, int | None, float | None, int], now: Micros) -> Limit:
    """The limit of these bounds; something is bounded in any case."""
    scope, cap, rate, burst = bounds
    if cap is None and rate is None:
        cap = 2
    burst_ = None if rate is None else burst
    fields: dict[str, Any] = {**SCOPES[scope]}
    return Limit(id=scope, max_running=cap, rate=rate, burst=burst_, filled_at=now, **fields)
