"""Keys as they are answered."""

from typing import Literal

from msgspec import Struct

from rota.access import Role


class Key(Struct, frozen=True, kw_only=True):
    """A key without its secret; no `tenant` and no `queues` stand for all."""

    id: str
    name: str
    roles: list[Role]
    tenant: str | None
    queues: list[str] | None
    payloads: bool
    state: Literal["live", "expired", "revoked"]
    created_at: str
    created_by: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class NewKey(Key, frozen=True, kw_only=True):
    """A key that was just made: `key` is its text, which is shown this once."""

    key: str


class KeyPage(Struct, frozen=True, kw_only=True):
    """All keys, the newest first."""

    items: list[Key]
    next: str | None
    as_of: str
