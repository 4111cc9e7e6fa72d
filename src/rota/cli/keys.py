"""`rota keys create | list | revoke`: who may call a server over HTTP (R8.5, S12)."""

from typing import Annotated

from cyclopts import Parameter

from rota import access_views
from rota.access import Key
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, spoken_duration
from rota.cli.output import Output
from rota.cli.problems import UsageError
from rota.cli.shares import Held, tell_held
from rota.cli.text import relative, visible
from rota.clock import Micros, SystemClock
from rota.keys import NewKey, check_key_scope, check_roles
from rota.times import show_instant

HEADINGS = ("ID", "NAME", "ROLES", "TENANT", "QUEUES", "STATE", "EXPIRES", "LAST USED")


def create(
    name: Annotated[
        str, Parameter(name="NAME", help="What the key is for; shown beside what it does.")
    ],
    /,
    *,
    role: Annotated[
        list[str] | None,
        Parameter(help="What it may do: submit, read, operate, admin, worker.", negative=()),
    ] = None,
    tenant: Annotated[str | None, Parameter(help="Only for this tenant.")] = None,
    queue: Annotated[
        list[str] | None, Parameter(help="Only for this queue, or these.", negative=())
    ] = None,
    no_payloads: Annotated[
        bool, Parameter(help="It reads no payloads, results or texts of errors.")
    ] = False,
    expires: Annotated[
        str | None, Parameter(help="When it is over: 90d, or 2027-03-01T00:00Z; else never.")
    ] = None,
    common: Common = COMMON,
) -> None:
    """Make a key for calls over HTTP and print it, this once.

    The key stands alone on stdout, so that it can go straight into a file or a
    secret store; the rest is told on stderr. Rota keeps only its SHA-256.

    For instance:

        $ rota keys create first --role admin > admin.key
        $ rota keys create board-app --role submit --tenant board --expires 90d
        $ rota keys create sender --role worker --queue sms --queue mail
    """
    if not role:
        raise UsageError("say what it may do: --role submit, read, operate, admin or worker")
    check_roles(role)  # a mistake is told before any store is looked for
    check_key_scope(tenant, queue)
    output = Output(common)
    with open_app(common, makes=True) as app:
        made = app.keys.create(
            name,
            role,
            tenant=tenant,
            queues=queue or None,
            payloads=not no_payloads,
            expires=None if expires is None else spoken_duration(expires),
        )
    _tell_made(output, made, common)


def _tell_made(output: Output, made: NewKey, common: Common) -> None:
    key = made.key
    if common.json:
        output.document(access_views.key(key, key.created_at) | {"key": made.text})
        return
    output.line(made.text)
    until = "never expires" if key.expires_at is None else f"until {show_instant(key.expires_at)}"
    output.hint(visible(f"{key.id}  {key.name}: {_reach(key)}; {until}. It is not shown again."))
    output.hint(f"Revoke: rota keys revoke {key.id}")


def list_(
    *,
    all_: Annotated[
        bool, Parameter(name="--all", help="Also those that are revoked or have expired.")
    ] = False,
    common: Common = COMMON,
) -> None:
    """List keys: what each may do, and when it was used last.

    For instance:

        $ rota keys list
        $ rota keys list --all --json
    """
    output = Output(common)
    with open_app(common, reads=True) as app:
        found = app.keys.list()
    now = SystemClock().now()
    held = [
        Held(access_views.key(key, now), _cells(key, now), _seen(key, now))
        for key in found
        if all_ or key.live(now)
    ]
    tell_held(output, HEADINGS, held, "There are no keys. Make one: rota keys create", common)


def revoke(
    *ids: Annotated[str, Parameter(help="Ids of keys; rota keys list tells them.")],
    common: Common = COMMON,
) -> None:
    """Revoke keys for good.

    Every server knows of it within 5 s. Exit code 3 if there is none of this id,
    5 for the last admin's key.

    For instance:

        $ rota keys revoke k7Q2M4XA9Z1B
    """
    if not ids:
        raise UsageError("name at least one key. See: rota keys revoke --help")
    output = Output(common)
    with open_app(common) as app:
        for key_id in ids:
            app.keys.revoke(key_id)
            if not common.json:
                output.fields([key_id, "revoked"])
    if common.json:
        output.array({"id": key_id, "outcome": "revoked"} for key_id in ids)


def _reach(key: Key) -> str:
    parts = [" and ".join(key.roles)]
    if key.scope.tenant is not None:
        parts.append(f"tenant {key.scope.tenant!r} only")
    if key.scope.queues is not None:
        parts.append(f"queues {', '.join(key.scope.queues)} only")
    if not key.scope.payloads:
        parts.append("without payloads")
    return ", ".join(parts)


def _cells(key: Key, now: Micros) -> list[str]:
    scope = key.scope
    return [
        key.id,
        key.name,
        ",".join(key.roles),
        "" if scope.tenant is None else scope.tenant,
        "" if scope.queues is None else ",".join(scope.queues),
        access_views.state(key, now),
        "" if key.expires_at is None else show_instant(key.expires_at),
        "" if key.last_used_at is None else show_instant(key.last_used_at),
    ]


def _seen(key: Key, now: Micros) -> list[str]:
    id_, name, roles, tenant, queues, state, *_ = _cells(key, now)
    scope = key.scope
    return [
        id_,
        name,
        roles,
        "all" if scope.tenant is None else tenant or '""',
        "all" if scope.queues is None else queues,
        state,
        "never" if key.expires_at is None else relative(key.expires_at, now),
        "never" if key.last_used_at is None else relative(key.last_used_at, now),
    ]
