"""`rota webhooks create | list | set | rotate | delete | test`: who is told of alerts."""

from typing import Annotated, Any

from cyclopts import Parameter

from rota import alert_views
from rota.alert_options import check_webhook
from rota.alerting import Webhook
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.problems import Exit, UsageError
from rota.cli.shares import Held, tell_held
from rota.cli.text import relative
from rota.cli.webhook_test import tell_tests, try_each
from rota.clock import Micros, SystemClock
from rota.times import show_instant
from rota.webhooks import Secret

HEADINGS = ("WEBHOOK", "STATE", "SHAPE", "URL", "LAST TAKEN", "FAILING SINCE", "WHY")

Id = Annotated[str, Parameter(name="ID", help="The webhook's id.")]
Shaped = Annotated[str | None, Parameter(help="json (Standard Webhooks) or slack.")]
Private = Annotated[
    tuple[str, ...],
    Parameter(help="Call this host or network, which is no public one. May be repeated."),
]
Ports = Annotated[
    tuple[int, ...], Parameter(help="Call this port, besides 80 and 443. May be repeated.")
]


def create(
    url: Annotated[str, Parameter(name="URL", help="Where it is told.")],
    /,
    *,
    shape: Shaped = None,
    common: Common = COMMON,
) -> None:
    """Make a webhook, and print its secret: it is shown this once.

    Every delivery is signed with it, as Standard Webhooks says.

    For instance:

        $ rota webhooks create https://hooks.example/rota
        $ rota webhooks create https://hooks.slack.com/services/… --shape slack
    """
    check_webhook({"url": url} | ({} if shape is None else {"shape": shape}))
    with open_app(common, makes=True) as app:
        made = app.webhooks.create(url, shape=shape or "json")
    _tell_secret(made, common)


def list_(*, common: Common = COMMON) -> None:
    """List the webhooks, and how their deliveries went.

    For instance:

        $ rota webhooks list
        $ rota webhooks list --json
    """
    with open_app(common, reads=True) as app:
        found = app.webhooks.list()
    now = SystemClock().now()
    held = [Held(alert_views.webhook(one), _cells(one, None), _cells(one, now)) for one in found]
    tell_held(Output(common), HEADINGS, held, "There are no webhooks.", common)


def set_(
    webhook: Id,
    /,
    *,
    url: Annotated[str | None, Parameter(help="Where it is told.")] = None,
    shape: Shaped = None,
    on: Annotated[bool, Parameter(negative="", help="Switch it on.")] = False,
    off: Annotated[bool, Parameter(negative="", help="Switch it off.")] = False,
    common: Common = COMMON,
) -> None:
    """Change a webhook, or switch it on or off; what is not given stays.

    For instance:

        $ rota webhooks set 0193f2a1-… --on
    """
    given: dict[str, Any] = {"url": url, "shape": shape}
    typed = {option: value for option, value in given.items() if value is not None}
    if on and off:
        raise UsageError("--on and --off exclude each other")
    if on or off:
        typed["enabled"] = on
    if not typed:
        raise UsageError("say what shall change. See: rota webhooks set --help")
    check_webhook(typed)
    output = Output(common)
    with open_app(common) as app:
        after = app.webhooks.set(webhook, **typed)
    if common.json:
        output.document(alert_views.webhook(after))
    else:
        output.fields(_cells(after, None)[:4])


def rotate(webhook: Id, /, *, common: Common = COMMON) -> None:
    """Give a webhook a new secret and print it; for a day the old one counts too.

    For instance:

        $ rota webhooks rotate 0193f2a1-…
    """
    with open_app(common) as app:
        made = app.webhooks.rotate(webhook)
    _tell_secret(made, common)


def delete(
    webhooks: Annotated[tuple[str, ...], Parameter(name="ID", help="Ids of webhooks.")],
    /,
    *,
    common: Common = COMMON,
) -> None:
    """Remove webhooks; what is still to be delivered to them is dropped.

    For instance:

        $ rota webhooks delete 0193f2a1-…
    """
    output = Output(common)
    with open_app(common) as app:
        for webhook in webhooks:
            app.webhooks.delete(webhook)
            output.fields([webhook, "deleted"])


def send_test(
    webhook: Id,
    /,
    *,
    allow_private: Private = (),
    allow_port: Ports = (),
    common: Common = COMMON,
) -> int:
    """Send a webhook a test message at once and say what came of it.

    Through a server it is the server that sends it, and what that may call counts.
    Exit 0 if it was taken, else 1.

    For instance:

        $ rota webhooks test 0193f2a1-…
    """
    with open_app(common) as app:
        (tested,) = try_each(app, [webhook], allow_private, allow_port)
    if common.json:
        Output(common).document(tested)
    else:
        tell_tests([tested], common)
    return Exit.DONE if tested.delivered else Exit.FAILED


# -- what it looks like ---------------------------------------------------------------------------


def _tell_secret(made: Secret, common: Common) -> None:
    output = Output(common)
    if common.json:
        output.document(alert_views.webhook(made.webhook) | {"secret": made.secret})
        return
    output.fields([made.webhook.id, made.secret])
    output.hint("Keep the secret: it is not shown again. Try it: rota webhooks test ID")


def _cells(webhook: Webhook, now: Micros | None) -> list[str]:
    def when(at: Micros | None) -> str:
        if at is None:
            return ""
        return show_instant(at) if now is None else relative(at, now)

    return [
        webhook.id,
        "on" if webhook.enabled else "off",
        webhook.shape.value,
        webhook.url,
        when(webhook.last_success_at),
        when(webhook.failing_since),
        webhook.off_reason or webhook.failure or "",
    ]
