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
from rota.figures import LATENESS, PLACES, RUNS, WAITS, Line, Measure
from rota.policy.histogram import BOUNDS, BUCKETS
from rota.registry import Registry
from rota.zones import version as tz_version

VALUES_MOST = 200
OTHER = "_other"

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


class Bounded:
    """Lets so many values of a label through, first come, and calls all others `_other`."""

    def __init__(self, most: int = VALUES_MOST, first: Iterable[str] = ()) -> None:
        self._most = most
        self._known: set[str] = set()
        for value in first:
            self(value)

    def __call__(self, value: str) -> str:
        """Return the value, or `_other`."""
        if value in self._known:
            return value
        if len(self._known) >= self._most:
            return OTHER
        self._known.add(value)
        return value


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
        yield from _counters(lines)
        yield from _histograms(lines)
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
    for name, text, measure in (
        ("submitted", "New tasks that were stored.", Measure.SUBMITTED),
        ("refused", "Tasks that were turned away under overload.", Measure.REFUSED),
        ("started", "Hand-outs of tasks to workers.", Measure.STARTED),
    ):
        family = CounterMetricFamily(f"rota_tasks_{name}", text, labels=["queue", "kind"])
        for line, counts in lines.items():
            if line[0]:
                family.add_metric(line, counts[measure])
        yield family
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


def _histograms(lines: dict[Line, list[int]]) -> Iterator[Metric]:
    queues = by_queue(lines)
    for name, text, start, total in (
        ("rota_task_wait_seconds", "From ready to handed out.", WAITS, Measure.WAITED),
        ("rota_task_lateness_seconds", "From its time to handed out.", LATENESS, Measure.LATE),
    ):
        family = HistogramMetricFamily(name, text, labels=["queue"])
        for queue, counts in queues.items():
            if queue:
                add_histogram(family, [queue], counts[start : start + BUCKETS], counts[total])
        yield family
    runs = HistogramMetricFamily(
        "rota_task_run_seconds", "How long handlers ran.", labels=["queue", "kind"]
    )
    for line, counts in lines.items():
        if line[0]:
            add_histogram(runs, line, counts[RUNS : RUNS + BUCKETS], counts[Measure.RAN])
    yield runs


def by_queue(lines: dict[Line, list[int]]) -> dict[str, list[int]]:
    """Return what was counted, by queue."""
    found: dict[str, list[int]] = {}
    for (queue, _), counts in lines.items():
        sums = found.setdefault(queue, [0] * PLACES)
        for place, number in enumerate(counts):
            sums[place] += number
    return found


def add_histogram(
    family: HistogramMetricFamily, labels: Sequence[str], counts: Sequence[int], micros: int
) -> None:
    """Add a histogram to a family: the buckets of Prometheus count all that is shorter as well."""
    buckets: list[tuple[str, float]] = []
    so_far = 0
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
        so_far += count
        buckets.append((bound, so_far))
    family.add_metric(list(labels), buckets, sum_value=micros / SECOND)


def _tick(clock: Clock, ages: Iterable[float | None]) -> Metric:
    family = GaugeMetricFamily(
        "rota_scheduler_last_tick_timestamp_seconds", "When duties were last done."
    )
    known = [age for age in ages if age is not None]
    if known:
        family.add_metric([], clock.now() / SECOND - min(known))
    return family
