"""Queues: how each is shared out, bounded and paused: `app.queues` (R7, R1.7)."""

from collections.abc import Sequence
from typing import Unpack

from msgspec import Struct

from rota import share_edit
from rota.client import Client
from rota.faces import awaited, blocking
from rota.registry import Registry, check_name
from rota.share_edit import WAITING_CAP
from rota.share_options import QueueChanges, check_queue, queue_with
from rota.shares import QueueSettings, Settings
from rota.sync import Portal


class Queue(Struct, frozen=True):
    """A queue's settings, and how many of its tasks are ready and wait, or more if `capped`."""

    settings: QueueSettings
    waiting: int = 0
    capped: bool = False


class Queues:
    """Reads and changes how queues are shared out: `app.queues`.

    A queue need not exist to be set up. Every verb has a blocking face and, with an `a` before its
    name, one to be awaited. What changes holds for every claim that begins afterwards.
    """

    def __init__(self, client: Client, registry: Registry) -> None:
        self._client = client
        self._registry = registry

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _get(self, name: str) -> QueueSettings:
        """Return a queue's settings; where nobody has set any, the defaults."""
        return (await share_edit.stored(self._client)).queue(check_name(name, "name"))

    async def _list(self, *, paused: bool | None = None) -> Sequence[Queue]:
        """Return the queues by name that have settings, a limit, a kind here, or waiting tasks."""
        settings = await share_edit.stored(self._client)
        working = await self._client.patiently(lambda backend: backend.queues_with_work())
        names = sorted({*settings.queues, *self._registry.queues, *working, *_limited(settings)})
        chosen = [
            queue
            for queue in map(settings.queue, names)
            if paused is None or paused == (queue.paused_at is not None)
        ]
        depths, _ = await self._client.patiently(
            lambda backend: backend.depths([queue.name for queue in chosen], (), WAITING_CAP)
        )
        waiting = {depth.name: depth.waiting for depth in depths}
        return [
            Queue(queue, waiting.get(queue.name, 0), waiting.get(queue.name, 0) >= WAITING_CAP)
            for queue in chosen
        ]

    async def _set(
        self, name: str, *, version: int | None = None, **changes: Unpack[QueueChanges]
    ) -> QueueSettings:
        """Change what is given of a queue's settings and leave the rest (R7.1-R7.3, R1.7).

        `weights` of classes (`{"critical": 60}`), `aging` (what a level of priority is worth),
        `fair_by` ("tasks" or "time"), `max_depth`, `when_full` ("refuse" or "defer"). With a
        `version` only if they are still at that one: `SettingsChanged`.
        """
        checked = check_queue(changes)
        return await self._edit(name, lambda old, _: queue_with(old, checked), version)

    async def _pause(self, name: str, reason: str | None = None) -> QueueSettings:
        """Let no task of a queue start until `resume`; those that run go on (R7.7)."""
        return await self._edit(name, share_edit.pause(reason))

    async def _resume(self, name: str) -> QueueSettings:
        """Let tasks of a queue start again."""
        return await self._edit(name, share_edit.resume)

    async def _reset(self, name: str) -> None:
        """Forget a queue's settings, also a pause, back to the defaults; its limits stay."""
        check_name(name, "name")
        await share_edit.forget(self._client, f"queue {name!r}", lambda all_: all_.queue(name))

    async def _edit(
        self, name: str, change: share_edit.Change[QueueSettings], version: int | None = None
    ) -> QueueSettings:
        check_name(name, "name")
        return await share_edit.edit(
            self._client, f"queue {name!r}", lambda all_: all_.queue(name), change, version
        )

    get, aget = blocking(_get), awaited(_get)
    list, alist = blocking(_list), awaited(_list)
    set, aset = blocking(_set), awaited(_set)
    pause, apause = blocking(_pause), awaited(_pause)
    resume, aresume = blocking(_resume), awaited(_resume)
    reset, areset = blocking(_reset), awaited(_reset)


def _limited(settings: Settings) -> Sequence[str]:
    return [limit.queue for limit in settings.limits if limit.queue is not None]
