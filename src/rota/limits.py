"""Limits: caps and rates of queues, tenants, and tenants in queues: `app.limits` (R7.4, R7.5)."""

from collections.abc import Sequence
from typing import Unpack

from msgspec import structs

from rota import share_edit
from rota.client import Client
from rota.clock import Ids
from rota.errors import LimitNotFound, SettingsChanged
from rota.faces import awaited, blocking
from rota.share_options import LimitChanges, check_limit, check_scope, limit_with
from rota.shares import Limit, LimitUse, Settings
from rota.sync import Portal

Scope = tuple[str | None, str | None]


class Limits:
    """Reads and changes limits: `app.limits`.

    A limit is found by what it is for: `queue=`, `tenant=`, or both. Tasks start only if all the
    limits that they fall under allow it. Every verb has a blocking face and, with an `a` before its
    name, one to be awaited. What changes holds for every claim that begins afterwards.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ids = Ids()

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _get(self, *, queue: str | None = None, tenant: str | None = None) -> Limit:
        """Return the limit of exactly this scope; `LimitNotFound`."""
        return await self._found(check_scope(queue, tenant))

    async def _list(
        self, *, queue: str | None = None, tenant: str | None = None
    ) -> Sequence[LimitUse]:
        """Return the limits and how much of each is in use; `queue` and `tenant` narrow them."""
        settings = await share_edit.stored(self._client)
        chosen = [
            limit.id
            for limit in settings.limits
            if queue in (None, limit.queue) and tenant in (None, limit.tenant)
        ]
        found = await self._client.patiently(lambda backend: backend.limit_use(chosen))
        return sorted(found, key=lambda use: (use.limit.queue or "", use.limit.tenant or ""))

    async def _set(
        self,
        *,
        queue: str | None = None,
        tenant: str | None = None,
        version: int | None = None,
        **changes: Unpack[LimitChanges],
    ) -> Limit:
        """Change what is given of the limit of this scope and leave the rest, or make it.

        `max_running` tasks at once; a `rate` of starts, tasks a second or "30/m"; `burst`, how many
        may start at once after a lull: one second's worth if it is not given. None takes one away.
        With a `version` (0: it is new) only if it is still at that one: `SettingsChanged`.
        """
        scope, checked = check_scope(queue, tenant), check_limit(changes)
        for _ in range(share_edit.TRIES):
            old = _of(await share_edit.stored(self._client), scope)
            at = 0 if old is None else old.version
            if version is not None and at != version:
                break
            new = limit_with(old or self._fresh(scope), checked)
            if new == old:
                return new
            if await self._write(new, at):
                return await self._found(scope)
        raise SettingsChanged(_named(scope))

    async def _write(self, new: Limit, version: int) -> bool:
        if await self._client.patiently(lambda backend: backend.put_limit(new, version)):
            return True
        # The answer to a first call may have been lost: then it is ours that is there.
        now = _of(await share_edit.stored(self._client), (new.queue, new.tenant))
        return now is not None and _says(now) == _says(structs.replace(new, version=version + 1))

    def _fresh(self, scope: Scope) -> Limit:
        queue, tenant = scope
        now = self._client.backend.clock.now()
        return Limit(id=self._ids.new(now), queue=queue, tenant=tenant, filled_at=now)

    async def _delete(self, *, queue: str | None = None, tenant: str | None = None) -> Limit:
        """Remove the limit of exactly this scope and return what it was; `LimitNotFound`."""
        old = await self._get(queue=queue, tenant=tenant)
        await self._client.patiently(lambda backend: backend.drop_limit(old.id))
        return old

    async def _found(self, scope: Scope) -> Limit:
        found = _of(await share_edit.stored(self._client), scope)
        if found is None:
            raise LimitNotFound(_named(scope))
        return found

    get, aget = blocking(_get), awaited(_get)
    list, alist = blocking(_list), awaited(_list)
    set, aset = blocking(_set), awaited(_set)
    delete, adelete = blocking(_delete), awaited(_delete)


def _of(settings: Settings, scope: Scope) -> Limit | None:
    return next((one for one in settings.limits if (one.queue, one.tenant) == scope), None)


def _named(scope: Scope) -> str:
    queue, tenant = scope
    parts = [] if tenant is None else [f"tenant {tenant!r}"]
    return " in ".join([*parts, *([] if queue is None else [f"queue {queue!r}"])])


def _says(one: Limit) -> tuple[object, ...]:
    return (one.id, one.version, one.max_running, one.rate, one.burst)
