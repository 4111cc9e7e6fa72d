"""How capacity is shared out, as people write it: read, checked and named in errors (R7).

What is checked is merged into what is stored: only what is given changes.
"""

import re
from collections.abc import Mapping
from typing import Any, TypedDict

from msgspec import structs

from rota import config
from rota.checks import Checks, checked, one_of, optional, whole
from rota.errors import InvalidTask
from rota.options import check_concurrency, check_tenant
from rota.registry import check_name, did_you_mean
from rota.shares import FairBy, Limit, QueueSettings, WhenFull
from rota.times import Duration, Rate, duration, rate

CLASSES = ("critical", "high", "normal", "low")
_WEIGHTS = re.compile(r"(\d+):(\d+):(\d+):(\d+)", re.ASCII)


class QueueChanges(TypedDict, total=False):
    """What can be set of a queue; `max_depth` None takes the bound away.

    `weights` maps classes to whole numbers, and may leave some out; or it is "50:30:15:5".
    """

    weights: Mapping[str, int] | str
    aging: Duration
    fair_by: FairBy | str
    max_depth: int | None
    when_full: WhenFull | str


class TenantChanges(TypedDict, total=False):
    """What can be set of a tenant; `max_depth` None takes the bound away."""

    weight: int
    max_depth: int | None


class LimitChanges(TypedDict, total=False):
    """What can be set of a limit; None takes it away. A `rate` is per second, or "30/m"."""

    max_running: int | None
    rate: Rate | None
    burst: int | None


def check_queue(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked changes of a queue's settings; `InvalidTask` names what is wrong.

    >>> check_queue({"aging": "5m", "fair_by": "time"})["aging"]
    300000000
    """
    return checked(given, _QUEUE, "of queues")


def queue_with(old: QueueSettings, changes: Mapping[str, Any]) -> QueueSettings:
    """Return a queue's settings with checked changes; classes without a weight keep theirs."""
    merged = dict(changes)
    if "weights" in merged:
        merged["weights"] = structs.replace(old.weights, **merged["weights"])
    return structs.replace(old, **merged)


def check_tenant_changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked changes of a tenant's settings; `InvalidTask` names what is wrong."""
    return checked(given, _TENANT, "of tenants")


def check_limit(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked changes of a limit; `InvalidTask` names what is wrong."""
    return checked(given, _LIMIT, "of limits")


def limit_with(old: Limit, changes: Mapping[str, Any]) -> Limit:
    """Return a limit with checked changes; one that would bound nothing is refused.

    A burst that nobody sets is one second's worth of the rate, and follows the rate.
    """
    merged = {name: getattr(old, name) for name in _LIMIT} | dict(changes)
    if merged["rate"] is None:
        if changes.get("burst") is not None:
            raise InvalidTask("burst", "needs a rate: it is by how much that may be exceeded")
        merged["burst"] = None
    elif changes.get("burst") is None:
        usual = old.rate is None or old.burst == usual_burst(old.rate)
        if usual or "burst" in changes:
            merged["burst"] = usual_burst(merged["rate"])
    if merged["rate"] is None and merged["max_running"] is None:
        raise InvalidTask("max_running", "or a rate is needed: a limit without either does nothing")
    return structs.replace(old, **merged)


def usual_burst(per_second: float) -> int:
    """Return how many tokens gather unless a limit says so: one second's worth, at least 1.

    >>> usual_burst(500.0), usual_burst(0.5)
    (500, 1)
    """
    return max(1, int(per_second))


def check_scope(queue: object, tenant: object) -> tuple[str | None, str | None]:
    """Return what a limit holds for: a queue, a tenant, or a tenant in a queue."""
    if queue is None and tenant is None:
        raise InvalidTask("queue", "or a tenant, or both, must be given: what the limit is for")
    return (
        None if queue is None else check_name(queue, "queue"),
        None if tenant is None else check_tenant(tenant),
    )


_weight = whole(1, config.WEIGHT_MOST)


def _weights(value: object, field: str) -> dict[str, int]:
    if isinstance(value, str):
        found = _WEIGHTS.fullmatch(value.strip())
        if found is None:
            raise InvalidTask(
                field, f"{value!r:.80} must be four numbers from critical to low: 50:30:15:5"
            )
        value = dict(zip(CLASSES, map(int, found.groups()), strict=True))
    if not isinstance(value, Mapping):
        raise InvalidTask(
            field, f"must map classes to whole numbers or be text: 50:30:15:5, not {value!r:.80}"
        )
    for name in value:
        if name not in CLASSES:
            hint = did_you_mean(str(name), CLASSES) or f"; there are {', '.join(CLASSES)}"
            raise InvalidTask(f"{field}.{name}", f"is not a class{hint}")
    return {name: _weight(weight, f"{field}.{name}") for name, weight in value.items()}


def _max_running(value: object, field: str) -> int | None:
    if value == 0 and type(value) is int:
        raise InvalidTask(field, "must be at least 1; to start none at all, pause instead")
    return None if value is None else check_concurrency(value, field)


_depth = optional(whole(1, config.DEPTH_MOST))

_QUEUE: Checks = {
    "weights": _weights,
    "aging": duration,
    "fair_by": one_of(FairBy),
    "max_depth": _depth,
    "when_full": one_of(WhenFull),
}
_TENANT: Checks = {"weight": _weight, "max_depth": _depth}
_LIMIT: Checks = {
    "max_running": _max_running,
    "rate": optional(rate),
    "burst": optional(whole(1, config.BURST_MOST)),
}
