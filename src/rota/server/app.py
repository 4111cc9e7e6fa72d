"""One server process, wired up: the app, its store, who may call, the routes, and the duties."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from rota import __version__
from rota.app import Rota
from rota.clock import Rng
from rota.contrib._addresses import Reach
from rota.engine import Engine
from rota.errors import ConfigurationError, RotaError, SchemaOutOfDate
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from rota.outage import OUTAGES, through_outage
from rota.server.access import KeyAccess
from rota.server.first_key import check_listening
from rota.server.front import Front
from rota.server.internal import QUEUE, internal_kinds
from rota.server.place import Place
from rota.server.rates import Bounds, Rate
from rota.server.routes import table
from rota.server.settings import ServerSettings
from rota.server.table import Table

log = logging.getLogger("rota.server")

STOP_SECONDS = 10.0
"""What goes on beside the calls has so long to end once the last call is answered."""
SLOTS = 20


class Server:
    """A server on the event loop that it is started on; it survives a store that is away (R3.7).

    `front` is the ASGI application. Between `start` and `stop` the store is opened, however long
    that takes, and the duties go on; until then whoever calls is told to come back.
    """

    def __init__(self, app: Rota, settings: ServerSettings, *, rng: Rng) -> None:
        backend = app.connect()
        if not isinstance(backend, Engine):
            raise ConfigurationError(
                "a server needs the store itself: set --url to sqlite:///… or postgresql://…, "
                "not to another server"
            )
        bounds = Bounds()
        if settings.rate is not None:
            bounds = Bounds(calls=Rate(settings.rate, 2 * settings.rate))
        self.settings = settings
        self.place = Place(app, backend, rng=rng, any_kind=settings.any_kind)
        self.place.health.does_duties = settings.duties
        self.place.telling.reach = Reach.of(private=settings.private, ports=settings.ports)
        self.place.telling.public_url = settings.public_url
        access = KeyAccess(
            self.place, hosts=settings.hosts, proxies=settings.proxies, bounds=bounds
        )
        self.front = Front(self.place, Table(table()), access)
        self.advice_level = logging.WARNING
        """How loudly it is told that there is no key: not where a link logs people in."""
        self.fault: RotaError | None = None
        """Why this server must not go on, found when the store was there at last."""
        self._failed = asyncio.Event()
        self._worker = self._made(app, rng) if settings.duties else None
        self._working: asyncio.Task[None] | None = None
        self._running: list[asyncio.Task[None]] = []

    def _made(self, app: Rota, rng: Rng) -> Worker:
        kinds = internal_kinds(self.place)
        settings = WorkerSettings(queues=kinds.queues or (QUEUE,), concurrency=SLOTS, name="server")
        backend = app.connect()
        if isinstance(backend, Engine):
            self.place.metrics.engines.append(backend)  # its duties count as well
        return Worker(kinds, backend, settings, rng=rng, version=__version__)

    async def start(self) -> None:
        """Begin what goes on beside the calls.

        `ConfigurationError` and `SchemaOutOfDate` if it must not begin; a store that is away is
        waited for in the background.
        """
        try:
            await self.place.engine.open()
            await self.check()
        except OUTAGES as error:
            log.warning("the store is out of reach (%s); it is waited for", error)
            self._begin(self._open())
        for work in self.place.background:
            self._begin(work())
        if self._worker is not None:
            self._working = self._begin(self._worker.run())

    def _begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        task.add_done_callback(_told)
        self._running.append(task)
        return task

    async def _open(self) -> None:
        place = self.place
        try:
            await through_outage(place.engine.open, place.clock, place.rng)
            await self.check()
        except OUTAGES as error:
            log.warning("the store went away again: %s", error)
        except (ConfigurationError, SchemaOutOfDate) as error:
            self.fault = error
            self._failed.set()

    async def check(self) -> None:
        """Refuse to listen to the world while there is no key: `ConfigurationError`."""
        advice = await check_listening(self.place.engine, self.settings.host)
        if advice is not None:
            log.log(self.advice_level, "%s", advice)

    async def failed(self) -> None:
        """Wait until this server has to end by itself; `fault` says why."""
        await self._failed.wait()

    def drain(self) -> None:
        """Tell whatever waits or streams to end: nothing new is begun from now on."""
        if self.place.draining:
            return
        self.place.draining = True
        for tell in self.place.on_drain:
            tell()
        if self._worker is not None:
            self._worker.drain()

    async def stop(self) -> None:
        """End what goes on beside the calls, and let go of the store."""
        self.drain()
        if self._working is not None:
            await asyncio.wait((self._working,), timeout=STOP_SECONDS)
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self.place.engine.close()


def _told(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("a part of the server ended", exc_info=error)
