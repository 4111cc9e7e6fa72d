"""What becomes of alerts when figures are looked at: pending, firing, cleared (R9.4).

Alerts have memory in the store alone, so any node may look, and two that look at once decide the
same; whose change is carried out is the store's affair.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from rota.alerting import EACH, Alert, AlertRule, Board
from rota.figures import Reading
from rota.model import Micros

Place = tuple[str, str | None]
"""A rule and a queue: of each there is one alert at most that is not cleared."""


class Verdict(Struct, frozen=True, kw_only=True):
    """How an alert shall be now; `old` is how it was, None if there was none.

    `new` None forgets one that never fired. `tell` says whether people hear of it.
    """

    rule: AlertRule | None
    old: Alert | None
    new: Alert | None
    tell: bool = False


def judge(board: Board, readings: Sequence[Reading], now: Micros) -> list[Verdict]:
    """Return what changes, in the order of rules; the ids of new alerts are left to the caller."""
    known: dict[Place, Alert] = {(alert.rule, alert.queue): alert for alert in board.alerts}
    verdicts: list[Verdict] = []
    for rule in board.rules:
        for reading in _watched(rule, readings):
            old = known.pop((rule.name, reading.queue), None)
            new = _next(rule, reading, old, now)
            if new != old:
                verdicts.append(_verdict(rule, old, new))
    rules = {rule.name: rule for rule in board.rules}
    # Nobody watches these any more, or there is nothing left to measure.
    left = [_verdict(rules.get(old.rule), old, _over(old, now)) for old in known.values()]
    return verdicts + left


def _watched(rule: AlertRule, readings: Sequence[Reading]) -> Iterator[Reading]:
    if not rule.enabled:
        return
    for reading in readings:
        each = rule.queue == EACH and reading.queue is not None
        if reading.figure is rule.figure and (each or reading.queue == rule.queue):
            yield reading


def _next(rule: AlertRule, reading: Reading, old: Alert | None, now: Micros) -> Alert | None:
    value = 0.0 if reading.value is None else reading.value
    high = value >= rule.threshold
    if old is None:
        if not high:
            return None
        old = Alert(
            id="",
            rule=rule.name,
            figure=rule.figure,
            queue=reading.queue,
            value=value,
            threshold=rule.threshold,
            since=now,
        )
    if old.fired_at is None:
        # If the clock was set back it begins anew at the next look: else the hold would last until
        # the clock is there again.
        if not high or old.since > now:
            return None
        if now - old.since < rule.hold:
            return old
        old = structs.replace(old, fired_at=now, value=value, threshold=rule.threshold)
    elif not _still(rule, value):
        return _over(old, now)
    return _told(rule, old, now)


def _still(rule: AlertRule, value: float) -> bool:
    """Say whether an alert that fired goes on: it ends well below from where it began."""
    return value >= rule.threshold * rule.clear and value > 0


def _told(rule: AlertRule, alert: Alert, now: Micros) -> Alert:
    """Return the alert as told of, unless it has been or it is silenced; silence ends by itself."""
    silenced = max(alert.silenced_until or 0, rule.silenced_until or 0)
    if alert.told_at is not None or silenced > now:
        if silenced > (alert.silenced_until or 0) and silenced > now:
            return structs.replace(alert, silenced_until=silenced)
        return alert
    return structs.replace(alert, told_at=now)


def _over(old: Alert, now: Micros) -> Alert | None:
    return None if old.fired_at is None else structs.replace(old, cleared_at=now)


def _verdict(rule: AlertRule | None, old: Alert | None, new: Alert | None) -> Verdict:
    begins = new is not None and new.told_at is not None and (old is None or old.told_at is None)
    ends = new is not None and new.cleared_at is not None and new.told_at is not None
    return Verdict(rule=rule, old=old, new=new, tell=begins or ends)
