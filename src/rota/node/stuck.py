"""Runs that were given up and go on: they hold no slot, but there is a bound to them."""

import logging

from rota.node.run import Run

log = logging.getLogger("rota.worker")


class Stuck:
    """Counts them: with `most` of them the worker is full, for threads are not endless (R4.3)."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._runs: set[Run] = set()

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def full(self) -> bool:
        """Whether no more may be taken."""
        return len(self._runs) >= self._most

    def add(self, run: Run) -> None:
        """Take in a run that could not be ended."""
        self._runs.add(run)
        log.warning(
            "task %s (%s) cannot be ended; its slot is replaced and what it returns is dropped",
            run.claimed.id, run.kind.name,
        )  # fmt: skip
        if len(self._runs) == self._most:
            log.error(
                "%d handlers cannot be ended; this worker takes no more tasks until some of them "
                "end. Restart it, and give long plain functions executor='process'", self._most,
            )  # fmt: skip

    def remove(self, run: Run) -> None:
        """Take note that one has ended at last."""
        if run not in self._runs:
            return
        was_full = self.full
        self._runs.remove(run)
        log.info("task %s (%s), which was given up, has ended", run.claimed.id, run.kind.name)
        if was_full and not self.full:
            log.info("this worker takes tasks again")
