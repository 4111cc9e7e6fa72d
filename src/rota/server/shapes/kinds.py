"""What is answered of kinds."""

from msgspec import Struct

from rota.arguments import Argument


class Kind(Struct, frozen=True, kw_only=True):
    """A kind of task and whether it is started at present.

    `arguments` are what its handler takes as payload, the first 100; null if only workers have it.
    Their defaults are not told to a key that sees no payloads.
    """

    name: str
    paused: bool
    paused_at: str | None
    pause_reason: str | None
    version: int
    arguments: list[Argument] | None


class KindPage(Struct, frozen=True):
    """Kinds by name."""

    items: list[Kind]
    next: str | None
    as_of: str
