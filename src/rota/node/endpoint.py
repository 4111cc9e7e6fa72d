"""A worker's own small port: metrics for Prometheus, and probes (R9.3).

It knows three paths, reads nothing but the first lines of a request, and shows no name, payload or
address; whoever reaches it may read it, so by default it listens on loopback alone.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator

import msgspec
from prometheus_client.registry import Collector

from rota.backend import Backend
from rota.engine import Engine
from rota.errors import ConfigurationError
from rota.node.health import ALIVE, keep_looking, readiness
from rota.node.metrics import MEDIA, Bounded, Gauge, Gauges, Process, exposition
from rota.node.worker import Worker
from rota.registry import Registry

log = logging.getLogger("rota.worker")

REQUEST_SECONDS = 5.0
REQUEST_BYTES = 8 * 1024
JSON = "application/json"
PLAIN = "text/plain; charset=utf-8"

Reply = tuple[int, str, bytes]


class Endpoint:
    """Answers probes and Prometheus for one worker, on the worker's event loop."""

    def __init__(self, worker: Worker, backend: Backend, registry: Registry) -> None:
        self._worker = worker
        self._engine = backend if isinstance(backend, Engine) else None
        collectors: list[Collector] = [Gauges(lambda: _gauges(worker))]
        if self._engine is not None:
            queue = Bounded(first=registry.queues)
            collectors.append(Process([self._engine], registry, queue, version=worker.version))
        self._text = exposition(*collectors)
        self._pages: dict[str, Callable[[], Reply]] = {
            "/metrics": lambda: (200, MEDIA, self._text()),
            "/healthz": lambda: (200, JSON, msgspec.json.encode(ALIVE)),
            "/readyz": self._ready,
        }

    async def run(self, host: str, port: int) -> None:
        """Listen until cancelled; `ConfigurationError` if the port cannot be had."""
        server = await self.listen(host, port)
        async with server:
            log.info("metrics and probes on %s port %d", host, port)
            if self._engine is None:
                await asyncio.Event().wait()
            else:
                await keep_looking(self._engine)

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """Return a server that answers already."""
        try:
            return await asyncio.start_server(self._answer, host, port, limit=REQUEST_BYTES)
        except OSError as error:
            raise ConfigurationError(
                f"cannot listen on {host} port {port} for metrics: {error.strerror}; choose "
                "another --metrics-port"
            ) from None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self.reply(head))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asks like that is owed no answer
        finally:
            writer.close()

    def reply(self, head: bytes) -> bytes:
        """Return the whole answer to a request's first lines."""
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0].decode("ascii", "replace")
        page = self._pages.get(path)
        if page is None:
            status, media, body = 404, PLAIN, b"there are /metrics, /healthz and /readyz\n"
        elif method not in (b"GET", b"HEAD"):
            status, media, body = 405, PLAIN, b"only GET is answered\n"
        else:
            status, media, body = page()
        lines = (
            f"HTTP/1.1 {status} {_REASONS[status]}",
            f"content-type: {media}",
            f"content-length: {len(body)}",
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            *(("allow: GET, HEAD",) if status == 405 else ()),
            "connection: close",
        )
        start = "\r\n".join(lines).encode() + b"\r\n\r\n"
        return start if method == b"HEAD" else start + body

    def _ready(self) -> Reply:
        if self._engine is None:
            ready, told = not self._worker.draining, {"status": "ready"}
            if not ready:
                told = {"status": "draining"}
        else:
            ready, told = readiness(
                self._engine.vitals,
                draining=self._worker.draining,
                needs_tick=self._worker.does_duties,
            )
        return 200 if ready else 503, JSON, msgspec.json.encode(told)


_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


def _gauges(worker: Worker) -> Iterable[Gauge]:
    yield from _pools(worker)
    age = worker.heartbeat_age
    if age is not None:
        text = "How long ago the lease was last renewed."
        yield "rota_heartbeat_age_seconds", text, {}, age


def _pools(worker: Worker) -> Iterator[Gauge]:
    for name, slots, busy in worker.pools:
        label = {"pool": name}
        yield "rota_worker_slots", "How many handlers may run at once.", label, slots
        yield "rota_worker_slots_busy", "How many handlers run.", label, busy


def watching(
    registry: Registry, host: str, port: int
) -> Callable[[Worker, Backend], "asyncio.Task[None]"]:
    """Return what starts the endpoint of a worker, on its loop."""

    def start(worker: Worker, backend: Backend) -> "asyncio.Task[None]":
        async def run() -> None:
            try:
                await Endpoint(worker, backend, registry).run(host, port)
            except ConfigurationError as error:
                log.error("%s", error)
                worker.drain()

        return asyncio.create_task(run())

    return start
