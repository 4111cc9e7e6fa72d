"""The part of a store's contract that is about alert rules, alerts and webhooks."""

from collections.abc import Sequence
from typing import Protocol

from rota.alerting import (
    Alert,
    AlertFilter,
    AlertMove,
    AlertRule,
    Attempted,
    Board,
    Signing,
    Webhook,
)
from rota.model import Micros


class Alerts(Protocol):
    """Rules, alerts and endpoints are data, guarded by versions; policy says what becomes of them.

    Whatever races, there is one alert of a rule and queue that is not cleared, and each of its
    changes is carried out, and told of, once (R4.5, R9.4).
    """

    async def take_alert_turn(self, now: Micros, apart: Micros) -> bool:
        """Take the turn of looking at the figures; False if it was taken less than `apart` ago.

        It spares work and guards nothing: two that look at once do no harm.
        """
        ...

    async def board(self) -> Board:
        """Return the stored rules, the alerts that are not cleared, and the endpoints, as of now.

        The rules are those that somebody has changed or made.
        """
        ...

    async def put_alert_rule(self, rule: AlertRule, version: int) -> bool:
        """Store a rule in the place of the one with its name and this version (0: a new one)."""
        ...

    async def drop_alert_rule(self, name: str, version: int | None) -> bool:
        """Remove a rule, at this version if one is given; False if there is none."""
        ...

    async def move_alerts(self, moves: Sequence[AlertMove], now: Micros) -> list[bool]:
        """Carry out each move whose alert is as it expects; say for each whether it applied.

        The tasks that tell of it are stored in the same transaction, as by `submit`.
        """
        ...

    async def find_alerts(
        self, where: AlertFilter, *, before_id: str | None, limit: int
    ) -> list[Alert]:
        """Return matching alerts that have fired, newest first, with ids below `before_id`."""
        ...

    async def get_alert(self, alert_id: str) -> Alert | None:
        """Return an alert, or None."""
        ...

    async def forget_alerts(self, before: Micros, limit: int) -> int:
        """Drop at most `limit` alerts that were cleared before then; returns how many."""
        ...

    async def put_webhook(self, webhook: Webhook, version: int, secret: str | None) -> bool:
        """Store what an endpoint is in the place of the one with its id and this version.

        A new one (0) has a `secret`; else it stays unless one is given, and what became of
        deliveries stays in any case. Switching it on forgets for how long it has failed.
        """
        ...

    async def rotate_webhook(self, webhook_id: str, secret: str, old_until: Micros) -> bool:
        """Give an endpoint a new secret; the present one counts as well until then."""
        ...

    async def drop_webhook(self, webhook_id: str) -> bool:
        """Remove an endpoint; False if there is none."""
        ...

    async def signing(self, webhook_id: str) -> Signing | None:
        """Return with what deliveries to an endpoint are signed; None if there is none."""
        ...

    async def attempted(self, what: Attempted, failing_before: Micros) -> bool:
        """Take note of an attempt to deliver; say whether it switched the endpoint off.

        That happens when the endpoint is gone, or has failed since before `failing_before`.
        """
        ...
