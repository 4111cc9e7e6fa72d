"""The demo's worker processes: two real ones, of which one is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import rota
from rota.config import SECOND, URL_VARIABLE
from rota.demo.app import DIRECTORY_VARIABLE, QUEUE_VARIABLE
from rota.errors import RotaError
from rota.model import Micros
from rota.node.process import SUPERVISED

COUNT = 2
CONCURRENCY = 8
STOP_SECONDS = 10.0


class WorkerLost(RotaError):
    """A worker of the demo ended although nobody had told it to."""


class Workers:
    """Runs `rota worker` as two processes for as long as a `with` block lasts."""

    def __init__(self, url: str, queue: str, directory: Path, lease: Micros) -> None:
        self._directory = directory
        self._lease = lease
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._environment = os.environ | {
            URL_VARIABLE: url,
            DIRECTORY_VARIABLE: str(directory),
            QUEUE_VARIABLE: queue,
            SUPERVISED: "1",  # stop when this process is gone, however it went
            "PYTHONPATH": os.pathsep.join(_import_path()),
        }

    def __enter__(self) -> Self:
        try:
            for number in range(1, COUNT + 1):
                process = self._start(number)
                self._processes[process.pid] = process
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        options = {
            "--name": f"demo-{number}",
            "--concurrency": str(CONCURRENCY),
            "--lease": f"{self._lease / SECOND}s",
        }
        words = [word for option in options.items() for word in option]
        with self._log(number).open("wb") as log:
            # A session of its own: Ctrl-C at the terminal is for this process alone.
            return subprocess.Popen(
                [sys.executable, "-m", "rota", "worker", "rota.demo.app:app", *words],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._directory,
                env=self._environment,
                start_new_session=True,
            )

    def kill(self, pid: int) -> None:
        """End a worker with SIGKILL: it gets no chance to say or save anything."""
        process = self._processes.pop(pid)
        process.kill()
        _wait(process)

    def check(self) -> None:
        """Raise `WorkerLost` with what it said last if a worker has ended by itself."""
        for process in self._processes.values():
            if process.poll() is not None:
                said = "\n".join(self._log(n + 1).read_text("utf-8") for n in range(COUNT))
                raise WorkerLost(
                    f"a worker ended with exit code {process.returncode}; it said: {said[-2000:]}"
                )

    def _log(self, number: int) -> Path:
        return self._directory / f"worker-{number}.log"

    def _stop(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            _wait(process)
        self._processes.clear()


def _wait(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _import_path() -> list[str]:
    # They run in another folder; a relative path would lead them astray.
    return [str(Path(rota.__file__).resolve().parents[1]), *filter(None, map(_absolute, sys.path))]


def _absolute(path: str) -> str:
    return str(Path(path).resolve()) if path else ""
