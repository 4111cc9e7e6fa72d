"""The resources of one process: opened at first use, held, and closed in reverse order (R8.2)."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeVar

from rota.resource import Resource

T = TypeVar("T")

Aside = Callable[[Callable[[], T]], Coroutine[Any, Any, T]]
"""Runs a function that may block, without blocking the event loop."""

log = logging.getLogger("rota.worker")

CLOSING = 10.0
"""A resource that takes longer than so many seconds to close is left as it is."""


class Resources:
    """Each resource is opened once, by a task that holds it until the end.

    One task for both ends, because much that is asynchronous must be left by the task that
    entered it. One that could not be opened is tried again at the next use.
    """

    def __init__(self, aside: Aside[Any]) -> None:
        self._aside = aside
        self._held: dict[Resource, _Held] = {}

    async def all_of(self, wanted: Mapping[str, Resource]) -> dict[str, Any]:
        """Return the values of some resources, by the names of their parameters."""
        return {name: await self._value(resource) for name, resource in wanted.items()}

    async def _value(self, resource: Resource) -> Any:
        held = self._held.get(resource)
        if held is None or held.failed:
            needs = await self.all_of(resource.needs)
            held = self._held.get(resource)  # another may have come first meanwhile
            if held is None or held.failed:
                self._held.pop(resource, None)
                held = self._held[resource] = _Held(resource, needs, self._aside)
        # Shielded: a run that is cancelled while it waits must not spoil it for the others.
        return await asyncio.shield(held.value)

    async def close(self) -> None:
        """Close what is open, the last that was opened first."""
        while self._held:
            resource, held = self._held.popitem()
            try:
                async with asyncio.timeout(CLOSING):
                    await held.close()
            except TimeoutError:
                log.warning("resource %s takes too long to close; it is left", resource.name)
            except Exception:
                log.exception("resource %s could not be closed", resource.name)


class _Held:
    def __init__(self, resource: Resource, needs: dict[str, Any], aside: Aside[Any]) -> None:
        loop = asyncio.get_running_loop()
        self.value: asyncio.Future[Any] = loop.create_future()
        self._aside = aside
        self._over = asyncio.Event()
        self._task = loop.create_task(self._hold(resource, needs))

    @property
    def failed(self) -> bool:
        return self.value.done() and self.value.exception() is not None

    async def close(self) -> None:
        self._over.set()
        await self._task

    async def _hold(self, resource: Resource, needs: dict[str, Any]) -> None:
        try:
            if resource.is_async:
                opened = resource.open(**needs)
            else:
                opened = await self._aside(lambda: resource.open(**needs))
            if inspect.isawaitable(opened):
                opened = await opened
            if isinstance(opened, AbstractAsyncContextManager):
                async with opened as value:
                    await self._until_over(value)
            elif isinstance(opened, AbstractContextManager):
                await self._within(opened)
            else:
                await self._until_over(opened)
        except Exception as error:
            if self.value.done():
                raise
            self.value.set_exception(error)

    async def _within(self, opened: AbstractContextManager[Any]) -> None:
        value = await self._aside(opened.__enter__)
        try:
            await self._until_over(value)
        finally:
            await self._aside(lambda: opened.__exit__(None, None, None))

    async def _until_over(self, value: Any) -> None:
        self.value.set_result(value)
        await self._over.wait()
