"""Keys and the audit record as the JSON that every outward face shows.

As in `rota.views`: instants are text in UTC, and every field is there. Of a key's secret nothing is
shown, nor of its hash.
"""

from typing import Any

import msgspec

from rota.access import AuditEntry, Key
from rota.clock import Micros
from rota.times import show_instant
from rota.views import when


def key(one: Key, now: Micros) -> dict[str, Any]:
    """Return a key, and whether it opens anything at present."""
    return {
        "id": one.id,
        "name": one.name,
        "roles": [role.value for role in one.roles],
        "tenant": one.scope.tenant,
        "queues": None if one.scope.queues is None else list(one.scope.queues),
        "payloads": one.scope.payloads,
        "state": state(one, now),
        "created_at": show_instant(one.created_at),
        "created_by": one.created_by,
        "expires_at": when(one.expires_at),
        "last_used_at": when(one.last_used_at),
        "revoked_at": when(one.revoked_at),
    }


def state(one: Key, now: Micros) -> str:
    """Return whether a key is live, expired or revoked."""
    if one.revoked_at is not None:
        return "revoked"
    return "live" if one.live(now) else "expired"


def entry(one: AuditEntry) -> dict[str, Any]:
    """Return an entry of the audit record."""
    return {
        "id": one.id,
        "at": show_instant(one.at),
        "actor": {"key": one.key_id or None, "name": one.key_name, "via": one.via.value},
        "tenant": one.tenant,
        "action": one.action,
        "target": one.target,
        "request_id": one.request_id or None,
        "address": one.address or None,
        "outcome": one.outcome.value,
        "count": one.count,
        "change": None if one.change is None else msgspec.json.decode(one.change),
        "reason": one.reason,
    }
