"""Alerts over HTTP: the rules that make them, what they found, and silence (R4.5, R9.4)."""

from msgspec import UNSET, UnsetType, field

from rota import alert_views
from rota.access import Role
from rota.alerting import CLEAR, HOLD, AlertRule
from rota.config import SECOND
from rota.server import etags
from rota.server.paging import Limit
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.shapes import alerts as shapes
from rota.times import show_instant

TAG = "alerts"
ORDER = "alerts"
USUAL = {"hold": HOLD / SECOND, "clear": CLEAR, "enabled": True}
"""What null stands for where there is a default."""


class AlertsQuery(In, frozen=True):
    """Which alerts to list, and where the page begins."""

    rule: str | None = None
    queue: str | None = None
    over: bool | None = None
    limit: Limit = 50
    cursor: str | None = None


class AlertRuleNew(In, frozen=True):
    """A rule to be made: no `queue` is all together, "*" each; no `webhooks` is all of them."""

    name: str
    figure: str
    threshold: float
    queue: str | None = None
    hold: float | str | None = None
    clear: float | None = None
    enabled: bool | None = None
    webhooks: list[str] | None = None


class AlertRuleChange(In, frozen=True):
    """What to change of a rule: what is absent stays, null is the default."""

    figure: str | UnsetType = UNSET
    threshold: float | UnsetType = UNSET
    queue: str | UnsetType | None = UNSET
    hold: float | str | UnsetType | None = UNSET
    clear: float | UnsetType | None = UNSET
    enabled: bool | UnsetType | None = UNSET
    webhooks: list[str] | UnsetType | None = UNSET


class Silence(In, frozen=True):
    """For how long nobody is told; 0 ends it."""

    length: float | str = field(name="for")


async def list_rules(call: Call) -> Answer:
    items = [alert_views.rule(one) for one in await call.faces.alerts.arules()]
    return Answer({"items": items, "next": None, "as_of": show_instant(call.place.clock.now())})


async def get_rule(call: Call) -> Answer:
    return _shown(await call.faces.alerts.arule(call.path["name"]))


async def create_rule(call: Call) -> Answer:
    body: AlertRuleNew = call.body
    said = {name: getattr(body, name) for name in body.__struct_fields__ if name != "name"}
    usual = {name: value for name, value in said.items() if value is not None}
    made = await call.faces.alerts.acreate_rule(body.name, **usual)
    headers = (("Location", f"/v1/alerts/rules/{made.name}"),)
    return etags.tagged(alert_views.rule(made), made.version, status=201, headers=headers)


async def update_rule(call: Call) -> Answer:
    name, changes = call.path["name"], etags.given(call.body, USUAL)
    alerts = call.faces.alerts
    changed = await etags.guarded(
        call,
        lambda at: alerts.aset_rule(name, version=at, **changes),
        lambda: _version(call),
    )
    return _shown(changed)


async def delete_rule(call: Call) -> Answer:
    name, alerts = call.path["name"], call.faces.alerts
    await etags.guarded(
        call, lambda at: alerts.adelete_rule(name, version=at), lambda: _version(call)
    )
    return Answer(status=204)


async def silence_rule(call: Call) -> Answer:
    rule = await call.faces.alerts.asilence_rule(call.path["name"], call.body.length)
    return _shown(rule)


async def list_alerts(call: Call) -> Answer:
    query: AlertsQuery = call.query
    about = [query.rule, query.queue, query.over]
    cursors, now = call.place.cursors, call.place.clock.now()
    before = None if query.cursor is None else await cursors.open(query.cursor, ORDER, about=about)
    found = await call.faces.alerts.alist(
        rule=query.rule,
        queue=query.queue,
        over=query.over,
        after=None if before is None else str(before[0]),
        limit=query.limit,
    )
    more = len(found) == query.limit  # a full page may be the last one: the next one is empty then
    return Answer(
        {
            "items": [alert_views.alert(one, now) for one in found],
            "next": await cursors.seal(ORDER, [found[-1].id], about=about) if more else None,
            "as_of": show_instant(now),
        }
    )


