"""What a run of the benchmarks is asked for."""

from typing import Literal

from msgspec import Struct

Dialect = Literal["sqlite", "postgres"]

DIALECTS: tuple[Dialect, ...] = ("sqlite", "postgres")
SECONDS = 5.0
"""Measured work of a round, unless told otherwise; nothing shorter is worth a figure."""
ROUNDS = 3


class Options(Struct, frozen=True, kw_only=True):
    """`tasks` sets the size of a round outright; without it, a round is sized to take `seconds`.

    Without `seconds` each scenario takes as long as it is meant to.
    """

    store: Dialect
    url: str | None = None
    seconds: float | None = None
    tasks: int | None = None
    rounds: int = ROUNDS
    single: bool = False
    callers: int = 100

    def size(self, rate: float) -> int:
        """Return how many tasks a round has if about `rate` are done a second."""
        return self.tasks or max(round(rate * (self.seconds or SECONDS)), 1)
