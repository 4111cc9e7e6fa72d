"""Runs a server in this process until it is told to stop, on uvicorn with httptools."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from rota.app import Rota
from rota.clock import Rng
from rota.errors import ConfigurationError
from rota.node.process import SUPERVISED
from rota.node.small_port import SmallPort
from rota.server.app import Server
from rota.server.line import Line
from rota.server.settings import ServerSettings
from rota.sync import new_event_loop

log = logging.getLogger("rota.server")

GRACE_SECONDS = 10
"""Calls that are under way have so long to end."""
KEEP_ALIVE_SECONDS = 75
"""Above the idle time of common balancers, so that it is they who close a connection."""
BACKLOG = 2048


class Listener(uvicorn.Server):
    """uvicorn's server without its own way with signals: this process has one already.

    `on_listening` is called once connections are let in; at a port that is only bound they are
    refused.
    """

    def __init__(self, config: uvicorn.Config, on_listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_listening()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Running:
    """A server that listens; for whoever runs it on a loop of their own.

    `on_listening` is called, on that loop, once whoever connects is let in.
    """

    def __init__(
        self,
        app: Rota,
        settings: ServerSettings,
        *,
        rng: Rng,
        on_listening: Callable[[], None] = lambda: None,
    ) -> None:
        self.server = Server(app, settings, rng=rng)
        self._socket = bound(settings)
        host, port, *_ = self._socket.getsockname()
        self.port: int = port
        self.listener = Listener(_config(self.server, settings), on_listening)
        log.debug("bound to %s port %d", host, port)

    async def run(self) -> None:
        """Answer until `stop`; then end in good order."""
        server = self.server
        metrics = None
        try:
            metrics = await self.own_port()
            await server.start()
        except BaseException:
            self._socket.close()
            _shut(metrics)
            await server.stop()
            raise
        watching = asyncio.ensure_future(self._watch())
        try:
            await self.listener.serve(sockets=[self._socket])
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await server.stop()
            _shut(metrics)
        if server.fault is not None:
            raise server.fault

    def close(self) -> None:
        """Let go of the address, if it was never run."""
        self._socket.close()

    def stop(self) -> None:
        """Take no more calls, end what waits and streams, let the others be answered."""
        if self.server.place.draining:
            self.listener.force_exit = True
        self.server.drain()
        self.listener.should_exit = True

    async def own_port(self) -> asyncio.Server | None:
        """Answer on the port of this process's own, if it has one: metrics and probes."""
        settings, place = self.server.settings, self.server.place
        if not settings.metrics_port:
            return None
        port = SmallPort(place.metrics.text, place.health.ready)
        listening = await port.listen(settings.metrics_host, settings.metrics_port)
        log.info("metrics and probes on %s port %d", settings.metrics_host, settings.metrics_port)
        return listening

    async def _watch(self) -> None:
        await self.server.failed()
        self.stop()


def _shut(server: asyncio.Server | None) -> None:
    if server is not None:
        server.close()


def run_server(app: Rota, settings: ServerSettings, *, rng: Rng) -> int:
    """Run a server until SIGTERM or Ctrl-C; the second one ends it without waiting for calls."""

    # What it says at its start and end is said here, and of each request that is none it would
    # warn; what is wrong in the server itself still comes through.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)

    async def main() -> None:
        def listening() -> None:
            scheme = settings.address.partition(":")[0]
            place = f"{scheme}://{settings.host}:{running.port}"
            log.info("server %d listens on %s", os.getpid(), place)

        running = Running(app, settings, rng=rng, on_listening=listening)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, running.stop)
        if os.environ.get(SUPERVISED):

            def parent_gone() -> None:
                loop.remove_reader(0)
                log.warning("the supervisor is gone")
                running.stop()

            # The supervisor holds the other end and never writes: readable means it is gone.
            loop.add_reader(0, parent_gone)
        await running.run()
        log.info("stopped")

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main())
    return 0


def bound(settings: ServerSettings) -> socket.socket:
    """Return a socket at the address; `ConfigurationError` if it cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if settings.share_port:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise ConfigurationError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}; "
            "choose another with --host or --port"
        ) from None
    return listening


def _config(server: Server, settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        server.front,
        http=Line,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whom a call comes from is found out by `rota.server.hosts`
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )
