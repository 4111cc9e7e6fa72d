"""Keys: who may call a server over HTTP, and how far each reaches: `app.keys` (R8.5, S12)."""

import getpass
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rota import key_text
from rota.access import AuditEntry, Key, Revoked, Role, Scope, Via
from rota.client import Client
from rota.clock import Ids, Micros, entropy
from rota.config import NAME_PATTERN, SECOND
from rota.errors import InvalidTask, KeyNotFound, LastAdmin
from rota.faces import awaited, blocking
from rota.options import check_tenant
from rota.registry import check_name, did_you_mean
from rota.sync import Portal
from rota.times import Duration, Instant, duration, moment

QUEUES_MOST = 100
"""A key is bound to no more queues than this."""


class NewKey(NamedTuple):
    """A key that was just made, and its text, which is known here and nowhere else."""

    key: Key
    text: str


class Keys:
    """Makes, lists and revokes keys: `app.keys`.

    Every verb has a blocking face and, with an `a` before its name, one to be awaited.
    """

    def __init__(self, client: Client, *, records: bool = True) -> None:
        self._client = client
        self._records = records
        self._ids = Ids()

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _create(
        self,
        name: str,
        roles: Iterable[Role | str],
        *,
        tenant: str | None = None,
        queues: Iterable[str] | None = None,
        payloads: bool = True,
        expires: Duration | Instant | None = None,
        created_by: str | None = None,
    ) -> NewKey:
        """Make a key and return it with its text, which is shown this once and kept nowhere.

        It may do what its roles say, for one tenant if there is a `tenant`, in these `queues`
        alone if there are any. Without `payloads` it reads no payload, result, header or text of
        an error. It `expires` at an instant, or so long from now ("90d"); else never. `created_by`
        is shown with it: the user of this process if it is not given.
        """
        scope = check_key_scope(tenant, queues, payloads=payloads)
        checked = check_name(name, "name"), check_roles(roles)
        await self._client.opened()  # the store's time counts
        now = self._client.backend.clock.now()
        until = check_expiry(expires, now)
        written = key_text.write(entropy(key_text.ENTROPY_BYTES))
        key = Key(
            id=written.id,
            name=checked[0],
            secret_hash=written.secret_hash,
            roles=checked[1],
            scope=scope,
            created_at=now,
            created_by=_person() if created_by is None else created_by,
            expires_at=until,
        )
        await self._client.patiently(lambda backend: backend.add_key(key))
        await self._note("key.create", key.id)
        return NewKey(key, written.text)

    async def _list(self) -> Sequence[Key]:
        """Return all keys, the newest first, also those that are over."""
        return await self._client.patiently(lambda backend: backend.keys())

    async def _get(self, key_id: str) -> Key:
        """Return a key; `KeyNotFound`."""
        found = next((key for key in await self._list() if key.id == key_id), None)
        if found is None:
            raise KeyNotFound(key_id)
        return found

    async def _revoke(self, key_id: str) -> None:
        """Let a key open nothing any more, within 5 s on every server, for good.

        `KeyNotFound`, and `LastAdmin` for the last key that may do everything everywhere. To
        revoke one twice changes nothing.
        """
        key_id = _id_of(key_id)
        match await self._client.patiently(lambda backend: backend.revoke_key(key_id)):
            case Revoked.NOT_FOUND:
                raise KeyNotFound(key_id)
            case Revoked.LAST_ADMIN:
                raise LastAdmin(key_id)
        await self._note("key.revoke", key_id)

    async def _note(self, action: str, key_id: str) -> None:
        """Take down a change that was made straight in the store; a server does so by itself."""
        if not self._records or not hasattr(self._client.backend, "store"):
            return
        now = self._client.backend.clock.now()
        entry = AuditEntry(
            id=self._ids.new(now),
            at=now,
            key_id="",
            key_name=_person(),
            via=Via.CLI,
            action=action,
            target=key_id,
        )
        await self._client.patiently(lambda backend: backend.record([entry]))

    create, acreate = blocking(_create), awaited(_create)
    list, alist = blocking(_list), awaited(_list)
    get, aget = blocking(_get), awaited(_get)
    revoke, arevoke = blocking(_revoke), awaited(_revoke)


def check_roles(roles: Iterable[Role | str]) -> tuple[Role, ...]:
    """Return roles, each once; `InvalidTask` names one that is none."""
    found: list[Role] = []
    for name in [roles] if isinstance(roles, str) else roles:
        if name not in set(Role):
            hint = did_you_mean(str(name), set(Role)) or f"; there are {', '.join(Role)}"
            raise InvalidTask("roles", f"{name!r} is no role{hint}")
        found.append(Role(name))
    if not found:
        raise InvalidTask("roles", f"name at least one of {', '.join(Role)}")
    return tuple(dict.fromkeys(found))


def check_key_scope(
    tenant: str | None, queues: Iterable[str] | None, *, payloads: bool = True
) -> Scope:
    """Return how far a key reaches; `InvalidTask` names what cannot be."""
    if tenant is not None:
        check_tenant(tenant, "tenant")
    names = None
    if queues is not None:
        names = tuple(dict.fromkeys([queues] if isinstance(queues, str) else queues))
        if not 1 <= len(names) <= QUEUES_MOST:
            raise InvalidTask("queues", f"name 1 to {QUEUES_MOST} queues, or leave them out")
        for name in names:
            check_name(name, "queues")
    return Scope(tenant=tenant, queues=names, payloads=payloads)


def check_expiry(expires: Duration | Instant | None, now: Micros) -> Micros | None:
    """Return when a key is over: at an instant, or so long from now; `InvalidTask`."""
    if expires is None:
        return None
    try:
        until = now + duration(expires, "expires")
    except InvalidTask:
        if isinstance(expires, int | float) or _is_length(expires):
            raise
        until = moment(expires, "expires")
    if until < now + SECOND:
        raise InvalidTask("expires", "must lie in the future")
    return until


def _is_length(expires: Any) -> bool:
    return isinstance(expires, str) and re.fullmatch(r"[\d.]+[a-z]*|P.*", expires) is not None


def _id_of(text: str) -> str:
    """Return the id, also of somebody who gives the whole key."""
    written = key_text.read(text)
    if written is not None:
        return written.id
    if re.fullmatch(NAME_PATTERN, text) is None:
        raise KeyNotFound(text[: key_text.ID_DIGITS])
    return text


def _person() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no such user in a container, and no variable that says so
        return ""
