"""`rota limits list | set | delete`: caps and rates of queues, tenants, and tenants in queues."""

from typing import Annotated, Any

from cyclopts import Parameter

from rota import share_views
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, whole
from rota.cli.output import Output
from rota.cli.problems import UsageError
from rota.cli.share_control import Version, tell_change
from rota.cli.share_text import LIMIT, bounds_text, number_or_none, running_text, tokens_text
from rota.cli.shares import Held, tell_held
from rota.cli.text import visible
from rota.errors import LimitNotFound
from rota.share_options import check_limit, check_scope
from rota.share_words import scope
from rota.shares import Limit, LimitUse

HEADINGS = ("QUEUE", "TENANT", "RUNNING", "RATE", "BURST", "TOKENS", "VERSION")

InQueue = Annotated[str | None, Parameter(name="--queue", help="The limit of this queue.")]
OfTenant = Annotated[
    str | None,
    Parameter(name="--tenant", help="The limit of this tenant, in that queue if both are given."),
]


def list_(
    *,
    queue: Annotated[str | None, Parameter(help="Only those of this queue.")] = None,
    tenant: Annotated[str | None, Parameter(help="Only those of this tenant.")] = None,
    common: Common = COMMON,
) -> None:
    """List limits, and how much of each is in use.

    How many tasks run of how many, the rate of starts, and how many may start at
    once now.

    For instance:

        $ rota limits list
        $ rota limits list --queue sms --json
    """
    with open_app(common, reads=True) as app:
        found = app.limits.list(queue=queue, tenant=tenant)
    held = [Held(share_views.limit_use(use), _cells(use), _seen(use)) for use in found]
    tell_held(Output(common), HEADINGS, held, "There are no limits.", common)


def set_(
    *,
    queue: InQueue = None,
    tenant: OfTenant = None,
    max_running: Annotated[
        str | None, Parameter(help="How many tasks run at once, on all workers; or none.")
    ] = None,
    rate: Annotated[
        str | None, Parameter(help="How many start: 500/s, 30/m, 1000/h; or none.")
    ] = None,
    burst: Annotated[
        int | None,
        Parameter(
            help="How many start at once after a lull; one second's worth if not given.",
            converter=whole(1),
        ),
    ] = None,
    version: Annotated[Version, Parameter(converter=whole(0))] = None,
    common: Common = COMMON,
) -> None:
    """Cap the running tasks, or bound the rate of starts, of a queue or tenant.

    It prints what changed; what is not given stays. A task starts only if all the
    limits that it falls under allow it: of its queue, its tenant, and of its
    tenant in its queue.

    For instance:

        $ rota limits set --queue sms --rate 500/s --burst 50
        $ rota limits set --queue sms --tenant board --max-running 200
        $ rota limits set --queue sms --rate none
    """
    typed: dict[str, Any] = {}
    if max_running is not None:
        typed["max_running"] = number_or_none(max_running, "--max-running")
    if rate is not None:
        typed["rate"] = None if rate == "none" else rate
    if burst is not None:
        typed["burst"] = burst
    if not typed:
        raise UsageError("say what shall change. See: rota limits set --help")
    check_scope(queue, tenant)  # a mistake is told before any store is looked for
    check_limit(typed)
    with open_app(common, kinds=True) as app:
        try:
            before = app.limits.get(queue=queue, tenant=tenant)
        except LimitNotFound:
            before = Limit(id="", queue=queue, tenant=tenant)
        after = app.limits.set(queue=queue, tenant=tenant, version=version, **typed)
    tell_change(common, scope(queue, tenant), (before, after), LIMIT, share_views.limit)


def delete(*, queue: InQueue = None, tenant: OfTenant = None, common: Common = COMMON) -> None:
    """Remove a limit.

    It prints what the limit was. Exit code 3 if there is none of exactly this
    scope.

    For instance:

        $ rota limits delete --queue sms
        $ rota limits delete --queue sms --tenant board
    """
    check_scope(queue, tenant)
    output = Output(common)
    with open_app(common) as app:
        gone = app.limits.delete(queue=queue, tenant=tenant)
    if common.json:
        output.document(share_views.limit(gone))
    elif output.terminal:
        output.line(visible(f"{scope(queue, tenant)}  deleted (was {bounds_text(gone)})"))
    else:
        output.fields([scope(queue, tenant), "deleted", bounds_text(gone)])


def _cells(use: LimitUse) -> list[str]:
    limit = use.limit
    return [
        "" if limit.queue is None else limit.queue,
        "" if limit.tenant is None else limit.tenant,
        running_text(use),
        "" if limit.rate is None else LIMIT["rate"](limit),
        "" if limit.burst is None else str(limit.burst),
        tokens_text(use),
        str(limit.version),
    ]


def _seen(use: LimitUse) -> list[str]:
    queue, tenant, *rest = _cells(use)
    limit = use.limit
    # What holds for every queue or tenant is told from the tenant that has no name.
    return [
        queue if limit.queue is not None else "any",
        "any" if limit.tenant is None else tenant or '""',
        *rest,
    ]
