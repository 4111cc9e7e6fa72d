"""Settings and limits as the JSON that every outward face shows: command line, HTTP, dashboard.

As in `rota.views`: instants are text in UTC, durations are seconds, rates are tasks a second, and
every field is there.
"""

from typing import Any

import msgspec

from rota.shares import KindSettings, Limit, LimitUse, QueueSettings, TenantSettings
from rota.times import show_instant
from rota.views import seconds, when


def queue(settings: QueueSettings) -> dict[str, Any]:
    """Return how a queue is shared out."""
    return {
        "name": settings.name,
        **_pause(settings),
        "weights": msgspec.to_builtins(settings.weights),
        "aging": seconds(settings.aging),
        "fair_by": settings.fair_by.value,
        "max_depth": settings.max_depth,
        "when_full": settings.when_full.value,
        "version": settings.version,
    }


def tenant(settings: TenantSettings) -> dict[str, Any]:
    """Return a tenant's part."""
    return {
        "name": settings.name,
        **_pause(settings),
        "weight": settings.weight,
        "max_depth": settings.max_depth,
        "version": settings.version,
    }


def kind(settings: KindSettings) -> dict[str, Any]:
    """Return whether a kind is paused."""
    return {"name": settings.name, **_pause(settings), "version": settings.version}


def limit(bound: Limit) -> dict[str, Any]:
    """Return what a limit bounds, and for whom."""
    return {
        "id": bound.id,
        "queue": bound.queue,
        "tenant": bound.tenant,
        "max_running": bound.max_running,
        "rate": bound.rate,
        "burst": bound.burst,
        "version": bound.version,
    }


def limit_use(use: LimitUse) -> dict[str, Any]:
    """Return a limit and how much of it is in use; tokens only where there is a rate."""
    return limit(use.limit) | {
        "running": use.running,
        "tokens": None if use.tokens is None else round(use.tokens, 3),
        "as_of": show_instant(use.as_of),
    }


def _pause(settings: QueueSettings | TenantSettings | KindSettings) -> dict[str, Any]:
    return {
        "paused": settings.paused_at is not None,
        "paused_at": when(settings.paused_at),
        "pause_reason": settings.pause_reason,
    }
