"""Settings and limits in words for the command line, and what a change changed."""

from collections.abc import Callable, Mapping
from typing import Any

from rota.cli.problems import UsageError
from rota.cli.text import relative
from rota.clock import Micros
from rota.shares import KindSettings, Limit, LimitUse, QueueSettings, TenantSettings, Weights
from rota.times import show_duration, show_instant, show_rate

Pausable = QueueSettings | TenantSettings | KindSettings
Texts = Mapping[str, Callable[[Any], str]]
"""What is told of settings, by the names of their fields."""


def weights_text(weights: Weights) -> str:
    """Return weights the way they are typed.

    >>> weights_text(Weights())
    '50:30:15:5'
    """
    return f"{weights.critical}:{weights.high}:{weights.normal}:{weights.low}"


def or_none(value: object) -> str:
    """Return a value, or that there is none."""
    return "none" if value is None else str(value)


QUEUE: Texts = {
    "weights": lambda one: weights_text(one.weights),
    "aging": lambda one: show_duration(one.aging),
    "fair_by": lambda one: str(one.fair_by.value),
    "max_depth": lambda one: or_none(one.max_depth),
    "when_full": lambda one: str(one.when_full.value),
}
TENANT: Texts = {
    "weight": lambda one: str(one.weight),
    "max_depth": lambda one: or_none(one.max_depth),
}
LIMIT: Texts = {
    "max_running": lambda one: or_none(one.max_running),
    "rate": lambda one: "none" if one.rate is None else show_rate(one.rate),
    "burst": lambda one: or_none(one.burst),
}


def changes(before: Any, after: Any, texts: Texts) -> str:
    """Return what is different, from what to what.

    >>> changes(Limit(id="1"), Limit(id="1", rate=500.0, burst=50), LIMIT)
    'rate: none -> 500/s, burst: none -> 50'
    """
    told = ((name, text(before), text(after)) for name, text in texts.items())
    return ", ".join(f"{name}: {old} -> {new}" for name, old, new in told if old != new)


def status(settings: Pausable) -> str:
    """Return in a word whether tasks are started."""
    return "active" if settings.paused_at is None else "paused"


def since(settings: Pausable, now: Micros | None) -> str:
    """Return since when something is paused, as seen from now for people, and why."""
    if settings.paused_at is None:
        return ""
    at = settings.paused_at
    when = show_instant(at) if now is None else relative(at, now)
    return ": ".join(filter(None, (when, settings.pause_reason)))


def waiting_text(waiting: int, *, capped: bool) -> str:
    """Return how many wait.

    >>> waiting_text(10_000, capped=True)
    '10000+'
    """
    return f"{waiting}+" if capped else str(waiting)


def running_text(use: LimitUse) -> str:
    """Return how many tasks of a limit run, of how many."""
    most = use.limit.max_running
    return str(use.running) if most is None else f"{use.running} of {most}"


def tokens_text(use: LimitUse) -> str:
    """Return how many tasks may start at once now, of how many."""
    return "" if use.tokens is None else f"{use.tokens:.0f} of {use.limit.burst}"


def bounds_text(limit: Limit) -> str:
    """Return what a limit bounds.

    >>> bounds_text(Limit(id="1", max_running=200, rate=0.5, burst=5))
    '200 running, 30/m (burst 5)'
    """
    parts = [] if limit.max_running is None else [f"{limit.max_running} running"]
    if limit.rate is not None:
        parts.append(f"{show_rate(limit.rate)} (burst {limit.burst})")
    return ", ".join(parts)


def number_or_none(text: str, option: str) -> int | None:
    """Return the whole number that was typed, or None for `none`."""
    if text == "none":
        return None
    if not (text.isascii() and text.isdigit()):
        raise UsageError(f"{option}: must be a whole number or none, not {text!r}")
    return int(text)
