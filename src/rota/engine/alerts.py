"""The engine's verbs for alert rules, alerts and webhooks, and the watching of figures (R9.4)."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from rota.alerting import (
    FAILING_MOST,
    KEEP_ALERTS,
    KIND,
    QUEUE,
    ROTATION,
    Alert,
    AlertFilter,
    AlertMove,
    AlertRule,
    AlertState,
    Attempted,
    Board,
    Signing,
    Webhook,
    with_defaults,
)
from rota.clock import Clock, Ids, Rng
from rota.config import SECOND
from rota.engine.news import Topic
from rota.engine.newsroom import Newsroom
from rota.model import Micros, NewTask, rank_of
from rota.policy.alerting import Verdict, judge
from rota.store.base import Store
from rota.times import show_instant

if TYPE_CHECKING:
    from rota.figures import Figures

PRIORITY = 1
APART: Micros = 8 * SECOND
"""Of all nodes one looks, about this often."""
FORGET_EVERY = 3600.0
FORGET_BATCH = 1_000
SILENCE_TRIES = 5

log = logging.getLogger("rota.alerts")


class Alerts:
    """The verbs of `rota.seam.alerts`."""

    store: Store
    clock: Clock
    _ids: Ids
    _rng: Rng
    news: Newsroom
    _forgot_at: float | None = None

    if TYPE_CHECKING:

        async def figures(self) -> "Figures": ...

    # -- rules and alerts -----------------------------------------------------------------------

    async def alert_rules(self) -> Sequence[AlertRule]:
        return with_defaults((await self.store.board()).rules)

    async def put_alert_rule(self, rule: AlertRule, version: int) -> bool:
        return await self.store.put_alert_rule(rule, version)

    async def drop_alert_rule(self, name: str, version: int | None = None) -> bool:
        return await self.store.drop_alert_rule(name, version)

    async def find_alerts(
        self, where: AlertFilter, *, before_id: str | None, limit: int
    ) -> list[Alert]:
        return await self.store.find_alerts(where, before_id=before_id, limit=limit)

    async def silence_alert(self, alert_id: str, until: Micros) -> Alert | None:
        now = self.clock.now()
        for _ in range(SILENCE_TRIES):
            old = await self.store.get_alert(alert_id)
            if old is None or old.state(now) in (AlertState.PENDING, AlertState.CLEARED):
                return None
            new = structs.replace(old, silenced_until=until)
            (done,) = await self.store.move_alerts([AlertMove(alert=new, version=old.version)], now)
            if done:
                self.news.touched(Topic.ALERTS, [alert_id], "silenced")
                return structs.replace(new, version=old.version + 1)
        return None

    # -- endpoints ------------------------------------------------------------------------------

    async def webhooks(self) -> Sequence[Webhook]:
        return (await self.store.board()).webhooks

    async def put_webhook(self, webhook: Webhook, version: int, secret: str | None = None) -> bool:
        return await self.store.put_webhook(webhook, version, secret)

    async def rotate_webhook(self, webhook_id: str, secret: str) -> bool:
        until = self.clock.now() + ROTATION
        return await self.store.rotate_webhook(webhook_id, secret, until)

    async def drop_webhook(self, webhook_id: str) -> bool:
        return await self.store.drop_webhook(webhook_id)

    async def signing(self, webhook_id: str) -> Signing | None:
        return await self.store.signing(webhook_id)

    async def attempted(self, what: Attempted) -> bool:
        off = await self.store.attempted(what, what.at - FAILING_MOST)
        if off:
            log.warning("webhook %s is switched off: %s", what.webhook, what.failure)
        return off

    # -- the duty -------------------------------------------------------------------------------

    async def alert(self) -> int:
        # The figures cost a dozen statements: of many nodes one reads them at a time.
        if not await self.store.take_alert_turn(self.clock.now(), APART):
            return 0
        await self._forget()
        return await self.watch()

    async def watch(self) -> int:
        """Look at the figures, whoever else does, and carry out what follows."""
        readings = (await self.figures()).readings
        found = await self.store.board()
        board = structs.replace(found, rules=with_defaults(found.rules))
        now = self.clock.now()
        verdicts = judge(board, readings, now)
        moves = [self._move(verdict, board, now) for verdict in verdicts]
        applied = await self.store.move_alerts(moves, now) if moves else []
        for verdict, move, done in zip(verdicts, moves, applied, strict=True):
            if done:
                _tell(verdict, move.alert)
                self.news.touched(Topic.ALERTS, [move.alert.id], move.alert.state(now).value)
        if any(done and move.tasks for move, done in zip(moves, applied, strict=True)):
            await self.store.notify(0)
        return sum(applied)

    async def _forget(self) -> None:
        now = self.clock.monotonic()
        if self._forgot_at is None or now - self._forgot_at >= FORGET_EVERY:
            gone = await self.store.forget_alerts(self.clock.now() - KEEP_ALERTS, FORGET_BATCH)
            if gone < FORGET_BATCH:
                self._forgot_at = now

    def _move(self, verdict: Verdict, board: Board, now: Micros) -> AlertMove:
        old, new = verdict.old, verdict.new
        if new is None:
            assert old is not None
            return AlertMove(alert=old, version=old.version, gone=True)
        if old is None:
            new = structs.replace(new, id=self._ids.new(now))
        tasks = self._tasks(verdict, new, board, now) if verdict.tell else ()
        return AlertMove(alert=new, version=0 if old is None else old.version, tasks=tasks)

    def _tasks(
        self, verdict: Verdict, alert: Alert, board: Board, now: Micros
    ) -> tuple[NewTask, ...]:
        """Return the deliveries: one for each endpoint that is to know."""
        wanted = None if verdict.rule is None else verdict.rule.webhooks
        told = [w for w in board.webhooks if w.enabled and (wanted is None or w.id in wanted)]
        event = event_of(alert)
        made = zip(self._ids.many(now, len(told)), told, strict=True)
        return tuple(delivery(task_id, webhook.id, event, now) for task_id, webhook in made)


class Event(msgspec.Struct, frozen=True):
    """What endpoints are told: thin, and in the words of Standard Webhooks."""

    type: str
    timestamp: str
    data: dict[str, str | float | None]


def event_of(alert: Alert) -> Event:
    """Return what is told of an alert that has fired, or is over."""
    over = alert.cleared_at is not None
    at = alert.cleared_at if alert.cleared_at is not None else alert.fired_at
    return Event(
        "alert.cleared" if over else "alert.fired",
        show_instant(at or alert.since),
        {
            "alert": alert.id,
            "rule": alert.rule,
            "figure": alert.figure.value,
            "queue": alert.queue,
            "value": alert.value,
            "threshold": alert.threshold,
            "link": f"/alerts/{alert.id}",
        },
    )


def delivery(task_id: str, webhook_id: str, event: Event, now: Micros) -> NewTask:
    """Return the task that tells an endpoint of an event."""
    return NewTask(
        id=task_id,
        kind=KIND,
        payload=msgspec.json.encode({"webhook": webhook_id, "event": event}).decode(),
        queue=QUEUE,
        tenant="",
        priority=PRIORITY,
        run_at=now,
        rank=rank_of(now, PRIORITY),
        created_at=now,
    )


def _tell(verdict: Verdict, alert: Alert) -> None:
    """Write into the log what people want to know there too."""
    where = "all queues" if alert.queue is None else f"queue {alert.queue}"
    said = (alert.rule, alert.figure.value, where, alert.value, alert.threshold)
    if alert.cleared_at is not None:
        log.info("alert %s is over: %s of %s was %g, threshold %g", *said)
    elif alert.fired_at is not None and (verdict.old is None or verdict.old.fired_at is None):
        log.warning("alert %s: %s of %s is %g, threshold %g", *said)
