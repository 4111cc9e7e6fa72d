"""The engine's verbs for access."""

from collections.abc import Mapping, Sequence

from rota.access import AuditEntry, AuditFilter, Key, Login, Revoked
from rota.clock import Clock, Ids, Rng, entropy
from rota.model import Micros
from rota.store.base import Store

SECRET_BYTES = 32


class Access:
    """The verbs of `rota.seam.access`."""

    store: Store
    clock: Clock
    _ids: Ids
    _rng: Rng

    async def add_key(self, key: Key) -> None:
        await self.store.add_key(key)

    async def keys(self) -> list[Key]:
        return await self.store.keys()

    async def revoke_key(self, key_id: str) -> Revoked:
        return await self.store.revoke_key(key_id, self.clock.now())

    async def audit(
        self, where: AuditFilter, *, before_id: str | None, limit: int
    ) -> list[AuditEntry]:
        return await self.store.audit(where, before_id, limit)

    async def find_key(self, key_id: str) -> Key | None:
        return await self.store.find_key(key_id)

    async def touch_used(self, keys: Mapping[str, Micros], logins: Mapping[bytes, Micros]) -> None:
        await self.store.touch_used(keys, logins)

    async def add_login(self, login: Login) -> None:
        await self.store.add_login(login)

    async def find_login(self, id_hash: bytes) -> Login | None:
        return await self.store.find_login(id_hash)

    async def drop_login(self, id_hash: bytes) -> None:
        await self.store.drop_login(id_hash)

    async def record(self, entries: Sequence[AuditEntry]) -> None:
        await self.store.record(entries)

    async def secret(self, name: str) -> bytes:
        return await self.store.secret(name, entropy(SECRET_BYTES), self.clock.now())
