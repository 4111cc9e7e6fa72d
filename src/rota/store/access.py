"""The part of a store's contract that is about access."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from rota.access import AuditEntry, AuditFilter, Key, Login, Revoked
from rota.model import Micros


class Access(Protocol):
    """What a store keeps of access: no secret that opens anything, and nothing of use by itself."""

    async def add_key(self, key: Key) -> None:
        """Store a key; a repeat with the same id changes nothing."""
        ...

    async def keys(self) -> list[Key]:
        """Return all keys, the newest first, also those that are over."""
        ...

    async def find_key(self, key_id: str) -> Key | None:
        """Return a key, whether it opens anything or not."""
        ...

    async def revoke_key(self, key_id: str, now: Micros) -> Revoked:
        """Revoke a key for good, once; not the last live one that may do everything everywhere.

        Also of several that are revoked at once, one is left.
        """
        ...

    async def touch_used(self, keys: Mapping[str, Micros], logins: Mapping[bytes, Micros]) -> None:
        """Write down when keys and log-ins were used last; never sets one back."""
        ...

    async def add_login(self, login: Login) -> None:
        """Store a log-in."""
        ...

    async def find_login(self, id_hash: bytes) -> Login | None:
        """Return a log-in, over or not."""
        ...

    async def drop_login(self, id_hash: bytes) -> None:
        """End a log-in."""
        ...

    async def record(self, entries: Sequence[AuditEntry]) -> None:
        """Add entries to the audit record, which nothing changes afterwards (S17)."""
        ...

    async def audit(
        self, where: AuditFilter, before_id: str | None, limit: int
    ) -> list[AuditEntry]:
        """Return matching entries with ids below `before_id`, the newest first."""
        ...

    async def secret(self, name: str, fresh: bytes, now: Micros) -> bytes:
        """Return the secret of this name, the same for all; `fresh` becomes it if there is none."""
        ...
