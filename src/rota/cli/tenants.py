"""`rota tenants`: each tenant's part beside the others, its bound and its pause."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from rota import share_views
from rota.app import Rota
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, whole
from rota.cli.output import Output
from rota.cli.problems import UsageError
from rota.cli.share_control import (
    Noun,
    Reason,
    Version,
    pause_each,
    reset_each,
    resume_each,
    tell_change,
)
from rota.cli.share_text import TENANT, number_or_none, since, status, waiting_text
from rota.cli.shares import Held, Paused, show_held, tell_held
from rota.clock import SystemClock
from rota.config import WEIGHT_MOST
from rota.errors import AccessRefused
from rota.policy.service import Stand, standing
from rota.share_options import check_tenant_changes
from rota.tenants import Tenant

HEADINGS = ("TENANT", "STATUS", "WAITING", "WEIGHT", "SHARE", "DUE", "DEPTH", "PAUSED")

Name = Annotated[str, Parameter(name="NAME", help='The tenant\'s name; "" for tasks of none.')]
Names = Annotated[str, Parameter(name="NAME", help="Names of tenants.")]


def _waiting(app: Rota) -> dict[str, str]:
    return {
        tenant.settings.name: waiting_text(tenant.waiting, capped=tenant.capped)
        for tenant in app.tenants.list()
    }


# Tenants are many, alike in their names, and known only by what was set up: no slip can be told.
NOUN = Noun("tenant", lambda app: app.tenants, _waiting, slips=False)


def list_(*, paused: Paused = False, common: Common = COMMON) -> None:
    """List the tenants that have settings or limits.

    All others have weight 1 and no bounds. SHARE is the part that each got of what
    was completed in the last hour, DUE the one that its weight gives it beside all
    that want something.

    For instance:

        $ rota tenants list
        $ rota tenants list --paused --json
    """
    with open_app(common, reads=True) as app:
        every = app.tenants.list()
        stands = _stands(app, every)
    now = SystemClock().now()
    found = [tenant for tenant in every if tenant.settings.paused_at is not None or not paused]
    held = [
        Held(view(one) | told(stand), cells(one, stand, None), cells(one, stand, now))
        for one in found
        for stand in (stands.get(one.settings.name),)
    ]
    tell_held(Output(common), HEADINGS, held, "No tenant has settings.", common)


def show(name: Name, /, *, common: Common = COMMON) -> None:
    """Show a tenant: its settings, what waits, and its limits.

    For instance:

        $ rota tenants show board
        $ rota tenants show board --json | jq .limits
    """
    with open_app(common, reads=True) as app:
        known = {tenant.settings.name: tenant for tenant in app.tenants.list()}
        tenant = known.get(name) or Tenant(app.tenants.get(name))
        limits = app.limits.list(tenant=name)
    facts = {text: TENANT[field](tenant.settings) for field, text in _FACTS.items()}
    if name in known:
        facts = {"waiting": waiting_text(tenant.waiting, capped=tenant.capped)} | facts
    show_held(tenant.settings, view(tenant), facts, limits, common)


_FACTS = {"weight": "weight", "max_depth": "depth"}


def set_(
    name: Name,
    /,
    *,
    weight: Annotated[
        int | None,
        Parameter(help="Its part beside other tenants.", converter=whole(1, WEIGHT_MOST)),
    ] = None,
    max_depth: Annotated[
        str | None, Parameter(help="From how many waiting tasks on it is full; or none.")
    ] = None,
    version: Annotated[Version, Parameter(converter=whole(0))] = None,
    common: Common = COMMON,
) -> None:
    """Change a tenant's part; what is not given stays.

    It prints what changed. A tenant of weight 3 gets three tasks for each one of
    a tenant of weight 1, in every queue where both wait.

    For instance:

        $ rota tenants set board --weight 3
        $ rota tenants set board --max-depth 20000
    """
    typed: dict[str, Any] = {} if weight is None else {"weight": weight}
    if max_depth is not None:
        typed["max_depth"] = number_or_none(max_depth, "--max-depth")
    if not typed:
        raise UsageError("say what shall change. See: rota tenants set --help")
    check_tenant_changes(typed)  # a mistake is told before any store is looked for
    with open_app(common, kinds=True) as app:
        before = app.tenants.get(name)
        after = app.tenants.set(name, version=version, **typed)
    tell_change(common, name, (before, after), TENANT, share_views.tenant)


def pause(*names: Names, reason: Reason = None, common: Common = COMMON) -> None:
    """Let no task of a tenant start until it is resumed.

    It holds in every queue, for every claim that begins afterwards. Tasks that
    run go on; what comes meanwhile waits.

    For instance:

        $ rota tenants pause board --reason "invoice is open"
    """
    pause_each(NOUN, names, reason, common, new=True)


def resume(*names: Names, common: Common = COMMON) -> None:
    """Let tasks of a tenant start again.

    For instance:

        $ rota tenants resume board
    """
    resume_each(NOUN, names, common)


def reset(*names: Names, common: Common = COMMON) -> None:
    """Forget the settings of tenants, back to the defaults.

    A pause is one of them. Tasks and limits are left alone.

    For instance:

        $ rota tenants reset board
    """
    reset_each(NOUN, names, lambda app, name: app.tenants.reset(name), common)


def _stands(app: Rota, tenants: Sequence[Tenant]) -> dict[str, Stand]:
    """Return how the tenants stand beside each other; nothing if the key may not know."""
    try:
        served = app.statistics.served().tenants
    except AccessRefused:
        return {}
    paused = {one.settings.name for one in tenants if one.settings.paused_at is not None}
    waiting = {one.settings.name for one in tenants if one.waiting}
    weights = {one.settings.name: one.settings.weight for one in tenants}
    return standing(weights, {*waiting, *served} - paused, served)


def told(stand: Stand | None) -> dict[str, Any]:
    """Return how a tenant stands as JSON; null where the key may not know."""
    return {
        "share": None if stand is None else round(stand.got, 4),
        "due": None if stand is None or stand.due is None else round(stand.due, 4),
    }


def view(tenant: Tenant) -> dict[str, Any]:
    """Return a tenant as JSON, with what waits of it."""
    return share_views.tenant(tenant.settings) | {
        "waiting": tenant.waiting,
        "waiting_capped": tenant.capped,
    }


def _part(part: float | None) -> str:
    return "" if part is None else f"{part:.1%}"


def cells(tenant: Tenant, stand: Stand | None, at: int | None) -> list[str]:
    """Return a tenant as a line of the list."""
    one = tenant.settings
    return [
        one.name,
        status(one),
        waiting_text(tenant.waiting, capped=tenant.capped),
        str(one.weight),
        _part(None if stand is None else stand.got),
        _part(None if stand is None else stand.due),
        "" if one.max_depth is None else str(one.max_depth),
        since(one, at),
    ]
