"""A worker's own port: metrics and probes while it works (R9.3)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from rota import Rota
from rota.backend import Backend
from rota.clock import new_rng
from rota.engine import Engine
from rota.errors import ConfigurationError
from rota.node.endpoint import Endpoint, watching
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker


class Site:
    """A worker that works, and its port."""

    def __init__(self, folder: Path) -> None:
        self.app = Rota(f"sqlite:///{folder / 'rota.db'}")
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

        @self.app.task(queue="sms")
        async def send_result(student_id: int) -> None:
            self.begun.set()
            await self.go.wait()

        self.send_result = send_result
        self.backend: Backend = self.app.connect()
        self.worker = Worker(
            self.app.registry,
            self.backend,
            WorkerSettings(queues=("sms=5", "mail.*"), concurrency=7),
            rng=new_rng(1),
        )
        self.port = 0

    async def ask(self, path: str, method: str = "GET", raw: bytes | None = None) -> bytes:
        """Return a whole answer as it comes over the network."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(raw or f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer

    async def body(self, path: str) -> bytes:
        """Return what a path says."""
        return (await self.ask(path)).partition(b"\r\n\r\n")[2]


@asynccontextmanager
async def working(folder: Path) -> AsyncIterator[Site]:
    """Run a worker with a port of its own."""
    site = Site(folder)
    running = asyncio.create_task(site.worker.run())
    endpoint = Endpoint(site.worker, site.backend, site.app.registry)
    async with await endpoint.listen("127.0.0.1", 0) as server:
        site.port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(60):
            await site.worker.ready.wait()
            yield site
            site.go.set()
            site.worker.drain()
            await running
    await asyncio.to_thread(site.app.close)


async def test_a_worker_tells_what_it_does(tmp_path: Path) -> None:
    """R9.3: slots by pool, what it has counted, and how old its lease is."""
    async with working(tmp_path) as site:
        for n in range(3):
            await site.send_result.asubmit(n)
        await site.begun.wait()
        text = (await site.body("/metrics")).decode()
        samples = [s for f in text_string_to_metric_families(text) for s in f.samples]

        def value(name: str, **labels: str) -> float:
            (found,) = [s.value for s in samples if s.name == name and s.labels == labels]
            return found

        assert value("rota_worker_slots", pool="sms") == 5
        assert value("rota_worker_slots", pool="mail.*") == 7
        assert value("rota_worker_slots_busy", pool="sms") >= 1
        assert value("rota_tasks_started_total", queue="sms", kind="send_result") >= 1
        assert value("rota_heartbeat_age_seconds") >= 0
        assert value("rota_claims_total", result="some") >= 1


async def test_a_worker_is_ready_until_it_drains(tmp_path: Path) -> None:
    """R3.6, R9.3."""
    async with working(tmp_path) as site:
        assert await site.body("/healthz") == b'{"status":"ok"}'
        assert isinstance(site.backend, Engine)
        await site.backend.stage()
        assert (await site.ask("/readyz")).startswith(b"HTTP/1.1 200 OK\r\n")
        site.worker.drain()
        told = await site.ask("/readyz")
        assert told.startswith(b"HTTP/1.1 503 ")
        shown = msgspec.json.decode(told.partition(b"\r\n\r\n")[2])
        assert shown["status"] == "draining"
        assert (await site.ask("/healthz")).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("request_", "begins"),
    [
        (b"GET /secrets HTTP/1.1\r\n\r\n", b"HTTP/1.1 404 "),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 405 "),
        (b"HEAD /healthz HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 "),
        (b"GET /healthz?x=1 HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 "),
        (b"\x00\xff\xfe\r\n\r\n", b"HTTP/1.1 404 "),
        (b"GET /" + b"a" * 10_000 + b"\r\n\r\n", b""),
    ],
    ids=["unknown", "post", "head", "query", "noise", "endless"],
)
async def test_whatever_comes_is_answered_or_hung_up_on(
    tmp_path: Path, request_: bytes, begins: bytes
) -> None:
    """S8: a port without a key must not be one to lean on."""
    async with working(tmp_path) as site:
        try:
            answer = await site.ask("", raw=request_)
        except ConnectionResetError:
            answer = b""
        assert answer.startswith(begins)
        assert not begins or b"content-length: " in answer


async def test_a_port_that_is_taken_stops_the_worker_with_a_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker that nobody could watch is not what was asked for."""
    async with working(tmp_path) as site:
        endpoint = Endpoint(site.worker, site.backend, site.app.registry)
        with pytest.raises(ConfigurationError, match=f"port {site.port} for metrics"):
            await endpoint.listen("127.0.0.1", site.port)
        await watching(site.app.registry, "127.0.0.1", site.port)(site.worker, site.backend)
        assert "choose another --metrics-port" in caplog.text
        assert site.worker.draining
