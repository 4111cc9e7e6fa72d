"""What can be measured of what a process does, for whoever wants to keep it (R6.6, R9.3)."""

from collections.abc import Mapping, Sequence
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
    """Told once per batch, on the event loop, so it must not block; what it raises is logged.

    Counts come by queue and kind, times in seconds. A telemetry that keeps only some of it derives
    from `Silent`.
    """

    def fired(self, batch: Sequence[Firings]) -> None:
        """Take in what was fired; `rota_schedule_lateness_seconds`, `rota_schedule_backlog`."""
        ...

    def unfired(self, schedules: Sequence[str]) -> None:
        """Take in the names of due schedules that this node has to leave to others (B085)."""
        ...

    def submitted(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Take in how many new tasks were stored."""
        ...

    def refused(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Take in how many tasks were turned away under overload (R1.7)."""
        ...

    def claimed(self, queue: str, kind: str, waits: Sequence[float]) -> None:
        """Take in hand-outs: how long each task had been ready."""
        ...

    def finished(
        self, queue: str, kind: str, outcome: str, number: int, took: Sequence[float]
    ) -> None:
        """Take in hand-outs that ended alike, and how long those took that ran.

        `outcome` is completed, failed, cancelled, retried, snoozed or released.
        """
        ...

    def stale(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Take in reports that came under an old fence and changed nothing (R3.2)."""
        ...

    def lost(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Take in tasks that were taken back from lost workers (R3.1)."""
        ...

    def ticked(self, duty: str) -> None:
        """Take in that a duty was done here: `stage` or `fire`."""
        ...


class Silent:
    """Keeps nothing."""

    def fired(self, batch: Sequence[Firings]) -> None:
        """Do nothing."""

    def unfired(self, schedules: Sequence[str]) -> None:
        """Do nothing."""

    def submitted(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Do nothing."""

    def refused(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Do nothing."""

    def claimed(self, queue: str, kind: str, waits: Sequence[float]) -> None:
        """Do nothing."""

    def finished(
        self, queue: str, kind: str, outcome: str, number: int, took: Sequence[float]
    ) -> None:
        """Do nothing."""

    def stale(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Do nothing."""

    def lost(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Do nothing."""

    def ticked(self, duty: str) -> None:
        """Do nothing."""


SILENT: Telemetry = Silent()
