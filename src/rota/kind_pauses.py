"""Kinds: which are started at present, and which are held: `app.kinds` (R7.7)."""

from collections.abc import Sequence

from rota import share_edit
from rota.client import Client
from rota.faces import awaited, blocking
from rota.registry import Registry, check_name
from rota.shares import KindSettings, Settings
from rota.sync import Portal


class Kinds:
    """Pauses and resumes kinds of task on every worker: `app.kinds`.

    Every verb has a blocking face and, with an `a` before its name, one to be awaited.
    """

    def __init__(self, client: Client, registry: Registry) -> None:
        self._client = client
        self._registry = registry

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _get(self, name: str) -> KindSettings:
        """Return whether a kind is paused, since when and why."""
        return _kind(await share_edit.stored(self._client), check_name(name, "name"))

    async def _list(self, *, paused: bool | None = None) -> Sequence[KindSettings]:
        """Return the kinds by name that are known here, to a live worker, or have been paused."""
        settings = await share_edit.stored(self._client)
        sessions = await self._client.patiently(lambda backend: backend.sessions())
        at_work = {kind for session in sessions for kind in session.kinds}
        names = sorted({*settings.kinds, *self._registry.names, *at_work})
        return [
            kind
            for kind in (_kind(settings, name) for name in names)
            if paused is None or paused == (kind.paused_at is not None)
        ]

    async def _pause(self, name: str, reason: str | None = None) -> KindSettings:
        """Let no task of a kind start until `resume`; those that run go on (R7.7)."""
        return await self._edit(name, share_edit.pause(reason))

    async def _resume(self, name: str) -> KindSettings:
        """Let tasks of a kind start again."""
        return await self._edit(name, share_edit.resume)

    async def _edit(self, name: str, change: share_edit.Change[KindSettings]) -> KindSettings:
        check_name(name, "name")
        return await share_edit.edit(
            self._client, f"kind {name!r}", lambda all_: _kind(all_, name), change
        )

    get, aget = blocking(_get), awaited(_get)
    list, alist = blocking(_list), awaited(_list)
    pause, apause = blocking(_pause), awaited(_pause)
    resume, aresume = blocking(_resume), awaited(_resume)


def _kind(settings: Settings, name: str) -> KindSettings:
    return settings.kinds.get(name) or KindSettings(name=name)
