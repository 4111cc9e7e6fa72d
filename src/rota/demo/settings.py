"""How the demonstration is set up."""

from pathlib import Path

from msgspec import Struct

from rota.config import SECOND
from rota.errors import ConfigurationError
from rota.model import Micros

LEASE = 5 * SECOND
"""Shorter than a worker's usual 30 s, so that nobody has to wait for the dead one's tasks."""
STUDENTS_LEAST = 1_000


class DemoSettings(Struct, frozen=True, kw_only=True):
    """What the demonstration runs on, and how large it is; durations in microseconds.

    `store` is "sqlite", "postgres" (a server of its own) or a `postgresql://…` address. All files
    are left in `directory` if one is given; otherwise nothing is left behind.
    """

    store: str = "sqlite"
    students: int = 200_000
    lease: Micros = LEASE
    json: bool = False
    directory: Path | None = None

    def __post_init__(self) -> None:
        if self.store not in ("sqlite", "postgres") and not self.named:
            raise ConfigurationError(
                f"{self.store!r} is no store for the demo; take sqlite, postgres or postgresql://…"
            )
        if self.students < STUDENTS_LEAST:
            raise ConfigurationError(
                f"the demo needs at least {STUDENTS_LEAST:,} students, not {self.students:,}: "
                "one of its workers is killed while a chunk of them is half sent"
            )
        if self.lease < SECOND:
            raise ConfigurationError("the demo's lease must be at least one second")

    @property
    def named(self) -> bool:
        """Say whether the store is somebody's own, which outlives the demo."""
        return self.store.startswith(("postgresql://", "postgres://"))
