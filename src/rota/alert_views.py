"""Alert rules, alerts and endpoints as the JSON that every outward face shows (R4.5).

As in `rota.views`: instants are text in UTC, durations are seconds, and every field is there. The
secrets of endpoints are no part of it (S5).
"""

from typing import Any

from rota.alerting import DEFAULT_RULES, Alert, AlertRule, Webhook
from rota.clock import Micros
from rota.times import show_instant
from rota.views import seconds, when


def rule(one: AlertRule) -> dict[str, Any]:
    """Return what a rule watches, and whom it tells."""
    return {
        "name": one.name,
        "figure": one.figure.value,
        "queue": one.queue,
        "threshold": one.threshold,
        "hold": seconds(one.hold),
        "clear": one.clear,
        "enabled": one.enabled,
        "webhooks": None if one.webhooks is None else list(one.webhooks),
        "silenced_until": when(one.silenced_until),
        "built_in": one.name in DEFAULT_RULES,
        "version": one.version,
    }


def alert(one: Alert, now: Micros) -> dict[str, Any]:
    """Return what was too high, since when, and what has become of it."""
    return {
        "id": one.id,
        "rule": one.rule,
        "figure": one.figure.value,
        "queue": one.queue,
        "state": one.state(now).value,
        "value": one.value,
        "threshold": one.threshold,
        "since": show_instant(one.since),
        "fired_at": when(one.fired_at),
        "told_at": when(one.told_at),
        "cleared_at": when(one.cleared_at),
        "silenced_until": when(one.silenced_until),
    }


def webhook(one: Webhook) -> dict[str, Any]:
    """Return an endpoint and how its deliveries went."""
    return {
        "id": one.id,
        "url": one.url,
        "shape": one.shape.value,
        "enabled": one.enabled,
        "off_reason": one.off_reason,
        "created_at": show_instant(one.created_at),
        "last_success_at": when(one.last_success_at),
        "last_failure_at": when(one.last_failure_at),
        "failure": one.failure,
        "failing_since": when(one.failing_since),
        "version": one.version,
    }
