"""Each side runs in a process of its own, so that the driver's memory and work never count."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

import psutil

from bench.app import MARKS_VARIABLE

P = ParamSpec("P")
T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 60.0


def apart(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function of a module in a fresh process and return its value."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *args, **kwargs).result()


class WorkerProcess:
    """One worker in a process of its own, from entering to leaving.

    `marks` is a file for the times at which handlers begin; with `traced` the worker counts the
    statements that it runs on SQLite, which costs it some time.
    """

    def __init__(
        self,
        url: str,
        *,
        marks: Path | None = None,
        traced: bool = False,
        concurrency: int | None = None,
    ) -> None:
        self._url = url
        self._marks = marks
        self._traced = traced
        self._concurrency = concurrency
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "bench.worker", self._url]
        if self._traced:
            command.append("--traced")
        if self._concurrency is not None:
            command += ["--concurrency", str(self._concurrency)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        if self._marks is None:
            self._process = _popen(command, environment)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            marks = os.open(self._marks, flags, 0o600)
            environment[MARKS_VARIABLE] = str(marks)
            self._process = _popen(command, environment, marks)
            os.close(marks)
        self._expect("ready")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        process = self._running
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    @property
    def watched(self) -> psutil.Process:
        """The process, for a look at its memory and processor time."""
        return psutil.Process(self._running.pid)

    def drained(self, tasks: int) -> float:
        """Wait until it reported so many tasks; return its processor time a task, in seconds."""
        return float(self._ask(f"drained {tasks}"))

    def statements(self) -> int:
        """Return how many statements it has run on SQLite so far."""
        return int(self._ask("statements"))

    def _ask(self, question: str) -> str:
        pipe = self._running.stdin
        if pipe is None:
            raise RuntimeError("the worker takes no questions")
        pipe.write(f"{question}\n")
        pipe.flush()
        return self._expect(question.partition(" ")[0])

    def _expect(self, word: str) -> str:
        pipe = self._running.stdout
        line = pipe.readline() if pipe is not None else ""
        said, _, rest = line.strip().partition(" ")
        if said != word:
            raise RuntimeError(f"the worker said {line!r} instead of {word!r}; see its log above")
        return rest

    @property
    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None:
            raise RuntimeError("the worker has not been started")
        return self._process


def _popen(command: list[str], environment: dict[str, str], *kept: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command,
        env=environment,
        pass_fds=kept,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
