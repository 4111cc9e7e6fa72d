"""What is answered of kinds."""

from msgspec import Struct


class Kind(Struct, frozen=True, kw_only=True):
    """A kind of task and whether it is started at present."""

    name: str
    paused: bool
    paused_at: str | None
    pause_reason: str | None
    version: int


class KindPage(Struct, frozen=True):
    """Kinds by name."""

    items: list[Kind]
    next: str | None
    as_of: str
