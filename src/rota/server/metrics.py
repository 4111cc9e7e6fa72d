"""`/metrics`: what this server has counted, its calls, and how the store stands (R9.3)."""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.core import (
    CounterMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from rota import __version__
from rota.config import SECOND
from rota.engine import Engine
from rota.errors import StoreError
from rota.node.metric_shapes import Bounded, add_buckets
from rota.node.metrics import MEDIA, Gauge, Gauges, Process, exposition
from rota.policy.figures import Measured, readings
from rota.registry import Registry
from rota.server import gauges

CALL_BOUNDS: Final = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
)  # fmt: skip
PATIENCE: Final = 5.0
"""Prometheus gives up after ten seconds, unless told otherwise."""
STALE: Final = 30.0
"""What the store told longer ago than this is not shown any more."""
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Others are made up by whoever calls."""

log = logging.getLogger("rota.server")

__all__ = ["MEDIA", "Metrics"]


class Calls(Collector):
    """Calls by the path of their route, never by the path that was asked for."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int], int] = {}
        self._times: dict[str, list[float]] = {}

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a call."""
        key = (route, method if method in METHODS else "other", status // 100)
        self._counts[key] = self._counts.get(key, 0) + 1
        times = self._times.get(route)
        if times is None:
            times = self._times[route] = [0] * (len(CALL_BOUNDS) + 2)
        times[bisect_left(CALL_BOUNDS, seconds)] += 1
        times[-1] += seconds

    def collect(self) -> Iterator[Metric]:
        """Yield the calls."""
        total = CounterMetricFamily(
            "rota_http_requests", "Calls that were answered.", labels=["route", "method", "status"]
        )
        for (route, method, status), calls in sorted(self._counts.items()):
            total.add_metric([route, method, f"{status}xx"], calls)
        yield total
        took = HistogramMetricFamily(
            "rota_http_request_duration_seconds", "How long calls took.", labels=["route"]
        )
        for route, times in sorted(self._times.items()):
            add_buckets(took, [route], times[:-1], times[-1], CALL_BOUNDS)
        yield took


class Metrics:
    """The metrics of one server process; `engines` are all that count in it."""

    def __init__(self, engine: Engine, registry: Registry, held: gauges.Gauges) -> None:
        self.engines = [engine]
        self._gauges = held
        self._queue = Bounded(first=registry.queues)
        self._calls = Calls()
        self.in_flight = 0
        self.listeners = 0
        self._write = exposition(
            Process(self.engines, registry, self._queue, version=__version__),
            self._calls,
            Gauges(self._present),
        )

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Take note of a call that was answered, by its route's path."""
        self._calls.add(route, method, status, seconds)

    async def text(self) -> bytes:
        """Return everything in Prometheus' format; of the store what was read lately.

        A store that is away is told as such: what was counted here is worth the more then.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                await self._gauges.fresh()
        except (StoreError, TimeoutError) as error:
            log.debug("the store's figures are left out: %s", error)
        return self._write()

    def _present(self) -> Iterable[Gauge]:
        yield "rota_http_in_flight", "Calls that are under way.", {}, self.in_flight
        yield "rota_sse_listeners", "Streams of events that are open.", {}, self.listeners
        measured = self._gauges.measured if self._gauges.age <= STALE else None
        text = "Whether the store has told its figures lately."
        yield "rota_store_up", text, {}, float(measured is not None)
        if measured is not None:
            text = "Schedules that were to be fired by now, counted to 10,000."
            yield "rota_schedule_backlog", text, {}, self._gauges.behind
            yield from self._tasks(measured)
            yield from self._limits()
            yield from _figures(measured)

    def _tasks(self, measured: Measured) -> Iterable[Gauge]:
        running: dict[str, int] = {}
        for holding in measured.holdings:
            running[holding.queue] = running.get(holding.queue, 0) + holding.held
        text = "Tasks that lie in the store (ready: that wait, counted to 50,000 a queue)."
        for state, counts in (("ready", dict(measured.waiting)), ("running", running)):
            for queue, number in self._summed(measured, counts).items():
                yield "rota_store_tasks", text, {"queue": queue, "state": state}, number
        dead = self._summed(measured, dict(measured.dead_letters))
        for queue, number in dead.items():
            text = "Dead letters that are to be dealt with, counted to 10,000."
            yield "rota_store_dead_letters", text, {"queue": queue}, number
        for queue, since in self._oldest(measured).items():
            text = "Since when the oldest task waits that is ready."
            name = "rota_store_oldest_ready_timestamp_seconds"
            yield name, text, {"queue": queue}, since / SECOND

    def _summed(self, measured: Measured, counts: dict[str, int]) -> dict[str, int]:
        """Return counts by the label of their queue, 0 for each queue that is known."""
        found = {self._queue(queue): 0 for queue in measured.queues}
        for queue, number in counts.items():
            label = self._queue(queue)
            found[label] = found.get(label, 0) + number
        return found

    def _oldest(self, measured: Measured) -> dict[str, int]:
        found: dict[str, int] = {}
        for queue, since in measured.oldest.items():
            label = self._queue(queue)
            found[label] = min(found.get(label, since), since)
        return found

    def _limits(self) -> Iterable[Gauge]:
        for use in self._gauges.limits:
            label = {"limit": use.limit.queue or ""}
            text = "Tasks that run under a queue's limit."
            yield "rota_limit_running", text, label, use.running
            if use.limit.max_running is not None:
                text = "How many may run under a queue's limit."
                yield "rota_limit_max", text, label, use.limit.max_running


def _figures(measured: Measured) -> Iterable[Gauge]:
    for reading in readings(measured):
        if reading.queue is None and reading.value is not None:
            text = "The seven figures, of all queues together."
            yield "rota_figure", text, {"figure": reading.figure.value}, reading.value
