"""The audit record over HTTP (S17)."""

from typing import Annotated, Any, Final

from msgspec import Meta, structs

from rota import access_views
from rota.access import Outcome, Role, Via
from rota.insights import PAGE, PAGE_MOST
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.shapes.audit import AuditPage
from rota.times import moment, show_instant

ORDER: Final = "audit"


class AuditQuery(In, frozen=True, rename={"since": "from", "until": "to"}):
    """Which entries to list: `key` is the id of the key that was used."""

    key: str | None = None
    action: str | None = None
    tenant: str | None = None
    via: Via | None = None
    outcome: Outcome | None = None
    since: str | None = None
    until: str | None = None
    limit: Annotated[int, Meta(ge=1, le=PAGE_MOST)] = PAGE
    cursor: str | None = None


async def list_(call: Call) -> Answer:
    query: AuditQuery = call.query
    after = None
    if query.cursor is not None:
        (after,) = await call.place.cursors.open(query.cursor, ORDER, about=_filters(query))
    for field, instant in (("from", query.since), ("to", query.until)):
        if instant is not None:
            moment(instant, field)  # by the name that it has here
    found = await call.faces.audit.alist(
        key=query.key,
        action=query.action,
        tenant=query.tenant,
        via=query.via,
        outcome=query.outcome,
        since=query.since,
        until=query.until,
        after=after,
        limit=query.limit,
    )
    following = None
    if len(found) == query.limit:
        following = await call.place.cursors.seal(ORDER, [found[-1].id], about=_filters(query))
    return Answer(
        {
            "items": [access_views.entry(one) for one in found],
            "next": following,
            "as_of": show_instant(call.place.clock.now()),
        }
    )


def _filters(query: AuditQuery) -> dict[str, Any]:
    given = structs.asdict(query)
    return {name: value for name, value in given.items() if name not in ("limit", "cursor")}


ROUTES = (
    Route(
        method="GET",
        path="/v1/audit",
        name="audit_list",
        summary="List who changed what, the newest first.",
        run=list_,
        roles=roles(Role.ADMIN),
        tag="access",
        query=AuditQuery,
        answers=AuditPage,
    ),
)
