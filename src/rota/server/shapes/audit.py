"""The audit record as it is answered."""

from typing import Any

from msgspec import Struct

from rota.access import Outcome, Via


class Actor(Struct, frozen=True, kw_only=True):
    """Who changed something: the key's id and name, and by which way the change came."""

    key: str | None
    name: str
    via: Via


class AuditEntry(Struct, frozen=True, kw_only=True):
    """Who changed what, when and from where; `change` has [before, after], or after, by field."""

    id: str
    at: str
    actor: Actor
    tenant: str | None
    action: str
    target: str | None
    request_id: str | None
    address: str | None
    outcome: Outcome
    count: int
    change: dict[str, Any] | None
    reason: str | None


class AuditPage(Struct, frozen=True, kw_only=True):
    """A page of the audit record, the newest first."""

    items: list[AuditEntry]
    next: str | None
    as_of: str
