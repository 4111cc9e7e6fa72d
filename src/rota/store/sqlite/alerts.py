"""What the store keeps of alert rules, alerts and webhooks: see `rota.store.alerts`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import apsw
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
from rota.store.sqlfiles import blocks
from rota.store.sqlite import accept
from rota.store.sqlite.verbs import Verbs

_SQL = blocks("sqlite")


class AlertsVerbs(Verbs):
    """The verbs of `rota.store.alerts`."""

    async def take_alert_turn(self, now: Micros, apart: Micros) -> bool:
        return await self._changes("take_alert_turn", {"now": now, "apart": apart})

    async def board(self) -> Board:
        return await self._read.do(_board)

    async def put_alert_rule(self, rule: AlertRule, version: int) -> bool:
        return await self._changes("put_alert_rule", alert_rows.rule_columns(rule, version))

    async def drop_alert_rule(self, name: str, version: int | None) -> bool:
        return await self._changes("drop_alert_rule", {"name": name, "old_version": version})

    async def move_alerts(self, moves: Sequence[AlertMove], now: Micros) -> list[bool]:
        return await self._write.do(lambda line: [_move(line, move, now) for move in moves])

    async def find_alerts(
        self, where: AlertFilter, *, before_id: str | None, limit: int
    ) -> list[Alert]:
        given = structs.asdict(where) | {"before": before_id, "limit": limit}
        rows = await self._read.do(partial(_rows, block="find_alerts", given=given))
        return [alert_rows.alert_of(row) for row in rows]

    async def get_alert(self, alert_id: str) -> Alert | None:
        rows = await self._read.do(partial(_rows, block="get_alert", given={"id": alert_id}))
        return alert_rows.alert_of(rows[0]) if rows else None

    async def forget_alerts(self, before: Micros, limit: int) -> int:
        given = {"before": before, "limit": limit}
        return await self._write.do(partial(_change, block="forget_alerts", given=given))

    async def put_webhook(self, webhook: Webhook, version: int, secret: str | None) -> bool:
        block = "add_webhook" if version == 0 else "change_webhook"
        return await self._changes(block, alert_rows.webhook_columns(webhook, version, secret))

    async def rotate_webhook(self, webhook_id: str, secret: str, old_until: Micros) -> bool:
        given = {"id": webhook_id, "secret": secret, "old_until": old_until}
        return await self._changes("rotate_webhook", given)

    async def drop_webhook(self, webhook_id: str) -> bool:
        return await self._changes("drop_webhook", {"id": webhook_id})

    async def signing(self, webhook_id: str) -> Signing | None:
        rows = await self._read.do(partial(_rows, block="signing", given={"id": webhook_id}))
        return Signing(*rows[0]) if rows else None

    async def attempted(self, what: Attempted, failing_before: Micros) -> bool:
        return await self._write.do(partial(_attempted, what=what, failing_before=failing_before))

    async def _changes(self, block: str, given: dict[str, Any]) -> bool:
        return await self._write.do(partial(_change, block=block, given=given)) > 0


def _rows(connection: apsw.Connection, block: str, given: dict[str, Any]) -> list[Any]:
    return list(connection.execute(_SQL[block], given))


def _change(connection: apsw.Connection, block: str, given: dict[str, Any]) -> int:
    connection.execute(_SQL[block], given)
    return connection.changes()


def _board(connection: apsw.Connection) -> Board:
    return Board(
        tuple(alert_rows.rule_of(row) for row in connection.execute(_SQL["alert_rules"])),
        tuple(alert_rows.alert_of(row) for row in connection.execute(_SQL["open_alerts"])),
        tuple(alert_rows.webhook_of(row) for row in connection.execute(_SQL["webhooks"])),
    )


def _move(connection: apsw.Connection, move: AlertMove, now: Micros) -> bool:
    block = "add_alert" if move.version == 0 else "drop_alert" if move.gone else "change_alert"
    applied = _change(connection, block, alert_rows.alert_columns(move)) > 0
    if applied and move.tasks:
        accept.submit(connection, move.tasks, now)
    return applied


def _attempted(connection: apsw.Connection, what: Attempted, failing_before: Micros) -> bool:
    given = {"id": what.webhook, "at": what.at}
    if what.failure is None:
        connection.execute(_SQL["delivered"], given)
        return False
    connection.execute(_SQL["not_delivered"], given | {"failure": alert_rows.failure(what)})
    reason = alert_rows.GONE if what.gone else alert_rows.FAILED
    off = {"id": what.webhook, "gone": what.gone, "failing_before": failing_before}
    return _change(connection, "switch_off", off | {"reason": reason}) > 0
