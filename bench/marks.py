"""When handlers began, as they wrote it down themselves, and how long that was after their due."""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.process import WorkerProcess

PATIENCE = 60.0
LOOK = 0.1


class Marks:
    """The file to which handlers write their number and the microsecond at which they began."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def waits(self, due: Mapping[int, int]) -> list[float]:
        """Wait until all of these have begun; return how many seconds after their due each did.

        Each must have begun once; an error says which did not.
        """
        until = time.monotonic() + PATIENCE
        while len(began := self._began(due)) < len(due):
            if time.monotonic() > until:
                raise RuntimeError(f"{len(due) - len(began)} tasks did not begin in {PATIENCE} s")
            time.sleep(LOOK)
        return [(at - due[number]) / 1e6 for number, at in began.items()]

    def _began(self, due: Mapping[int, int]) -> dict[int, int]:
        found: dict[int, int] = {}
        for line in self.file.read_text(encoding="ascii").splitlines(keepends=True):
            if not line.endswith("\n"):
                continue  # half written
            number, at = map(int, line.split())
            if number in due and number in found:
                raise RuntimeError(f"task {number} began twice")
            if number in due:
                found[number] = at
        return found


@contextmanager
def marking_worker(url: str) -> Iterator[Marks]:
    """Run a worker whose handlers tell when they began."""
    with tempfile.TemporaryDirectory(prefix="rota-bench-") as folder:
        marks = Marks(Path(folder) / "marks")
        with WorkerProcess(url, marks=marks.file):
            yield marks
