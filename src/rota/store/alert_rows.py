"""Alert rules, alerts and endpoints as the tables of both stores have them, and back."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from rota.alerting import Alert, AlertMove, AlertRule, Attempted, Shape, Webhook
from rota.errors import StoreError
from rota.figures import Figure

GONE: Final = "it answered that it is gone (410)"
FAILED: Final = "its deliveries failed for a day"
FAILURE_CHARS: Final = 500

_encode = msgspec.json.Encoder().encode
_rule_in = msgspec.json.Decoder(AlertRule).decode


def rule_of(row: Iterable[Any]) -> AlertRule:
    """Return the rule in a row of `alert_rules`."""
    body, version = row
    try:
        return msgspec.structs.replace(_rule_in(body), version=version)
    except msgspec.ValidationError as error:
        problem = f"an alert rule is not known to this version of Rota: {error}"
        raise StoreError(problem) from error


def rule_columns(rule: AlertRule, version: int) -> dict[str, Any]:
    """Return the columns of a rule by name, and the version that it takes the place of."""
    return {"name": rule.name, "body": to_json(rule), "old_version": version}


def alert_of(row: Iterable[Any]) -> Alert:
    """Return the alert in a row."""
    values = dict(zip(Alert.__struct_fields__, row, strict=True))
    return Alert(**values | {"figure": Figure(values["figure"])})


def alert_columns(move: AlertMove) -> dict[str, Any]:
    """Return the columns of an alert by name, and the version that it takes the place of."""
    values = msgspec.structs.asdict(move.alert)
    return values | {"figure": move.alert.figure.value, "old_version": move.version}


def webhook_of(row: Iterable[Any]) -> Webhook:
    """Return the endpoint in a row of `webhooks`."""
    values = dict(zip(Webhook.__struct_fields__, row, strict=True))
    return Webhook(**values | {"shape": Shape(values["shape"]), "enabled": bool(values["enabled"])})


def webhook_columns(webhook: Webhook, version: int, secret: str | None) -> dict[str, Any]:
    """Return what is stored of an endpoint that is told, not measured."""
    given = {
        "id": webhook.id,
        "url": webhook.url,
        "shape": webhook.shape.value,
        "enabled": webhook.enabled,
        "off_reason": webhook.off_reason,
        "secret": secret,
    }
    if version == 0:
        return given | {"created_at": webhook.created_at}
    return given | {"old_version": version}


def failure(what: Attempted) -> str:
    """Return why an attempt failed, no longer than it is kept."""
    return (what.failure or "")[:FAILURE_CHARS]


def to_json(value: Any) -> str:
    """Return a value as JSON text."""
    return _encode(value).decode()
