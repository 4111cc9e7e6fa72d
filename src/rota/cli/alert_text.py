"""Alerts and their rules in words for the command line."""

from collections.abc import Sequence

from rota import alert_views
from rota.alerting import EACH, Alert, AlertRule
from rota.cli.options import Common
from rota.cli.output import Output
from rota.cli.share_text import Texts, changes, or_none
from rota.cli.text import relative, visible
from rota.clock import Micros
from rota.times import show_duration, show_instant

RULE: Texts = {
    "figure": lambda one: str(one.figure.value),
    "threshold": lambda one: f"{one.threshold:g}",
    "queue": lambda one: or_none(one.queue),
    "hold": lambda one: show_duration(one.hold),
    "clear": lambda one: f"{one.clear:g}",
    "enabled": lambda one: "on" if one.enabled else "off",
    "webhooks": lambda one: "all" if one.webhooks is None else ",".join(one.webhooks) or "none",
}


def tell_rule(before: AlertRule | None, after: AlertRule, common: Common) -> None:
    """Print what changed of a rule, or what a new one says."""
    output = Output(common)
    base = before or AlertRule(name=after.name, figure=after.figure, threshold=0.0)
    said = changes(base, after, RULE) or "as it was"
    if common.json:
        output.document(alert_views.rule(after))
    elif output.terminal:
        output.line(visible(f"{after.name}  {said} (version {after.version})"))
    else:
        output.fields([after.name, said, str(after.version)])


def rule_cells(rule: AlertRule, now: Micros) -> list[str]:
    """Return a rule as the cells of a line."""
    where = {None: "all", EACH: "each"}.get(rule.queue, rule.queue or "")
    silent = (rule.silenced_until or 0) > now
    return [
        rule.name,
        rule.figure.value,
        where,
        f"{rule.threshold:g}",
        show_duration(rule.hold),
        f"{rule.threshold * rule.clear:g}",
        RULE["webhooks"](rule),
        "off" if not rule.enabled else "silenced" if silent else "on",
    ]


def alert_cells(alert: Alert, now: Micros, *, people: bool) -> Sequence[str]:
    """Return an alert as the cells of a line; times as people say them, or exactly."""

    def when(at: Micros | None) -> str:
        if at is None:
            return ""
        return relative(at, now) if people else show_instant(at)

    return [
        alert.id,
        alert.state(now).value,
        alert.rule,
        "all" if alert.queue is None else alert.queue,
        f"{alert.value:g}",
        f"{alert.threshold:g}",
        when(alert.fired_at),
        when(alert.cleared_at),
    ]
