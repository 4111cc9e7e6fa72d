"""Alert rules, alerts and webhooks as they are answered."""

from typing import Literal

from msgspec import Struct

from rota.alerting import Shape
from rota.figures import Figure


class AlertRule(Struct, frozen=True, kw_only=True):
    """When a figure is too high, and whom that tells: `webhooks` null is all of them.

    `queue` null is all queues taken together, "*" each by itself. One of the seven that Rota comes
    with is `built_in`; version 0 is one that nobody has changed.
    """

    name: str
    figure: Figure
    queue: str | None
    threshold: float
    hold: float
    clear: float
    enabled: bool
    webhooks: list[str] | None
    silenced_until: str | None
    built_in: bool
    version: int


class AlertRules(Struct, frozen=True, kw_only=True):
    """All alert rules, by name."""

    items: list[AlertRule]
    next: str | None
    as_of: str


class Alert(Struct, frozen=True, kw_only=True):
    """A figure that was too high since `since`, for long enough at `fired_at`."""

    id: str
    rule: str
    figure: Figure
    queue: str | None
    state: Literal["firing", "silenced", "cleared"]
    value: float
    threshold: float
    since: str
    fired_at: str | None
    told_at: str | None
    cleared_at: str | None
    silenced_until: str | None


class AlertPage(Struct, frozen=True, kw_only=True):
    """A page of alerts, the newest first."""

    items: list[Alert]
    next: str | None
    as_of: str


class Webhook(Struct, frozen=True, kw_only=True):
    """An endpoint that is told of alerts, and how its deliveries went."""

    id: str
    url: str
    shape: Shape
    enabled: bool
    off_reason: str | None
    created_at: str
    last_success_at: str | None
    last_failure_at: str | None
    failure: str | None
    failing_since: str | None
    version: int


class WebhookSecret(Webhook, frozen=True, kw_only=True):
    """An endpoint with its new secret, which is shown this once."""

    secret: str


class WebhookPage(Struct, frozen=True, kw_only=True):
    """All webhooks, the oldest first."""

    items: list[Webhook]
    next: str | None
    as_of: str


class WebhookTest(Struct, frozen=True, kw_only=True):
    """What came of a test message: `status` null if there was no answer."""

    delivered: bool
    status: int | None
    failure: str | None
