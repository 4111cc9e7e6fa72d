"""How long the verbs of the store took a process, and their errors, as metrics (R9.3)."""

from collections.abc import Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from rota.node.metric_shapes import add_buckets
from rota.store.timing import BOUNDS, FAULTS, Timings


def of_store(timings: Sequence[Timings]) -> Iterator[Metric]:
    """Yield the times of the verbs that were used, and the errors of each kind."""
    sums: dict[str, list[float]] = {}
    for one in timings:
        for verb, times in one.verbs.items():
            known = sums.get(verb)
            sums[verb] = (
                list(times) if known is None else [a + b for a, b in zip(known, times, strict=True)]
            )
    took = HistogramMetricFamily(
        "rota_store_statement_duration_seconds",
        "How long the store took for a verb, waiting for its turn included.",
        labels=["verb"],
    )
    for verb in sorted(sums):
        add_buckets(took, [verb], sums[verb][:-1], sums[verb][-1], BOUNDS)
    yield took
    failed = CounterMetricFamily(
        "rota_store_errors", "Verbs of the store that failed.", labels=["error"]
    )
    for kind in FAULTS:
        failed.add_metric([kind], sum(one.errors[kind] for one in timings))
    yield failed
