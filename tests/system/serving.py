"""Servers as real processes, and calls to them over the network."""

import json
import os
import signal
import subprocess
import sys
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from pathlib import Path
from ssl import SSLContext
from typing import Any, NamedTuple

import psutil

from rota.contrib.embedded import free_port
from tests.system.harness import PATIENCE, ROOT, wait_until


class Told(NamedTuple):
    """What a server answered; status 0 if it was not there."""

    status: int
    json: Any
    headers: HTTPMessage | dict[str, str]


class ServerProcess:
    """`rota server` in a process of its own, with its log in a file."""

    def __init__(self, store: str, log: Path, *options: str) -> None:
        given = options.index("--port") + 1 if "--port" in options else None
        self.port = free_port() if given is None else int(options[given])
        self.log = log
        command = [sys.executable, "-m", "rota", "server", "--url", store, "--any-kind"]
        command += options if given else ["--port", str(self.port), *options]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=os.environ | {"NO_COLOR": "1"},
            )  # fmt: skip
        self.pid = self._process.pid

    def listens(self) -> "ServerProcess":
        """Wait until it answers anything, and return it."""
        wait_until(
            lambda: self.ended is not None or self.ask("GET", "/healthz").status, what="listening"
        )
        assert self.ended is None, self.text
        return self

    @property
    def text(self) -> str:
        """What it has written so far."""
        return self.log.read_text(errors="replace")

    @property
    def ended(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._process.poll()

    def children(self) -> list[psutil.Process]:
        """Return the servers below it, if it is a supervisor."""
        found: list[psutil.Process] = psutil.Process(self.pid).children()
        return found

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str = "",
        trust: SSLContext | None = None,
    ) -> Told:
        """Send one request on a connection of its own."""
        address = ("127.0.0.1", self.port)
        line = HTTPConnection(*address, timeout=20)
        if trust is not None:
            line = HTTPSConnection(*address, timeout=20, context=trust)
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        data = None if body is None else json.dumps(body).encode()
        try:
            line.request(method, path, data, headers)
            answer = line.getresponse()
            return Told(answer.status, json.loads(answer.read() or b"null"), answer.headers)
        except (OSError, HTTPException):
            return Told(0, None, {})
        finally:
            line.close()

    def tell(self, number: int = signal.SIGTERM) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def end(self, seconds: float = PATIENCE) -> int:
        """Stop it in good order and return its exit code."""
        if self.ended is None:
            self.tell()
        try:
            return self._process.wait(seconds)
        finally:
            if self.ended is None:
                self._process.kill()
                self._process.wait()
