"""`rota audit list`: who changed what, when and from where (S17)."""

from typing import Annotated

from cyclopts import Parameter

from rota import access_views
from rota.access import AuditEntry
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, whole
from rota.cli.output import Output
from rota.cli.shares import Held, tell_held
from rota.cli.text import relative
from rota.clock import Micros, SystemClock
from rota.times import show_instant

HEADINGS = ("AT", "WHO", "VIA", "ACTION", "TARGET", "OUTCOME", "COUNT", "FROM")


def list_(
    *,
    key: Annotated[str | None, Parameter(help="Only with the key that has this id.")] = None,
    action: Annotated[str | None, Parameter(help="Only this change: limit.update.")] = None,
    tenant: Annotated[str | None, Parameter(help="Only with keys of this tenant.")] = None,
    outcome: Annotated[str | None, Parameter(help="Only: ok, refused, failed, begun.")] = None,
    since: Annotated[str | None, Parameter(name="--from", help="Not before this instant.")] = None,
    until: Annotated[str | None, Parameter(name="--to", help="Before this instant.")] = None,
    limit: Annotated[int, Parameter(help="At most so many.", converter=whole(1, 500))] = 50,
    common: Common = COMMON,
) -> None:
    """List who changed what, the newest first.

    Submits, claims and finishes are summed by key and minute: their count is how
    many calls there were.

    For instance:

        $ rota audit list
        $ rota audit list --action key.create --from 2026-11-01T00:00Z --json
    """
    output = Output(common)
    with open_app(common, reads=True) as app:
        found = app.audit.list(
            key=key,
            action=action,
            tenant=tenant,
            outcome=outcome,
            since=since,
            until=until,
            limit=limit,
        )
    now = SystemClock().now()
    held = [Held(access_views.entry(one), _cells(one), _seen(one, now)) for one in found]
    tell_held(output, HEADINGS, held, "Nothing was changed.", common)


def _cells(entry: AuditEntry) -> list[str]:
    return [
        show_instant(entry.at),
        entry.key_name or entry.key_id,
        entry.via,
        entry.action,
        entry.target or "",
        entry.outcome,
        str(entry.count),
        entry.address,
    ]


def _seen(entry: AuditEntry, now: Micros) -> list[str]:
    _, *rest = _cells(entry)
    return [relative(entry.at, now), *rest]
