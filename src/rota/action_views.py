"""Actions as the JSON that every outward face shows."""

from typing import Any

import msgspec

from rota.actions import Action
from rota.times import show_instant
from rota.views import seconds, when


def action(one: Action) -> dict[str, Any]:
    """Return everything that is known of an action."""
    return {
        "id": one.id,
        "do": one.do.value,
        "on": one.on.value,
        "filter": one.asked,
        "set": changes(one),
        "deadline": seconds(one.deadline),
        "rate": one.rate,
        "reason": one.reason,
        "state": one.state.value,
        "dry_run": False,
        "as_of": show_instant(one.created_at),
        "created_by": one.created_by,
        "tenant": one.tenant,
        "queues": None if one.queues is None else list(one.queues),
        "matched": one.matched,
        "capped": one.capped,
        "sample": list(one.sample),
        "done": one.done,
        "changed": one.changed,
        "skipped": one.skipped,
        "error": one.error,
        "ended_at": when(one.ended_at),
    }


def changes(one: Action) -> dict[str, Any] | None:
    """Return what an amendment sets, as it was asked for; None for other actions."""
    found: dict[str, Any] = msgspec.to_builtins(one.set)
    if "run_at" in found:
        found["run_at"] = show_instant(found["run_at"])
    if "timeout" in found:
        found["timeout"] = seconds(found["timeout"])
    return found or None
