"""Tenants: each one's part beside the others, its bound and its pause: `app.tenants` (R7.3)."""

from collections.abc import Sequence
from typing import Unpack

from msgspec import Struct, structs

from rota import share_edit
from rota.client import Client
from rota.faces import awaited, blocking
from rota.options import check_tenant
from rota.share_edit import WAITING_CAP
from rota.share_options import TenantChanges, check_tenant_changes
from rota.shares import TenantSettings
from rota.sync import Portal


class Tenant(Struct, frozen=True):
    """A tenant's settings, and how many of its tasks are ready and wait, or more if `capped`."""

    settings: TenantSettings
    waiting: int = 0
    capped: bool = False


class Tenants:
    """Reads and changes tenants' parts: `app.tenants`.

    A tenant need not exist to be set up; "" is who has none. Every verb has a blocking face and,
    with an `a` before its name, one to be awaited. What changes holds for every claim that begins
    afterwards.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _get(self, name: str) -> TenantSettings:
        """Return a tenant's settings; where nobody has set any, the defaults."""
        return (await share_edit.stored(self._client)).tenant(check_tenant(name, "name"))

    async def _list(self, *, paused: bool | None = None) -> Sequence[Tenant]:
        """Return the tenants by name that have settings or a limit."""
        settings = await share_edit.stored(self._client)
        limited = {limit.tenant for limit in settings.limits if limit.tenant is not None}
        chosen = [
            tenant
            for tenant in map(settings.tenant, sorted({*settings.tenants, *limited}))
            if paused is None or paused == (tenant.paused_at is not None)
        ]
        _, depths = await self._client.patiently(
            lambda backend: backend.depths((), [tenant.name for tenant in chosen], WAITING_CAP)
        )
        waiting = {depth.name: depth.waiting for depth in depths}
        return [
            Tenant(tenant, waiting.get(tenant.name, 0), waiting.get(tenant.name, 0) >= WAITING_CAP)
            for tenant in chosen
        ]

    async def _set(
        self, name: str, *, version: int | None = None, **changes: Unpack[TenantChanges]
    ) -> TenantSettings:
        """Change what is given of a tenant's settings and leave the rest: `weight`, `max_depth`.

        With a `version` only if they are still at that one: `SettingsChanged`.
        """
        checked = check_tenant_changes(changes)
        return await self._edit(name, lambda old, _: structs.replace(old, **checked), version)

    async def _pause(self, name: str, reason: str | None = None) -> TenantSettings:
        """Let no task of a tenant start until `resume`; those that run go on (R7.7)."""
        return await self._edit(name, share_edit.pause(reason))

    async def _resume(self, name: str) -> TenantSettings:
        """Let tasks of a tenant start again."""
        return await self._edit(name, share_edit.resume)

    async def _reset(self, name: str) -> None:
        """Forget a tenant's settings, also a pause, back to the defaults; its limits stay."""
        check_tenant(name, "name")
        await share_edit.forget(self._client, f"tenant {name!r}", lambda all_: all_.tenant(name))

    async def _edit(
        self, name: str, change: share_edit.Change[TenantSettings], version: int | None = None
    ) -> TenantSettings:
        check_tenant(name, "name")
        return await share_edit.edit(
            self._client, f"tenant {name!r}", lambda all_: all_.tenant(name), change, version
        )

    get, aget = blocking(_get), awaited(_get)
    list, alist = blocking(_list), awaited(_list)
    set, aset = blocking(_set), awaited(_set)
    pause, apause = blocking(_pause), awaited(_pause)
    resume, aresume = blocking(_resume), awaited(_resume)
    reset, areset = blocking(_reset), awaited(_reset)
