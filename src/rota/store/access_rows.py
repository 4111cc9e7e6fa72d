"""Keys, log-ins and the audit record as the tables of both stores have them, and back."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from rota.access import AuditEntry, AuditFilter, Key, Login, Outcome, Role, Scope, Via
from rota.model import Micros

LAST_ID: Final = "g"
"""Sorts after every digit of an id."""

_encode = msgspec.json.Encoder().encode
_roles_in = msgspec.json.Decoder(tuple[Role, ...]).decode
_names_in = msgspec.json.Decoder(tuple[str, ...]).decode


def to_json(value: Any) -> str:
    """Return a value as one JSON text, to be bound as a parameter."""
    return _encode(value).decode()


def key_row(key: Key) -> dict[str, Any]:
    """Return a key as the values of its columns."""
    scope = key.scope
    return {
        "id": key.id,
        "name": key.name,
        "secret_hash": key.secret_hash,
        "roles": to_json(key.roles),
        "admin": Role.ADMIN in key.roles and not scope.bound,
        "tenant": scope.tenant,
        "queues": None if scope.queues is None else to_json(scope.queues),
        "payloads": scope.payloads,
        "created_at": key.created_at,
        "created_by": key.created_by,
        "expires_at": key.expires_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
    }


def key_of(row: Sequence[Any]) -> Key:
    """Return the key in a row of `find_key`."""
    id_, name, secret_hash, roles, tenant, queues, payloads, *rest = row
    created_at, created_by, expires_at, last_used_at, revoked_at = rest
    return Key(
        id=id_,
        name=name,
        secret_hash=bytes(secret_hash),
        roles=_roles_in(roles),
        scope=Scope(
            tenant=tenant,
            queues=None if queues is None else _names_in(queues),
            payloads=bool(payloads),
        ),
        created_at=created_at,
        created_by=created_by,
        expires_at=expires_at,
        last_used_at=last_used_at,
        revoked_at=revoked_at,
    )


def login_of(row: Sequence[Any]) -> Login:
    """Return the log-in in a row of `find_login`."""
    id_hash, key_id, created_at, seen_at, ends_at = row
    return Login(
        id_hash=bytes(id_hash),
        key_id=key_id,
        created_at=created_at,
        seen_at=seen_at,
        ends_at=ends_at,
    )


def used_keys(used: Mapping[str, Micros]) -> str:
    """Return when keys were used, as `touch_keys` takes it."""
    return to_json([{"id": id_, "at": at} for id_, at in sorted(used.items())])


def used_logins(used: Mapping[bytes, Micros]) -> str:
    """Return when log-ins were used, as `touch_logins` takes it."""
    return to_json([{"id": id_.hex(), "at": at} for id_, at in sorted(used.items())])


def filter_row(where: AuditFilter, before_id: str | None, limit: int) -> dict[str, Any]:
    """Return the parameters of `read_audit`."""
    return structs.asdict(where) | {"before_id": before_id or LAST_ID, "limit": limit}


def entry_of(row: Sequence[Any]) -> AuditEntry:
    """Return the entry in a row of `read_audit`."""
    values = dict(zip(AuditEntry.__struct_fields__, row, strict=True))
    return AuditEntry(**values | {"via": Via(values["via"]), "outcome": Outcome(values["outcome"])})
