"""`rota alerts list | rules | set | delete | silence | test`: what is watched and was found."""

from typing import Annotated, Any

from cyclopts import Parameter

from rota import alert_views
from rota.alert_options import check_rule
from rota.alerting import AlertRule
from rota.app import Rota
from rota.cli.alert_text import alert_cells, rule_cells, tell_rule
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, length, whole
from rota.cli.output import Output
from rota.cli.problems import Exit, UsageError
from rota.cli.shares import Held, tell_held
from rota.cli.webhook_test import tell_tests, try_each
from rota.clock import SystemClock
from rota.config import SECOND
from rota.errors import AlertNotFound
from rota.times import show_instant

ALERTS = ("ALERT", "STATE", "RULE", "QUEUE", "VALUE", "THRESHOLD", "FIRED", "OVER")
RULES = ("RULE", "FIGURE", "QUEUE", "FROM", "FOR", "OVER BELOW", "TELLS", "STATE")
NONE = "none"


def list_(
    *,
    rule: Annotated[str | None, Parameter(help="Only those of this rule.")] = None,
    queue: Annotated[str | None, Parameter(help="Only those of this queue.")] = None,
    open_: Annotated[
        bool, Parameter(name="--open", negative="", help="Only those that are not over.")
    ] = False,
    limit: Annotated[
        int, Parameter(help="How many.", converter=whole(1, 500), show_default=True)
    ] = 50,
    common: Common = COMMON,
) -> None:
    """List alerts that have fired, newest first.

    They are kept for 30 days after they are over.

    For instance:

        $ rota alerts list --open
        $ rota alerts list --rule queue_depth --json
    """
    with open_app(common, reads=True) as app:
        found = app.alerts.list(rule=rule, queue=queue, over=False if open_ else None, limit=limit)
    now = SystemClock().now()
    held = [
        Held(
            alert_views.alert(one, now),
            alert_cells(one, now, people=False),
            alert_cells(one, now, people=True),
        )
        for one in found
    ]
    tell_held(Output(common), ALERTS, held, "No alert has fired.", common)


def rules(*, common: Common = COMMON) -> None:
    """List the alert rules: the seven that Rota comes with, and your own.

    An alert fires when a figure has been at least so much for so long, and is over
    when it is well below.

    For instance:

        $ rota alerts rules
        $ rota alerts rules --json
    """
    with open_app(common, reads=True) as app:
        found = app.alerts.rules()
    now = SystemClock().now()
    held = [
        Held(alert_views.rule(one), rule_cells(one, now), rule_cells(one, now)) for one in found
    ]
    tell_held(Output(common), RULES, held, "There are no rules.", common)


def set_(
    name: Annotated[str, Parameter(name="NAME", help="The rule's name.")],
    /,
    *,
    figure: Annotated[
        str | None, Parameter(help="What it watches, for instance oldest_age.")
    ] = None,
    threshold: Annotated[
        float | None, Parameter(help="From where on it is too high: tasks, seconds, parts of one.")
    ] = None,
    queue: Annotated[
        str | None, Parameter(help='A queue, "*" for each by itself, or none for all together.')
    ] = None,
    hold: Annotated[str | None, Parameter(help="For how long, before it fires: 2m.")] = None,
    clear: Annotated[
        float | None, Parameter(help="It is over below this part of the threshold.")
    ] = None,
    on: Annotated[bool, Parameter(negative="", help="Switch it on.")] = False,
    off: Annotated[bool, Parameter(negative="", help="Switch it off.")] = False,
    webhook: Annotated[
        tuple[str, ...], Parameter(help="Whom it tells; all or none. May be repeated.")
    ] = (),
    common: Common = COMMON,
) -> None:
    """Change an alert rule, or make one; what is not given stays.

    A new one needs --figure and --threshold. Figures: queue_depth, oldest_age,
    error_rate, dead_letters, worker_saturation, run_p99, scheduler_silence.

    For instance:

        $ rota alerts set queue_depth --threshold 20000
        $ rota alerts set sms-late --figure oldest_age --queue sms --threshold 60
        $ rota alerts set run_p99 --off
    """
    if on and off:
        raise UsageError("--on and --off exclude each other")
    plain = {"figure": figure, "threshold": threshold, "clear": clear}
    typed = _typed(plain | {"enabled": on if on or off else None}, queue, hold, webhook)
    check_rule(typed)  # a mistake is told before any store is looked for
    with open_app(common, kinds=True) as app:
        before, after = _set(app, name, typed)
    tell_rule(before, after, common)


