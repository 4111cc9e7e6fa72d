"""A server that really listens, in a thread of its own; one store after the other behind it."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

import uvicorn

from rota import Rota
from rota.access import EVERYTHING, Role, Scope
from rota.clock import Clock, ManualClock, Micros, SystemClock, new_rng
from rota.engine import Engine
from rota.server.caller import NOBODY, Caller
from rota.server.front import Front
from rota.server.place import Place
from rota.server.problems import Problem
from rota.server.route import Answer, Call, Route
from rota.server.routes import table
from rota.server.table import Table
from rota.store.base import Store

T = TypeVar("T")

EVERY_ROLE = (Role.ADMIN, Role.WORKER)
KEY = "everything"


class EveryKey:
    """Access for tests: any word is a key, `role@tenant` has one role, another word has all."""

    async def admit(
        self, route: Route | None, headers: dict[str, str], address: str, method: str
    ) -> Caller:
        if route is not None and route.roles is None:
            return NOBODY
        word = headers.get("authorization", "").removeprefix("Bearer ")
        if not word:
            raise Problem("unauthorised", "give a key: Authorization: Bearer rota_…")
        name, _, tenant = word.partition("@")
        roles = (Role(name),) if name in set(Role) else EVERY_ROLE
        return Caller.of(word, word, roles, Scope(tenant=tenant) if tenant else EVERYTHING)

    async def enter(self, call: Call) -> None: ...

    def deny(self, route: Route, caller: Caller, headers: dict[str, str], address: str) -> None: ...

    async def leave(self, call: Call, answer: Answer | None, error: Exception | None) -> None:
        pass


class Same:
    """The time of a test's clock, for another thread: nothing that sleeps by it is woken there."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def now(self) -> Micros:
        """Return the time."""
        return self._clock.now()

    def monotonic(self) -> float:
        """Return the other time."""
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep until cancelled."""
        await asyncio.Event().wait()

    def observe(self, store_time: Micros, received: float) -> None:
        """Leave the clock as it is."""


def wait_for_listener(port: int, seconds: float = 30.0) -> None:
    """Wait until somebody accepts connections there: a port is taken a little before that."""
    clock = SystemClock()
    end = clock.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert clock.monotonic() < end, f"nobody listens on port {port}"
            threading.Event().wait(0.005)
        else:
            return


class Served:
    """A store behind a server: the server's own parts, and its loop to ask them on."""

    def __init__(self, url: str, place: Place, loop: asyncio.AbstractEventLoop) -> None:
        self.url = url
        self.place = place
        self._loop = loop

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something on the server's loop, from any other thread."""
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(60)

    async def arun(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something on the server's loop, from another loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self._loop))


class Serving:
    """A server, while a `with` block lasts; `on` puts a store behind it."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="serving")
        self._server: uvicorn.Server | None = None
        self._front: Front | None = None
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60), "the server has not come up"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._thread.join(60)

    @contextmanager
    def on(
        self, store: Store, *, app: Rota | None = None, clock: Clock | None = None
    ) -> Iterator[Served]:
        """Serve a store that is migrated, with a time of its own if one is given."""
        if isinstance(clock, ManualClock):
            clock = Same(clock)
        engine = Engine(store, clock or SystemClock(), new_rng(1))
        app = app or Rota("sqlite:///unused.db")
        beside: list[asyncio.Task[None]] = []

        async def begin() -> Place:
            await engine.open()
            place = Place(app, engine, rng=new_rng(2), any_kind=True)
            beside.extend(asyncio.ensure_future(work()) for work in place.background)
            self._front = Front(place, Table(table()), EveryKey())
            return place

        async def end() -> None:
            for tell in served.place.on_drain:
                tell()
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await engine.close()

        served = Served(self.url, _done(begin(), self.loop), self.loop)
        try:
            yield served
        finally:
            self._front = None
            _done(end(), self.loop)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        assert self._front is not None, "nothing is served at the moment"
        await self._front(scope, receive, send)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        config = uvicorn.Config(
            self._answer,
            host="127.0.0.1",
            port=0,
            log_level="warning",
            lifespan="off",
            interface="asgi3",
            timeout_graceful_shutdown=1,
        )
        server = self._server = uvicorn.Server(config)
        serving = asyncio.ensure_future(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody
            await asyncio.sleep(0.005)
        self.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        self._ready.set()
        await serving


def _done(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
    return asyncio.run_coroutine_threadsafe(work, loop).result(60)
