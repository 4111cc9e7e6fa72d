"""Figures and statistics as the JSON that every outward face shows: HTTP, dashboard, scripts.

As in `rota.views`: instants are text in UTC, times are seconds, rates are tasks a second.
"""

from collections.abc import Sequence
from typing import Any

from rota.figures import THRESHOLDS, UNITS, Figure, Figures, Reading, Scale, Statistic
from rota.policy.histogram import BOUNDS, quantile
from rota.service import Service
from rota.times import show_instant

DIGITS = 6

COUNTS = (
    "submitted",
    "refused",
    "started",
    "completed",
    "failed",
    "cancelled",
    "retried",
    "snoozed",
    "released",
    "expired",
    "stale",
    "lost",
)


def figures(found: Figures, queues: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the seven figures, each with its threshold, of all and by queue.

    With `queues` only those are shown, and of all there is nothing to say.
    """
    return {
        "as_of": show_instant(found.as_of),
        "figures": [_figure(found, figure, queues) for figure in Figure],
    }


def _figure(found: Figures, figure: Figure, queues: Sequence[str] | None) -> dict[str, Any]:
    named = [
        {"queue": one.queue, "value": _number(one.value), "breached": breached(one)}
        for one in found.readings
        if one.figure is figure and one.queue is not None
        if queues is None or one.queue in queues
    ]
    whole = Reading(figure, None if queues is not None else found.value(figure))
    return {
        "figure": figure.value,
        "value": _number(whole.value),
        "threshold": THRESHOLDS[figure],
        "unit": UNITS[figure],
        "breached": breached(whole),
        "queues": named,
    }


def breached(reading: Reading) -> bool:
    """Say whether a figure is as high as it must not be, by the usual threshold (R9.4)."""
    return reading.value is not None and reading.value >= THRESHOLDS[reading.figure]


def statistic(one: Statistic, *, buckets: bool = False) -> dict[str, Any]:
    """Return what happened in a step."""
    return {
        "at": show_instant(one.at),
        "queue": one.queue,
        "kind": one.kind,
        **{name: getattr(one, name) for name in COUNTS},
        "wait": times(one.waits, one.waited, buckets=buckets),
        "lateness": times(one.lateness, one.late, buckets=buckets),
        "run": times(one.runs, one.ran, buckets=buckets),
    }


def service(one: Service) -> dict[str, Any]:
    """Return who got how much in a step."""
    return {
        "at": show_instant(one.at),
        "completed": one.completed,
        "ran_s": _number(one.ran),
        "tenants": [
            {
                "tenant": part.tenant,
                "completed": part.completed,
                "ran_s": _number(part.ran),
                "share": _number(part.share),
                "time_share": _number(part.time_share),
                "due": _number(part.due),
            }
            for part in one.parts
        ],
    }


def times(counts: Sequence[int], total: float, *, buckets: bool) -> dict[str, Any]:
    """Return what a histogram says: how many, their mean and quantiles, and the buckets."""
    number = sum(counts)
    return {
        "count": number,
        "mean_s": _number(total / number) if number else None,
        "p50_s": _number(quantile(counts, 0.5)),
        "p95_s": _number(quantile(counts, 0.95)),
        "p99_s": _number(quantile(counts, 0.99)),
        "buckets": list(counts) if buckets else None,
    }


def bounds() -> list[float]:
    """Return the upper bounds of the buckets in seconds; the last bucket has none."""
    return list(BOUNDS)


def scale(one: Scale) -> dict[str, Any]:
    """Return the signals of a queue, flat: autoscalers read one number by its path (R9.6)."""
    return {
        "paused": one.paused,
        "ready": one.ready,
        "oldest_ready_s": _number(one.oldest_ready),
        "running": one.running,
        "slots": one.slots,
        "utilisation": _number(one.utilisation),
        "in_per_s": _number(one.arriving),
        "out_per_s": _number(one.leaving),
        "error_ratio": _number(one.errors),
        "backlog_per_slot": _number(one.backlog_per_slot),
        "wanted_slots": one.wanted_slots,
    }


def _number(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
