"""What the store keeps of access: see `rota.store.access`."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from rota.access import AuditEntry, AuditFilter, Key, Login, Revoked
from rota.model import Micros
from rota.store import access_rows
from rota.store.postgres.connections import Role
from rota.store.postgres.verbs import Verbs


class AccessVerbs(Verbs):
    """The verbs of `rota.store.access`.

    Who a caller is, is asked on the lines of submits: a long read must not hold up every call.
    """

    async def add_key(self, key: Key) -> None:
        await self._execute(Role.CALL, "add_key", **access_rows.key_row(key))

    async def keys(self) -> list[Key]:
        return [access_rows.key_of(row) for row in await self._fetch(Role.READ, "list_keys")]

    async def find_key(self, key_id: str) -> Key | None:
        rows = await self._fetch(Role.SUBMIT, "find_key", id=key_id)
        return access_rows.key_of(rows[0]) if rows else None

    async def revoke_key(self, key_id: str, now: Micros) -> Revoked:
        if await self._execute(Role.CALL, "revoke_key", id=key_id, now=now):
            return Revoked.DONE
        key = await self.find_key(key_id)
        if key is None:
            return Revoked.NOT_FOUND
        return Revoked.LAST_ADMIN if key.revoked_at is None else Revoked.DONE

    async def touch_used(self, keys: Mapping[str, Micros], logins: Mapping[bytes, Micros]) -> None:
        if keys:
            await self._execute(Role.CALL, "touch_keys", used=access_rows.used_keys(keys))
        if logins:
            await self._execute(Role.CALL, "touch_logins", used=access_rows.used_logins(logins))

    async def add_login(self, login: Login) -> None:
        await self._execute(Role.CALL, "add_login", **structs.asdict(login))

    async def find_login(self, id_hash: bytes) -> Login | None:
        rows = await self._fetch(Role.SUBMIT, "find_login", id_hash=id_hash)
        return access_rows.login_of(rows[0]) if rows else None

    async def drop_login(self, id_hash: bytes) -> None:
        await self._execute(Role.CALL, "drop_login", id_hash=id_hash)

    async def record(self, entries: Sequence[AuditEntry]) -> None:
        if entries:
            await self._execute(Role.CALL, "record", entries=access_rows.to_json(entries))

    async def audit(
        self, where: AuditFilter, before_id: str | None, limit: int
    ) -> list[AuditEntry]:
        given = access_rows.filter_row(where, before_id, limit)
        rows = await self._fetch(Role.READ, "read_audit", **given)
        return [access_rows.entry_of(row) for row in rows]

    async def secret(self, name: str, fresh: bytes, now: Micros) -> bytes:
        await self._execute(Role.CALL, "keep_secret", name=name, secret=fresh, now=now)
        return bytes(await self._value(Role.CALL, "read_secret", name=name))
