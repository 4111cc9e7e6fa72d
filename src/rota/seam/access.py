"""The part of the seam that is about access."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from rota.access import AuditEntry, AuditFilter, Key, Login, Revoked
from rota.model import Micros


class Access(Protocol):
    """What whoever stands before a store may ask of access.

    `find_key` and all that comes after `audit` is for servers themselves and never for callers.
    """

    async def add_key(self, key: Key) -> None:
        """Store a key; a repeat with the same id changes nothing."""
        ...

    async def keys(self) -> list[Key]:
        """Return all keys, the newest first, also those that are over."""
        ...

    async def revoke_key(self, key_id: str) -> Revoked:
        """Revoke a key for good; the last one that may do everything everywhere stays."""
        ...

    async def audit(
        self, where: AuditFilter, *, before_id: str | None, limit: int
    ) -> list[AuditEntry]:
        """Return matching entries of the audit record, the newest first."""
        ...

    async def find_key(self, key_id: str) -> Key | None:
        """Return a key, whether it opens anything or not."""
        ...

    async def touch_used(self, keys: Mapping[str, Micros], logins: Mapping[bytes, Micros]) -> None:
        """Write down when keys and log-ins were used last."""
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
        """Add entries to the audit record (S17)."""
        ...

    async def secret(self, name: str) -> bytes:
        """Return 256 bits that all servers on this store share, and nobody else knows."""
        ...
