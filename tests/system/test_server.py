"""`rota server` as people run it: outages, stops, several processes, where it may listen."""

import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rota import Rota
from rota.contrib.embedded import EmbeddedPostgres
from rota.server.run import GRACE_SECONDS
from tests.system.harness import wait_until
from tests.system.serving import ServerProcess

TASK = {"kind": "note", "payload": {"n": 1}}
BACK_WITHIN = 5.0


@contextmanager
def serving(store: str, log: Path, *options: str) -> Iterator[ServerProcess]:
    server = ServerProcess(store, log, *options)
    try:
        yield server
    finally:
        server.end()


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The address of a store that has an admin's key: `key` is its text."""
    return f"sqlite:///{tmp_path / 'rota.db'}"


def made_key(store: str) -> str:
    with Rota(store) as app:
        return app.keys.create("admin", ["admin"]).text


def test_a_server_outlives_its_store_and_never_claims_success_without_it(tmp_path: Path) -> None:
    """R3.7: away at the start, and again later; good again within 5 s of its return."""
    with EmbeddedPostgres() as postgres:
        store = postgres.create_database("served")
        with Rota(store) as app:
            app.migrate()
        key = made_key(store)
        postgres.stop("immediate")
        with serving(store, tmp_path / "log") as server:
            server.listens()
            took = []
            for _ in range(2):
                told = server.ask("POST", "/v1/tasks", TASK, key=key)
                assert (told.status, told.headers["Retry-After"]) == (503, "2"), told
                assert told.json["code"] == "store_unavailable"
                assert "served" not in str(told.json)
                postgres.start()
                began = time.monotonic()
                wait_until(
                    lambda: server.ask("POST", "/v1/tasks", TASK, key=key).status == 201,
                    what="stored again",
                )
                took.append(time.monotonic() - began)
                postgres.stop("immediate")
            # It is the machine that may be late; whether the server is, shows both times.
            assert min(took) < BACK_WITHIN
            assert server.end() == 0


def test_a_stop_ends_streams_at_once_and_answers_what_is_under_way(
    store: str, tmp_path: Path
) -> None:
    key = made_key(store)
    with serving(store, tmp_path / "log") as server:
        server.listens()
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(
                b"GET /v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\n"
                b"authorization: Bearer " + key.encode() + b"\r\n\r\n"
            )
            assert b" 200 " in line.recv(1 << 16)
            began = time.monotonic()
            server.tell()
            while line.recv(1 << 16):
                pass
            assert time.monotonic() - began < GRACE_SECONDS / 2
        assert server.end() == 0
        assert time.monotonic() - began < GRACE_SECONDS
        assert "Traceback" not in server.text


def test_several_processes_share_one_port(store: str, tmp_path: Path) -> None:
    key = made_key(store)
    with serving(store, tmp_path / "log", "--processes", "2") as server:
        server.listens()
        wait_until(lambda: server.text.count("listens on") == 2, what="two servers")
        first, second = server.children()
        first.kill()
        tolds = [server.ask("POST", "/v1/tasks", TASK, key=key).status for _ in range(10)]
        first.wait()
        tolds += [server.ask("POST", "/v1/tasks", TASK, key=key).status for _ in range(10)]
        # Some may reach the one that dies; the other answers the rest.
        assert set(tolds) <= {0, 201}
        assert tolds.count(201) > 5
        wait_until(lambda: len(server.children()) == 2, what="another one")
        assert second in server.children()
        assert server.end() == 0
    with Rota(store) as app:
        assert sum(app.tasks.count().values()) >= tolds.count(201)


REFUSED = {
    "the network without TLS": (["--host", "0.0.0.0"], "--insecure-plain"),  # noqa: S104
    "the network without any key": (
        ["--host", "0.0.0.0", "--insecure-plain"],  # noqa: S104
        "rota keys create",
    ),
    "half of a certificate": (["--tls-cert", "x.pem"], "--tls-key"),
    "an address of somebody else": (["--host", "192.0.2.1", "--insecure-plain"], "--host"),
    "processes without a port": (["--processes", "2", "--port", "0"], "--port 0"),
}


@pytest.mark.parametrize(("options", "word"), REFUSED.values(), ids=REFUSED)
def test_where_it_may_not_listen_it_says_what_to_do(
    store: str, tmp_path: Path, options: list[str], word: str
) -> None:
    """S1, B182: one line, exit 2, and nobody is let in meanwhile."""
    server = ServerProcess(store, tmp_path / "log", *options)
    wait_until(lambda: server.ended is not None, what="refused")
    assert server.ended == 2, server.text
    assert word in server.text
    assert "Traceback" not in server.text


def test_a_port_that_is_taken_is_one_line(store: str, tmp_path: Path) -> None:
    made_key(store)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        server = ServerProcess(store, tmp_path / "log", "--port", port)
        wait_until(lambda: server.ended is not None, what="refused")
    assert server.ended == 2
    assert f"port {port}" in server.text


def test_without_a_key_it_answers_401_on_loopback_and_says_how_to_make_one(
    store: str, tmp_path: Path
) -> None:
    with serving(store, tmp_path / "log") as server:
        server.listens()
        assert server.ask("POST", "/v1/tasks", TASK).status == 401
        assert server.ask("GET", "/healthz").status == 200
        wait_until(lambda: "rota keys create" in server.text, what="advice")
        key = made_key(store)
        assert server.ask("POST", "/v1/tasks", TASK, key=key).status == 201


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate by openssl")
def test_it_speaks_tls(store: str, tmp_path: Path) -> None:
    key = made_key(store)
    cert, secret = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-keyout", secret, "-out", cert, "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    options = ["--tls-cert", cert, "--tls-key", secret]
    with serving(store, tmp_path / "log", *options) as server:
        trust = ssl.create_default_context(cafile=cert)
        wait_until(
            lambda: server.ask("POST", "/v1/tasks", TASK, key=key, trust=trust).status == 201,
            what="answered",
        )
        assert server.ask("POST", "/v1/tasks", TASK, key=key).status == 0
