"""The server that is measured, in a process of its own, with keys to call it with."""

import os
import signal
import socket
import subprocess
import sys
import time
from types import TracebackType
from typing import Self

import psutil

from bench.app import bench_app
from bench.process import ROOT, START_SECONDS

LOOK = 0.05


class ServerProcess:
    """One server on a store, from listening to leaving; `url` is where it is called."""

    def __init__(self, store: str, keys: int = 1) -> None:
        self._store = store
        self._keys = keys
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.tokens: list[str] = []
        self.worker_token = ""

    def __enter__(self) -> Self:
        with bench_app(self._store).app as app:
            made = (app.keys.create(f"bench-{n}", ["admin"]) for n in range(self._keys))
            self.tokens = [one.text for one in made]
            self.worker_token = app.keys.create("worker", ["worker", "admin"]).text
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "bench.http_server", self._store, str(port)]
        self._process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)})
        until = time.monotonic() + START_SECONDS
        while not _listens(port):
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the server did not start; see its log above")
            time.sleep(LOOK)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def memory(self) -> float:
        """How much memory it takes, in megabytes."""
        return float(self._watched.memory_info().rss) / 1024 / 1024

    @property
    def processor_seconds(self) -> float:
        """How much processor time it has taken so far."""
        times = self._watched.cpu_times()
        return float(times.user + times.system)

    @property
    def _watched(self) -> psutil.Process:
        if self._process is None:
            raise RuntimeError("the server has not been started")
        return psutil.Process(self._process.pid)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
