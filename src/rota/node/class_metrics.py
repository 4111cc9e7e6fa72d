"""What processes have counted by class of priority and by source, as metrics (R9.3, R7.1)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from rota.engine.classes import OTHER as UNCOUNTED
from rota.engine.classes import REASONS, SOURCES, Classes, Times
from rota.model import PriorityClass
from rota.node.metric_shapes import CLAIM_BOUNDS, OTHER, WAIT_BOUNDS, Bounded, add_times

CLASSES = tuple(PriorityClass)


def by_class(counted: Sequence[Classes], queues: Iterable[str], queue: Bounded) -> Iterator[Metric]:
    """Yield what was submitted, refused and waited for, 0 for all that can be known."""
    known = [queue(name) for name in queues]
    yield _submitted(counted, known, queue)
    yield _refused(counted, known, queue)
    yield _waits(counted, known, queue)
    late = HistogramMetricFamily(
        "rota_task_lateness_seconds",
        "Of what was due later than it was made: from its time to handed out.",
        labels=["source"],
    )
    for source in SOURCES:
        times = _summed(one.late[source] for one in counted)
        add_times(late, [source], times.counts, times.micros, WAIT_BOUNDS)
    yield late
    took = HistogramMetricFamily("rota_claim_duration_seconds", "How long claims took.")
    times = _summed(one.claims for one in counted)
    add_times(took, [], times.counts, times.micros, CLAIM_BOUNDS)
    yield took


def _submitted(counted: Sequence[Classes], known: list[str], queue: Bounded) -> Metric:
    sums = Counter(dict.fromkeys(((name, cls) for name in known for cls in CLASSES), 0))
    for one in counted:
        for (name, cls), number in one.submitted.items():
            sums[_label(queue, name), cls] += number
    family = CounterMetricFamily(
        "rota_tasks_submitted", "New tasks that were stored.", labels=["queue", "class"]
    )
    for (name, cls), number in sums.items():
        family.add_metric([name, cls.name.lower()], number)
    return family


def _refused(counted: Sequence[Classes], known: list[str], queue: Bounded) -> Metric:
    # Critical tasks are never refused.
    sums: Counter[tuple[str, PriorityClass, str]] = Counter()
    for name in known:
        for cls in CLASSES[1:]:
            sums.update({(name, cls, reason): 0 for reason in REASONS})
    for one in counted:
        for (name, cls, reason), number in one.refused.items():
            sums[_label(queue, name), cls, reason] += number
    family = CounterMetricFamily(
        "rota_tasks_refused",
        "Tasks that were turned away under overload.",
        labels=["queue", "class", "reason"],
    )
    for (name, cls, reason), number in sums.items():
        family.add_metric([name, cls.name.lower(), reason], number)
    return family


def _waits(counted: Sequence[Classes], known: list[str], queue: Bounded) -> Metric:
    found: dict[tuple[str, PriorityClass], list[Times]] = {
        (name, cls): [] for name in known for cls in CLASSES
    }
    for one in counted:
        for (name, cls), times in one.waits.items():
            found.setdefault((_label(queue, name), cls), []).append(times)
    family = HistogramMetricFamily(
        "rota_task_wait_seconds", "From ready to handed out.", labels=["queue", "class"]
    )
    for (name, cls), several in found.items():
        sums = _summed(several)
        add_times(family, [name, cls.name.lower()], sums.counts, sums.micros, WAIT_BOUNDS)
    return family


def _label(queue: Bounded, name: str) -> str:
    return OTHER if name == UNCOUNTED else queue(name)


def _summed(several: Iterable[Times]) -> Times:
    found = Times()
    for one in several:
        found.micros += one.micros
        found.counts = [a + b for a, b in zip(found.counts, one.counts, strict=True)]
    return found
