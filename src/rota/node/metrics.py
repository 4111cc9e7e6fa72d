"""What a process has counted, in the format of Prometheus (R9.3).

Labels are bounded: of queues and kinds so many have names of their own, all others are `_other`;
ids, tenants and texts are never labels. All series that can be known begin at 0.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from rota.clock import Clock
from rota.config import SECOND
from rota.engine import Engine
from rota.figures import PLACES, RUNS, Line, Measure
from rota.logs import troubles
from rota.node.class_metrics import by_class
from rota.node.metric_shapes import OTHER, RUN_BOUNDS, Bounded, add_times
from rota.node.store_metrics import of_store
from rota.policy.histogram import BUCKETS
from rota.registry import Registry
from rota.zones import version as tz_version

MEDIA = CONTENT_TYPE_LATEST

OUTCOMES = (
    Measure.COMPLETED,
    Measure.FAILED,
    Measure.CANCELLED,
    Measure.RETRIED,
    Measure.SNOOZED,
    Measure.RELEASED,
)


Gauge = tuple[str, str, dict[str, str], float]
"""A name, what it means, labels with their values, and the number."""


class Process(Collector):
    """What the engines of a process have counted since it began."""

    def __init__(
        self, engines: Sequence[Engine], registry: Registry, queue: Bounded, *, version: str
    ) -> None:
        self._engines = engines
        self._registry = registry
        self._queue = queue
        self._version = version
        self._kind = Bounded(first=registry.names)

    def collect(self) -> Iterator[Metric]:
        """Yield everything, of one moment."""
        lines = self._lines()
        counted = [engine.measuring.classes for engine in self._engines]
        yield from by_class(counted, self._registry.queues, self._queue)
        yield from _counters(lines)
        yield _runs(lines)
        yield from of_store([engine.store.timings for engine in self._engines])
        yield from self._rest()

    def _lines(self) -> dict[Line, list[int]]:
        found: dict[Line, list[int]] = {}
        for declared in self._registry:
            found[self._queue(declared.queue), self._kind(declared.name)] = [0] * PLACES
        for engine in self._engines:
            for (queue, kind), counts in engine.measuring.totals.items():
                line = (self._queue(queue), self._kind(kind)) if queue else (queue, kind)
                known = found.setdefault(line, [0] * PLACES)
                for place, number in enumerate(counts):
                    known[place] += number
        return found

    def _rest(self) -> Iterator[Metric]:
        claims = CounterMetricFamily("rota_claims", "Claims by workers.", labels=["result"])
        for number, result in enumerate(("none", "some")):
            asked = sum(engine.measuring.claims[number] for engine in self._engines)
            claims.add_metric([result], asked)
        yield claims
        yield _troubles()
        engine = self._engines[0]
        yield GaugeMetricFamily(
            "rota_clock_offset_seconds",
            "How far this machine's clock is ahead of the store's.",
            value=engine.vitals.offset,
        )
        yield _tick(engine.clock, [one.vitals.tick_age() for one in self._engines])
        build = GaugeMetricFamily(
            "rota_build_info", "What runs here; always 1.", labels=["version", "store", "tzdata"]
        )
        build.add_metric([self._version, engine.store.traits.dialect, tz_version()], 1)
        yield build


class Gauges(Collector):
    """Numbers of the present moment, read when they are asked for."""

    def __init__(self, read: Callable[[], Iterable[Gauge]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """Yield them by name."""
        families: dict[str, GaugeMetricFamily] = {}
        for name, text, labels, value in self._read():
            family = families.get(name)
            if family is None:
                family = families[name] = GaugeMetricFamily(name, text, labels=list(labels))
            family.add_metric(list(labels.values()), value)
        yield from families.values()


def exposition(*collectors: Collector) -> Callable[[], bytes]:
    """Return what writes down all that some collectors have to say."""
    registry = CollectorRegistry(auto_describe=False)
    for collector in collectors:
        registry.register(collector)
    return lambda: generate_latest(registry)


def _counters(lines: dict[Line, list[int]]) -> Iterator[Metric]:
    started = CounterMetricFamily(
        "rota_tasks_started", "Hand-outs of tasks to workers.", labels=["queue", "kind"]
    )
    for line, counts in lines.items():
        if line[0]:
            started.add_metric(line, counts[Measure.STARTED])
    yield started
    ended = CounterMetricFamily(
        "rota_tasks_finished", "Hand-outs by how they ended.", labels=["queue", "kind", "outcome"]
    )
    for line, counts in lines.items():
        for measure in OUTCOMES if line[0] else ():
            ended.add_metric([*line, measure.name.lower()], counts[measure])
    yield ended
    for name, text, measure in (
        ("rota_stale_reports", "Reports under an old fence: refused.", Measure.STALE),
        ("rota_leases_lost", "Tasks that were taken back from lost workers.", Measure.LOST),
        ("rota_tasks_expired", "Tasks that nobody started in time.", Measure.EXPIRED),
    ):
        family = CounterMetricFamily(name, text, labels=["queue"])
        for queue, counts in by_queue(lines).items():
            if queue or counts[measure]:
                family.add_metric([queue or OTHER], counts[measure])
        yield family


def _runs(lines: dict[Line, list[int]]) -> Metric:
    runs = HistogramMetricFamily(
        "rota_task_run_seconds", "How long handlers ran.", labels=["queue", "kind"]
    )
    for line, counts in lines.items():
        if line[0]:
            add_times(runs, line, counts[RUNS : RUNS + BUCKETS], counts[Measure.RAN], RUN_BOUNDS)
    return runs


def by_queue(lines: dict[Line, list[int]]) -> dict[str, list[int]]:
    """Return what was counted, by queue."""
    found: dict[str, list[int]] = {}
    for (queue, _), counts in lines.items():
        sums = found.setdefault(queue, [0] * PLACES)
        for place, number in enumerate(counts):
            sums[place] += number
    return found


def _troubles() -> Metric:
    family = CounterMetricFamily(
        "rota_log_records", "Warnings and errors in the log.", labels=["logger", "level"]
    )
    for (logger, level), number in sorted(troubles.counts.items()):
        family.add_metric([logger, level], number)
    return family


def _tick(clock: Clock, ages: Iterable[float | None]) -> Metric:
    family = GaugeMetricFamily(
        "rota_scheduler_last_tick_timestamp_seconds", "When duties were last done."
    )
    known = [age for age in ages if age is not None]
    if known:
        family.add_metric([], clock.now() / SECOND - min(known))
    return family
