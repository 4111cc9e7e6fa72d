"""The part of the seam that is about alert rules, alerts and webhooks."""

from collections.abc import Sequence
from typing import Protocol

from rota.alerting import Alert, AlertFilter, AlertRule, Attempted, Signing, Webhook
from rota.model import Micros


class Alerts(Protocol):
    """What whoever stands before a store may ask of alert rules, alerts and webhooks.

    They are about all queues and tenants together: nothing here is for callers that are bound to
    some of them.
    """

    async def alert_rules(self) -> Sequence[AlertRule]:
        """Return all rules by name, also those of the seven that nobody has changed."""
        ...

    async def put_alert_rule(self, rule: AlertRule, version: int) -> bool:
        """Replace a rule that still has this version; 0 is one that nobody has stored yet."""
        ...

    async def drop_alert_rule(self, name: str, version: int | None = None) -> bool:
        """Remove a rule; one of the seven is back at its defaults."""
        ...

    async def find_alerts(
        self, where: AlertFilter, *, before_id: str | None, limit: int
    ) -> list[Alert]:
        """Return matching alerts that have fired, newest first."""
        ...

    async def silence_alert(self, alert_id: str, until: Micros) -> Alert | None:
        """Tell nobody of an alert until then; None if there is none that is not cleared."""
        ...

    async def webhooks(self) -> Sequence[Webhook]:
        """Return all endpoints, the oldest first."""
        ...

    async def put_webhook(self, webhook: Webhook, version: int, secret: str | None = None) -> bool:
        """Replace an endpoint that still has this version; a new one (0) has a secret."""
        ...

    async def rotate_webhook(self, webhook_id: str, secret: str) -> bool:
        """Give an endpoint a new secret; the present one counts as well for a day."""
        ...

    async def drop_webhook(self, webhook_id: str) -> bool:
        """Remove an endpoint."""
        ...

    async def signing(self, webhook_id: str) -> Signing | None:
        """Return the secrets of an endpoint, for those who deliver; never to be shown (S5)."""
        ...

    async def attempted(self, what: Attempted) -> bool:
        """Take note of an attempt to deliver; say whether it switched the endpoint off."""
        ...

    async def alert(self) -> int:
        """Look at the figures and carry out what follows; returns how many alerts changed.

        Of nodes that look at once each change is carried out, and told of, by one.
        """
        ...
