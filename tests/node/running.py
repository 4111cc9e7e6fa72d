"""Slots with handlers of a test's own, and a few handlers."""

import asyncio
from collections.abc import Callable
from typing import Any

from rota.backend import Report
from rota.clock import new_rng
from rota.model import Claimed
from rota.node.notebook import Notebook
from rota.node.slots import Slots
from rota.registry import Kind, Registry
from tests.node.fakes import FakeBackend


class Running:
    """Slots with handlers of the test's own."""

    def __init__(self, concurrency: int = 10) -> None:
        self.backend = FakeBackend()
        self.clock = self.backend.clock
        self.registry = Registry()
        self.hooks = self.registry.hooks
        self.reports: list[Report] = []
        self.alone: list[Report] = []
        self._changed = asyncio.Event()
        self.slots = Slots(
            self.registry,
            concurrency,
            self.clock,
            report=self._report,
            report_alone=self._report_alone,
            freed=self._changed.set,
        )
        self.notebook = Notebook(
            self.backend,  # type: ignore[arg-type]
            "session",
            new_rng(1),
            refused=self.slots.refused,
        )
        self.slots.notebook = self.notebook

    def _report(self, report: Report) -> None:
        self.reports.append(report)
        self._changed.set()

    def _report_alone(self, report: Report) -> None:
        self.alone.append(report)
        self._changed.set()

    def handles(self, handler: Callable[..., Any], kind: str = "work", **options: Any) -> None:
        """Register a handler."""
        self.registry.add(Kind(kind, handler, **options))

    async def start(self, *tasks: Claimed) -> None:
        """Start tasks and let their handlers come to their first wait."""
        self.slots.offer(tasks)
        for _ in range(5):
            await asyncio.sleep(0)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for reports and freed slots until something is so."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    async def run(self, *tasks: Claimed) -> list[Report]:
        """Run tasks to their ends."""
        self.slots.offer(tasks)
        while self.slots.buffered:
            await self.slots.idle()
            await asyncio.sleep(0)
        await self.slots.idle()
        return self.reports


def raising(error: BaseException) -> Callable[..., Any]:
    """A handler that raises."""

    async def handler(n: int) -> None:
        raise error

    return handler
