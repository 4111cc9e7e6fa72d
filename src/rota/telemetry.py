"""What can be measured of recurring work, for whoever wants to keep it (R6.6, R9.3)."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Firings(Struct, frozen=True):
    """What one step made of a schedule.

    `lateness` are the seconds from each slot that runs, jitter included, until the store had its
    task. `backlog` is how many slots are due whose runs have not finished, waiting or running.
    """

    schedule: str
    lateness: tuple[float, ...]
    backlog: int


class Telemetry(Protocol):
    """Told once per batch, on the event loop, so it must not block; what it raises is logged."""

    def fired(self, batch: Sequence[Firings]) -> None:
        """Take in what was fired; `rota_schedule_lateness_seconds`, `rota_schedule_backlog`."""
        ...

    def unfired(self, schedules: Sequence[str]) -> None:
        """Take in the names of due schedules that this node has to leave to others (B085)."""
        ...


class Silent:
    """Keeps nothing."""

    def fired(self, batch: Sequence[Firings]) -> None:
        """Do nothing."""

    def unfired(self, schedules: Sequence[str]) -> None:
        """Do nothing."""


SILENT: Telemetry = Silent()
