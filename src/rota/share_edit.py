"""Changes settings that exist: read, merged, and written if nobody else was faster (R7)."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import structs

from rota.client import Client
from rota.clock import Micros
from rota.errors import SettingsChanged
from rota.options import check_reason
from rota.shares import KindSettings, QueueSettings, Settings, TenantSettings

TRIES = 20
"""So often a change is merged anew after somebody else was faster."""
WAITING_CAP = 10_000
"""More waiting tasks than this nobody counts in a list of queues or tenants."""

S = TypeVar("S", QueueSettings, TenantSettings, KindSettings)
Change = Callable[[S, Micros], S]
"""Says what settings shall become; the same ones if they are so already."""


async def stored(client: Client) -> Settings:
    """Return all settings as they are stored now."""
    return await client.patiently(lambda backend: backend.settings())


async def edit(
    client: Client,
    what: str,
    read: Callable[[Settings], S],
    change: Callable[[S, Micros], S],
    version: int | None = None,
) -> S:
    """Carry out a change and return the settings as they are then.

    It is made anew from what is stored whenever somebody else was faster, unless that is not the
    `version` which it was made for: `SettingsChanged`.
    """
    for _ in range(TRIES):
        old = read(await stored(client))
        if version is not None and old.version != version:
            raise SettingsChanged(what)
        new = change(old, client.backend.clock.now())
        if new == old:
            return old
        then = structs.replace(new, version=old.version + 1)
        if await _write(client, new, old):
            return then
        # The answer to a first call may have been lost: then it is ours that is there.
        if read(await stored(client)) == then:
            return then
    raise SettingsChanged(what)


async def forget(client: Client, what: str, read: Callable[[Settings], S]) -> None:
    """Bring settings back to the defaults, whoever changes them meanwhile."""
    for _ in range(TRIES):
        old = read(await stored(client))
        if not old.version or await _drop(client, old):
            return
    raise SettingsChanged(what)


async def _drop(client: Client, old: S) -> bool:
    return await client.patiently(lambda backend: backend.drop_settings(old))


async def _write(client: Client, new: S, old: S) -> bool:
    return await client.patiently(lambda backend: backend.put_settings(new, old.version))


def pause(reason: str | None) -> Callable[[S, Micros], S]:
    """Return the change that lets nothing start until `resume`; what is paused stays so."""
    text = check_reason(reason)

    def change(old: S, now: Micros) -> S:
        if old.paused_at is not None and text is None:
            return old
        since = now if old.paused_at is None else old.paused_at
        return structs.replace(old, paused_at=since, pause_reason=text)

    return change


def resume(old: S, _now: Micros) -> S:
    """Return settings that let tasks start again."""
    return structs.replace(old, paused_at=None, pause_reason=None)
