"""The values of alerts: rules as data, what they have found, and whom to tell (R4.5, R9.4).

Instants and durations are whole microseconds. A rule that nobody has changed has version 0: the
seven of R9.4 exist from the start, by the names of their figures.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from rota.config import DAY, MINUTE
from rota.figures import THRESHOLDS, Figure
from rota.model import Micros, NewTask

EACH: Final = "*"
"""As the queue of a rule: each queue is watched by itself."""
CLEAR: Final = 0.8
"""An alert ends below this part of its threshold, so that it does not come and go (R9.4)."""
HOLD: Final = MINUTE
KEEP_ALERTS: Final = 30 * DAY
ROTATION: Final = DAY
"""So long deliveries are signed with the secret before as well."""
FAILING_MOST: Final = DAY
"""An endpoint that has failed for so long is switched off."""

KIND: Final = "rota.webhook"
QUEUE: Final = "rota"
"""Deliveries are tasks of this kind and queue."""


class AlertRule(Struct, frozen=True, kw_only=True):
    """When a figure is too high, and who is to know.

    It is too high from `threshold` on; an alert fires when it has been so for `hold`, and is over
    when the figure is below `threshold * clear`. `queue` None watches all queues taken together,
    "*" each by itself. `webhooks` None tells all endpoints that are switched on.
    """

    name: str
    figure: Figure
    threshold: float
    queue: str | None = None
    hold: Micros = HOLD
    clear: float = CLEAR
    enabled: bool = True
    webhooks: tuple[str, ...] | None = None
    silenced_until: Micros | None = None
    version: int = 0


_AT_ONCE = (Figure.DEAD_LETTERS, Figure.SILENCE)

DEFAULT_RULES: Final[dict[str, AlertRule]] = {
    figure.value: AlertRule(
        name=figure.value,
        figure=figure,
        threshold=threshold,
        hold=0 if figure in _AT_ONCE else HOLD,
    )
    for figure, threshold in THRESHOLDS.items()
}
"""The seven of R9.4. One that is deleted is back at these; `enabled` switches it off."""


def with_defaults(stored: Iterable[AlertRule]) -> tuple[AlertRule, ...]:
    """Return all rules by name: those that are stored, and of the seven those that are not."""
    rules = DEFAULT_RULES | {rule.name: rule for rule in stored}
    return tuple(rules[name] for name in sorted(rules))


class AlertState(StrEnum):
    """What has become of an alert; `pending` is not long enough too high yet."""

    PENDING = "pending"
    FIRING = "firing"
    SILENCED = "silenced"
    CLEARED = "cleared"


class Alert(Struct, frozen=True, kw_only=True):
    """A figure that was too high since `since`; it fired at `fired_at`, and was told of then.

    There is at most one that is not cleared for a rule and a queue.
    """

    id: str
    rule: str
    figure: Figure
    queue: str | None
    value: float
    threshold: float
    since: Micros
    fired_at: Micros | None = None
    told_at: Micros | None = None
    cleared_at: Micros | None = None
    silenced_until: Micros | None = None
    version: int = 0

    def state(self, now: Micros) -> AlertState:
        """Return what has become of it."""
        if self.cleared_at is not None:
            return AlertState.CLEARED
        if self.fired_at is None:
            return AlertState.PENDING
        return AlertState.SILENCED if (self.silenced_until or 0) > now else AlertState.FIRING


class AlertFilter(Struct, frozen=True, kw_only=True):
    """Which alerts; what is None does not narrow. Those that never fired are never shown."""

    rule: str | None = None
    queue: str | None = None
    over: bool | None = None


class Shape(StrEnum):
    """In which words an endpoint is told: events as JSON, or a text as Slack takes it."""

    JSON = "json"
    SLACK = "slack"


class Webhook(Struct, frozen=True, kw_only=True):
    """An endpoint that is told of alerts; its secrets are kept apart from this."""

    id: str
    url: str
    shape: Shape = Shape.JSON
    enabled: bool = True
    off_reason: str | None = None
    created_at: Micros
    last_success_at: Micros | None = None
    last_failure_at: Micros | None = None
    failure: str | None = None
    failing_since: Micros | None = None
    version: int = 0


class Signing(Struct, frozen=True):
    """With what the deliveries to an endpoint are signed: the secret, and until when the old one.

    Never shown to anybody: it stays between the store and whoever delivers (S5).
    """

    secret: str
    old_secret: str | None = None
    old_until: Micros | None = None

    def secrets(self, now: Micros) -> tuple[str, ...]:
        """Return all that count now, the newest first."""
        if self.old_secret is None or (self.old_until or 0) <= now:
            return (self.secret,)
        return (self.secret, self.old_secret)


class Attempted(Struct, frozen=True, kw_only=True):
    """What came of one attempt to deliver; `failure` None is success, `gone` that it was told so
    for good (410).
    """

    webhook: str
    at: Micros
    failure: str | None = None
    gone: bool = False


class Board(Struct, frozen=True):
    """All that the watching needs: the rules, the alerts that are not cleared, the endpoints."""

    rules: tuple[AlertRule, ...] = ()
    alerts: tuple[Alert, ...] = ()
    webhooks: tuple[Webhook, ...] = ()


class AlertMove(Struct, frozen=True, kw_only=True):
    """A change of one alert, guarded by the `version` that it was decided from; 0 is a new one.

    The `tasks` that tell of it are stored with it or not at all. `gone`: it never fired, and is
    forgotten.
    """

    alert: Alert
    version: int = 0
    gone: bool = False
    tasks: tuple[NewTask, ...] = ()
