"""A server's process has metrics on a port of its own: of several any may answer the shared one."""

import asyncio
import socket
from pathlib import Path

import msgspec
import pytest

from rota import Rota
from rota.cli.options import check_ports
from rota.cli.problems import UsageError
from rota.cli.server import own_port
from rota.clock import new_rng
from rota.contrib.embedded import free_port
from rota.errors import ConfigurationError
from rota.node.process import CHILD
from rota.server.run import Running
from rota.server.settings import ServerSettings, children
from tests.support.exposition import Exposed


async def _asked(port: int, path: str) -> tuple[bytes, bytes]:
    """Return the first line of an answer and its body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return head.partition(b"\r\n")[0], body


async def test_it_tells_that_it_listens_when_connections_are_let_in(tmp_path: Path) -> None:
    """R8.3: a balancer, or whoever reads the log, asks from then on; a port is taken before."""
    app = Rota(f"sqlite:///{tmp_path / 'rota.db'}")
    told = asyncio.Event()
    settings = ServerSettings(port=0, duties=False)
    running = Running(app, settings, rng=new_rng(1), on_listening=told.set)
    going = asyncio.ensure_future(running.run())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", running.port))
    async with asyncio.timeout(60):
        await told.wait()
        assert (await _asked(running.port, "/healthz"))[0] == b"HTTP/1.1 200 OK"
        running.stop()
        await going
    await asyncio.to_thread(app.close)


async def test_metrics_and_probes_of_a_server_need_no_key_on_its_own_port(tmp_path: Path) -> None:
    """R9.3: what the shared port says would be that of a process at random."""
    app = Rota(f"sqlite:///{tmp_path / 'rota.db'}")

    @app.task(queue="sms")
    def send() -> None: ...

    port = free_port()
    settings = ServerSettings(port=0, metrics_port=port, duties=False)
    running = Running(app, settings, rng=new_rng(1))
    listening = await running.own_port()
    assert listening is not None
    async with listening, asyncio.timeout(60):
        await running.server.place.engine.open()
        line, body = await _asked(port, "/metrics")
        assert line == b"HTTP/1.1 200 OK"
        found = Exposed(body.decode())
        assert found.faults == []
        assert {"rota_claims_total", "rota_store_tasks", "rota_http_in_flight"} <= {*found.types}
        assert (await _asked(port, "/healthz"))[1] == b'{"status":"ok"}'
        _, ready = await _asked(port, "/readyz")
        assert set(msgspec.json.decode(ready)["checks"]) == {
            "store", "scheduler_tick", "migrations", "clock",
        }  # fmt: skip
        assert (await _asked(port, "/v1/tasks"))[0].startswith(b"HTTP/1.1 404 ")
        other = Running(app, settings, rng=new_rng(2))
        with pytest.raises(ConfigurationError, match=f"port {port} for metrics"):
            await other.run()
    running.close()
    await running.server.stop()
    await asyncio.to_thread(app.close)


def test_each_of_several_processes_takes_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pitfall 24: the supervisor numbers its children."""
    settings = ServerSettings(metrics_port=9100, metrics_host="10.0.0.7")
    words = [*children(settings)]
    assert words[words.index("--metrics-port") + 1] == "9100"
    assert words[words.index("--metrics-host") + 1] == "10.0.0.7"
    found = []
    for number in range(3):
        monkeypatch.setenv(CHILD, str(number))
        found.append(own_port(settings).metrics_port)
    assert found == [9100, 9101, 9102]
    assert own_port(ServerSettings()).metrics_port == 0


def test_ports_that_there_are_not_are_refused() -> None:
    """A child must not find out again and again what can be said once."""
    check_ports(0, 100)
    check_ports(65_534, 2)
    with pytest.raises(UsageError, match="--metrics-port 65534 leaves no port for 3 processes"):
        check_ports(65_534, 3)
    with pytest.raises(ConfigurationError, match="--metrics-port must lie between"):
        ServerSettings(metrics_port=70_000)
