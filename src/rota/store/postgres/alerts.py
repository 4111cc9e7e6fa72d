"""What the store keeps of alert rules, alerts and webhooks: see `rota.store.alerts`."""

from collections.abc import Sequence

from msgspec import structs

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
from rota.store import alert_rows
from rota.store.postgres.connections import Role
from rota.store.postgres.statements import Connection, fetch, fetch_value
from rota.store.postgres.verbs import Verbs


class AlertsVerbs(Verbs):
    """The verbs of `rota.store.alerts`."""

    async def take_alert_turn(self, now: Micros, apart: Micros) -> bool:
        return await self._execute(Role.DUTY, "take_alert_turn", now=now, apart=apart) > 0

    async def board(self) -> Board:
        return await self._do(Role.DUTY, _board)

    async def put_alert_rule(self, rule: AlertRule, version: int) -> bool:
        given = alert_rows.rule_columns(rule, version)
        return bool(await self._fetch(Role.CALL, "put_alert_rule", **given))

    async def drop_alert_rule(self, name: str, version: int | None) -> bool:
        given = {"name": name, "old_version": version}
        return await self._execute(Role.CALL, "drop_alert_rule", **given) > 0

    async def move_alerts(self, moves: Sequence[AlertMove], now: Micros) -> list[bool]:
        return await self._do(Role.FIRE, _move, moves, now)

    async def find_alerts(
        self, where: AlertFilter, *, before_id: str | None, limit: int
    ) -> list[Alert]:
        given = structs.asdict(where) | {"before": before_id, "limit": limit}
        rows = await self._fetch(Role.READ, "find_alerts", **given)
        return [alert_rows.alert_of(row) for row in rows]

    async def get_alert(self, alert_id: str) -> Alert | None:
        rows = await self._fetch(Role.READ, "get_alert", id=alert_id)
        return alert_rows.alert_of(rows[0]) if rows else None

    async def forget_alerts(self, before: Micros, limit: int) -> int:
        return await self._execute(Role.DUTY, "forget_alerts", before=before, limit=limit)

    async def put_webhook(self, webhook: Webhook, version: int, secret: str | None) -> bool:
        given = alert_rows.webhook_columns(webhook, version, secret)
        block = "add_webhook" if version == 0 else "change_webhook"
        return await self._execute(Role.CALL, block, **given) > 0

    async def rotate_webhook(self, webhook_id: str, secret: str, old_until: Micros) -> bool:
        given = {"id": webhook_id, "secret": secret, "old_until": old_until}
        return await self._execute(Role.CALL, "rotate_webhook", **given) > 0

    async def drop_webhook(self, webhook_id: str) -> bool:
        return await self._execute(Role.CALL, "drop_webhook", id=webhook_id) > 0

    async def signing(self, webhook_id: str) -> Signing | None:
        rows = await self._fetch(Role.CALL, "signing", id=webhook_id)
        return Signing(*rows[0]) if rows else None

    async def attempted(self, what: Attempted, failing_before: Micros) -> bool:
        given = {"id": what.webhook, "at": what.at}
        if what.failure is None:
            await self._execute(Role.CALL, "delivered", **given)
            return False
        failure = alert_rows.failure(what)
        await self._execute(Role.CALL, "not_delivered", **given, failure=failure)
        off = {"id": what.webhook, "gone": what.gone, "failing_before": failing_before}
        reason = alert_rows.GONE if what.gone else alert_rows.FAILED
        return await self._execute(Role.CALL, "switch_off", **off, reason=reason) > 0


async def _board(connection: Connection) -> Board:
    return Board(
        tuple(alert_rows.rule_of(row) for row in await fetch(connection, "alert_rules")),
        tuple(alert_rows.alert_of(row) for row in await fetch(connection, "open_alerts")),
        tuple(alert_rows.webhook_of(row) for row in await fetch(connection, "webhooks")),
    )


async def _move(connection: Connection, moves: Sequence[AlertMove], now: Micros) -> list[bool]:
    """Carry out moves, each by one statement: what one holds locked is nobody's to wait for."""
    applied: list[bool] = []
    for move in moves:
        given = {
            "alert": alert_rows.to_json(structs.replace(move.alert, version=move.version + 1)),
            "old_version": move.version,
            "gone": move.gone,
            "tasks": alert_rows.to_json(move.tasks),
            "now": now,
        }
        applied.append(bool(await fetch_value(connection, "move_alert", **given)))
    return applied
