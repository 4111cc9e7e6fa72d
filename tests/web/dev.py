"""`rota dev` with the school's app as a real process, and calls to it."""

import json
import os
import subprocess
import sys
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from rota.contrib.embedded import free_port
from tests.system.harness import PATIENCE, ROOT, wait_until

APP = "tests.web.school:app"


class Told(NamedTuple):
    """What the server answered; status 0 if it was not there."""

    status: int
    json: Any
    headers: dict[str, str]


class Dev:
    """A server and a worker on one SQLite file; ended and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = f"sqlite:///{folder / 'school.db'}"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def code(self) -> str:
        """The code of the newest link that it printed."""
        return str(self._lines()[-1]["code"])

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._log = self.folder / "dev.log"
        environ = {name: value for name, value in os.environ.items() if "ROTA_" not in name}
        with self._log.open("wb") as out, (self.folder / "dev.err").open("ab") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "rota", "dev", APP, "--url", self.store, "--json",
                 "--port", str(self.port), "--no-reload", "--log-format", "text"],
                cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environ,
            )  # fmt: skip
        self._process = process
        wait_until(lambda: self._lines() or process.poll() is not None, what="the ready link")
        assert process.poll() is None, (self.folder / "dev.err").read_text()
        self.port = int(str(self._lines()[-1]["url"]).rpartition(":")[2])
        wait_until(lambda: self.ask("GET", "/readyz").status == 200, what="being ready")

    def end(self) -> None:
        """End it and what it started."""
        if self._process is None or self._process.poll() is not None:
            return
        below = psutil.Process(self._process.pid).children(recursive=True)
        self._process.terminate()
        psutil.wait_procs(below, PATIENCE)
        for child in below:
            if child.is_running():
                child.kill()
        self._process.wait(PATIENCE)

    def ask(self, method: str, path: str, body: Any = None, *, key: str = "", **more: str) -> Told:
        """Send one request with a key, on a connection of its own; `more` are headers."""
        line = HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {"Content-Type": "application/json"}
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        try:
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            text = answer.read()
            packed = "json" in answer.headers.get("Content-Type", "")
            told = json.loads(text) if packed else text.decode()
            return Told(answer.status, told, dict(answer.headers.items()))
        except (OSError, HTTPException):
            return Told(0, None, {})
        finally:
            line.close()

    def log_in(self, **how: str) -> tuple[str, str]:
        """Log in by a key or a code and return the cookie's name and value."""
        line = HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {"Content-Type": "application/json", "Origin": self.url}
        line.request("POST", "/v1/login", json.dumps(how), headers)
        answer = line.getresponse()
        text = answer.read().decode()
        line.close()
        assert answer.status < 300, text
        name, _, value = answer.headers["Set-Cookie"].partition(";")[0].partition("=")
        return name, value

    def _lines(self) -> list[dict[str, Any]]:
        written = self._log.read_text().splitlines() if self._log.exists() else []
        return [json.loads(line) for line in written if line.startswith("{")]
