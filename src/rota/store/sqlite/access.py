"""What the store keeps of access: see `rota.store.access`."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import apsw
from msgspec import structs

from rota.access import AuditEntry, AuditFilter, Key, Login, Revoked
from rota.model import Micros
from rota.store import access_rows
from rota.store.sqlfiles import blocks
from rota.store.sqlite.verbs import Verbs

_SQL = blocks("sqlite")
_OPTIONAL = re.compile(r"\(:(\w+) is null or (.*)\)")


class AccessVerbs(Verbs):
    """The verbs of `rota.store.access`."""

    async def add_key(self, key: Key) -> None:
        await self._write.do(partial(_run, "add_key", access_rows.key_row(key)))

    async def keys(self) -> list[Key]:
        rows = await self._read.do(partial(_rows, "list_keys", {}))
        return [access_rows.key_of(row) for row in rows]

    async def find_key(self, key_id: str) -> Key | None:
        rows = await self._read.do(partial(_rows, "find_key", {"id": key_id}))
        return access_rows.key_of(rows[0]) if rows else None

    async def revoke_key(self, key_id: str, now: Micros) -> Revoked:
        return await self._write.do(partial(_revoke, key_id, now))

    async def touch_used(self, keys: Mapping[str, Micros], logins: Mapping[bytes, Micros]) -> None:
        await self._write.do(partial(_touch, keys, logins))

    async def add_login(self, login: Login) -> None:
        await self._write.do(partial(_run, "add_login", structs.asdict(login)))

    async def find_login(self, id_hash: bytes) -> Login | None:
        rows = await self._read.do(partial(_rows, "find_login", {"id_hash": id_hash}))
        return access_rows.login_of(rows[0]) if rows else None

    async def drop_login(self, id_hash: bytes) -> None:
        await self._write.do(partial(_run, "drop_login", {"id_hash": id_hash}))

    async def record(self, entries: Sequence[AuditEntry]) -> None:
        if entries:
            given = {"entries": access_rows.to_json(entries)}
            await self._write.do(partial(_run, "record", given))

    async def audit(
        self, where: AuditFilter, before_id: str | None, limit: int
    ) -> list[AuditEntry]:
        given = access_rows.filter_row(where, before_id, limit)
        rows = await self._read.do(partial(_search, given))
        return [access_rows.entry_of(row) for row in rows]

    async def secret(self, name: str, fresh: bytes, now: Micros) -> bytes:
        return await self._write.do(partial(_secret, name, fresh, now))


def _rows(
    block: str, given: Mapping[str, Any], connection: apsw.Connection
) -> list[tuple[Any, ...]]:
    return list(connection.execute(_SQL[block], given))


def searching(given: Mapping[str, Any]) -> str:
    """Return the statement that reads the audit record by the fields that are given.

    SQLite finds an index only for what is asked for plainly.
    """

    def plain(match: re.Match[str]) -> str:
        return "true" if given[match[1]] is None else match[2]

    return _OPTIONAL.sub(plain, _SQL["read_audit"])


def _search(given: Mapping[str, Any], connection: apsw.Connection) -> list[tuple[Any, ...]]:
    return list(connection.execute(searching(given), given))


def _run(block: str, given: Mapping[str, Any], connection: apsw.Connection) -> None:
    connection.execute(_SQL[block], given)


def _revoke(key_id: str, now: Micros, connection: apsw.Connection) -> Revoked:
    connection.execute(_SQL["revoke_key"], {"id": key_id, "now": now})
    if connection.changes():
        return Revoked.DONE
    rows = _rows("find_key", {"id": key_id}, connection)
    if not rows:
        return Revoked.NOT_FOUND
    unrevoked = access_rows.key_of(rows[0]).revoked_at is None
    return Revoked.LAST_ADMIN if unrevoked else Revoked.DONE


def _touch(
    keys: Mapping[str, Micros], logins: Mapping[bytes, Micros], connection: apsw.Connection
) -> None:
    _run("touch_keys", {"used": access_rows.used_keys(keys)}, connection)
    _run("touch_logins", {"used": access_rows.used_logins(logins)}, connection)


def _secret(name: str, fresh: bytes, now: Micros, connection: apsw.Connection) -> bytes:
    _run("keep_secret", {"name": name, "secret": fresh, "now": now}, connection)
    found: bytes = connection.execute(_SQL["read_secret"], {"name": name}).get
    return found
