"""What handlers did, written down by every process in one file that any of them may outlive."""

import os
import time
from collections import Counter
from pathlib import Path

import msgspec
from msgspec import Struct

from rota.context import Context


class Event(Struct, frozen=True):
    """A handler started, ended, or was cancelled; `at` is monotonic and the same for all."""

    what: str
    n: int
    at: float
    pid: int
    task: str
    attempt: int
    fence: int


class Record:
    """An append-only file: one write a line, so that lines are whole whoever dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._released = path.with_suffix(".released")

    def add(self, what: str, ctx: Context, n: int) -> None:
        """Write down what a handler does now."""
        event = Event(what, n, time.monotonic(), os.getpid(), ctx.task_id, ctx.attempt, ctx.fence)
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, msgspec.json.encode(event) + b"\n")
        finally:
            os.close(file)

    def release(self) -> None:
        """Let the handlers end that burn time."""
        self._released.touch()

    @property
    def released(self) -> bool:
        """Say whether they may."""
        return self._released.exists()

    def events(self, what: str = "", n: int | None = None) -> list[Event]:
        """Return the events in the order in which they were written, all or of one sort."""
        text = self.path.read_bytes() if self.path.exists() else b""
        # A line that is being written at this moment may be seen in part.
        whole = text[: text.rfind(b"\n") + 1]
        lines = [msgspec.json.decode(line, type=Event) for line in whole.splitlines()]
        return [e for e in lines if what in ("", e.what) and n in (None, e.n)]

    def times(self, what: str) -> Counter[int]:
        """Return how often each number started or ended."""
        return Counter(event.n for event in self.events(what))

    def pid_of(self, n: int) -> int:
        """Return the process in which number `n` started last."""
        return self.events("start", n)[-1].pid
