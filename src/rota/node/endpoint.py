"""A worker's own port: metrics and probes of one worker (R9.3)."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prometheus_client.registry import Collector

from rota.backend import Backend
from rota.engine import Engine
from rota.errors import ConfigurationError
from rota.node.health import keep_looking, readiness
from rota.node.metric_shapes import Bounded
from rota.node.metrics import Gauge, Gauges, Process, exposition
from rota.node.small_port import SmallPort
from rota.node.worker import Worker
from rota.registry import Registry

log = logging.getLogger("rota.worker")


class Endpoint(SmallPort):
    """Answers probes and Prometheus for one worker, on the worker's event loop."""

    def __init__(self, worker: Worker, backend: Backend, registry: Registry) -> None:
        super().__init__(self._metrics, self._readiness)
        self._worker = worker
        self._engine = backend if isinstance(backend, Engine) else None
        collectors: list[Collector] = [Gauges(lambda: _gauges(worker))]
        if self._engine is not None:
            queue = Bounded(first=registry.queues)
            collectors.append(Process([self._engine], registry, queue, version=worker.version))
        self._write = exposition(*collectors)

    async def run(self, host: str, port: int) -> None:
        """Listen until cancelled; `ConfigurationError` if the port cannot be had."""
        server = await self.listen(host, port)
        async with server:
            log.info("metrics and probes on %s port %d", host, port)
            if self._engine is None:
                await asyncio.Event().wait()
            else:
                await keep_looking(self._engine)

    async def _metrics(self) -> bytes:
        return self._write()

    def _readiness(self) -> tuple[bool, dict[str, Any]]:
        if self._engine is not None:
            return readiness(
                self._engine.vitals,
                draining=self._worker.draining,
                needs_tick=self._worker.does_duties,
            )
        draining = self._worker.draining
        return not draining, {"status": "draining" if draining else "ready"}


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