def _set(app: Rota, name: str, typed: dict[str, Any]) -> tuple[AlertRule | None, AlertRule]:
    """Change the rule or make it; return what it was, None if it is new, and what it is."""
    try:
        before = app.alerts.rule(name)
    except AlertNotFound:
        if not {"figure", "threshold"} <= typed.keys():
            raise
        return None, app.alerts.create_rule(name, **typed)
    return before, app.alerts.set_rule(name, **typed)


def _typed(
    plain: dict[str, Any],
    queue: str | None,
    hold: str | None,
    webhook: tuple[str, ...],
) -> dict[str, Any]:
    """Return what was typed, by the names of a rule's options."""
    typed = {option: value for option, value in plain.items() if value is not None}
    if hold is not None:
        typed["hold"] = length(hold, "--hold") / SECOND
    if queue is not None:
        typed["queue"] = None if queue == NONE else queue
    if webhook:
        typed["webhooks"] = None if webhook == ("all",) else [w for w in webhook if w != NONE]
    if not typed:
        raise UsageError("say what shall change. See: rota alerts set --help")
    return typed


def delete(
    names: Annotated[tuple[str, ...], Parameter(name="NAME", help="Names of rules.")],
    /,
    *,
    common: Common = COMMON,
) -> None:
    """Remove alert rules; one of the seven goes back to its defaults.

    Their open alerts end. To switch a rule off: rota alerts set NAME --off.

    For instance:

        $ rota alerts delete sms-late
    """
    output = Output(common)
    with open_app(common) as app:
        for name in names:
            app.alerts.delete_rule(name)
            output.fields([name, "deleted"])


def silence(
    names: Annotated[tuple[str, ...], Parameter(name="RULE|ALERT", help="Rules or alerts.")],
    /,
    *,
    for_: Annotated[str, Parameter(name="--for", help="For how long: 2h; 0 ends it.")],
    common: Common = COMMON,
) -> None:
    """Tell nobody of a rule's alerts, or of one alert, for a while.

    What still goes on then is told of then.

    For instance:

        $ rota alerts silence queue_depth --for 2h
        $ rota alerts silence queue_depth --for 0
    """
    seconds = length(for_, "--for") / SECOND
    output = Output(common)
    with open_app(common) as app:
        known = {rule.name for rule in app.alerts.rules()}
        for name in names:
            if name in known:
                until = app.alerts.silence_rule(name, seconds).silenced_until
            else:
                until = app.alerts.silence(name, seconds).silenced_until
            silent = "" if seconds == 0 or until is None else show_instant(until)
            output.fields([name, f"silenced until {silent}" if silent else "not silenced"])


def send_test(*, common: Common = COMMON) -> int:
    """Send a test message to every webhook that is on, and say what came of it.

    Exit 0 if all took it, 7 if some did, 1 if none.

    For instance:

        $ rota alerts test
    """
    with open_app(common) as app:
        ids = [one.id for one in app.webhooks.list() if one.enabled]
        if not ids:
            raise UsageError("no webhook is on; make one with: rota webhooks create URL")
        tried = try_each(app, ids)
    tell_tests(tried, common)
    taken = [one.delivered for one in tried]
    return Exit.DONE if all(taken) else Exit.PARTLY if any(taken) else Exit.FAILED