async def get_alert(call: Call) -> Answer:
    found = await call.faces.alerts.aget(call.path["id"])
    return Answer(alert_views.alert(found, call.place.clock.now()))


async def silence_alert(call: Call) -> Answer:
    found = await call.faces.alerts.asilence(call.path["id"], call.body.length)
    return Answer(alert_views.alert(found, call.place.clock.now()))


async def _version(call: Call) -> int:
    return (await call.faces.alerts.arule(call.path["name"])).version


def _shown(rule: AlertRule) -> Answer:
    return etags.tagged(alert_views.rule(rule), rule.version)


RULE = {"name": "sms-depth", "figure": "queue_depth", "queue": "sms", "threshold": 5000}

ROUTES = (
    Route(
        method="GET", path="/v1/alerts/rules", name="alert_rules_list",
        summary="List the alert rules by name; the seven of Rota's own are there from the start.",
        run=list_rules, roles=roles(Role.READ), tag=TAG, answers=shapes.AlertRules,
    ),
    Route(
        method="POST", path="/v1/alerts/rules", name="alert_rules_create",
        summary="Make a rule: which figure is too high from where on.", run=create_rule,
        roles=roles(Role.ADMIN), tag=TAG, takes=AlertRuleNew, answers=shapes.AlertRule, status=201,
        audit="alert_rule.create", codes=((409, "rule_exists"),), headers=("Location",),
        example=RULE,
    ),
    Route(
        method="GET", path="/v1/alerts/rules/{name}", name="alert_rules_get",
        summary="Show an alert rule.", run=get_rule, roles=roles(Role.READ), tag=TAG,
        answers=shapes.AlertRule,
    ),
    Route(
        method="PATCH", path="/v1/alerts/rules/{name}", name="alert_rules_update",
        summary="Change an alert rule.", run=update_rule, roles=roles(Role.ADMIN), tag=TAG,
        takes=AlertRuleChange, answers=shapes.AlertRule, audit="alert_rule.update",
        codes=etags.CODES, headers=etags.IF_MATCH, example={"threshold": 20000},
    ),
    Route(
        method="DELETE", path="/v1/alerts/rules/{name}", name="alert_rules_delete",
        summary="Remove an alert rule; one of the seven goes back to its defaults.",
        run=delete_rule, roles=roles(Role.ADMIN), tag=TAG, status=204, audit="alert_rule.delete",
        codes=etags.CODES, headers=etags.IF_MATCH,
    ),
    Route(
        method="POST", path="/v1/alerts/rules/{name}/silence", name="alert_rules_silence",
        summary="Tell nobody of a rule's alerts for a while.", run=silence_rule,
        roles=roles(Role.OPERATE), tag=TAG, takes=Silence, answers=shapes.AlertRule,
        audit="alert_rule.silence", example={"for": "2h"},
    ),
    Route(
        method="GET", path="/v1/alerts", name="alerts_list",
        summary="List alerts that have fired, newest first.", run=list_alerts,
        roles=roles(Role.READ), tag=TAG, query=AlertsQuery, answers=shapes.AlertPage,
    ),
    Route(
        method="GET", path="/v1/alerts/{id}", name="alerts_get",
        summary="Show an alert that has fired.", run=get_alert, roles=roles(Role.READ), tag=TAG,
        answers=shapes.Alert,
    ),
    Route(
        method="POST", path="/v1/alerts/{id}/silence", name="alerts_silence",
        summary="Tell nobody of an alert for a while.", run=silence_alert,
        roles=roles(Role.OPERATE), tag=TAG, takes=Silence, answers=shapes.Alert,
        audit="alert.silence", example={"for": "2h"},
    ),
)  # fmt: skip
