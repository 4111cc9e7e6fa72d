"""Limits over HTTP: caps and rates of queues, tenants, and tenants in queues (R7.4, R7.5)."""

from msgspec import UNSET, UnsetType

from rota import share_views
from rota.access import Role
from rota.clock import parse_id
from rota.errors import LimitNotFound, SettingsChanged
from rota.server import etags
from rota.server.named_pages import page_of
from rota.server.paging import PageQuery
from rota.server.problems import Problem
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.shapes import limits as shapes
from rota.shares import Limit, LimitUse

TAG = "limits"
MADE: int = 0
"""The version for which a limit is made that is not there yet."""

Problem.register("scope_taken", 409, "There is a limit for that already")


class LimitsQuery(PageQuery, frozen=True):
    """Which limits to list, and where the page begins."""

    queue: str | None = None
    tenant: str | None = None


class LimitNew(In, frozen=True):
    """A limit: what it is for, and what it bounds."""

    queue: str | None = None
    tenant: str | None = None
    max_running: int | None = None
    rate: float | str | None = None
    burst: int | None = None


class LimitChange(In, frozen=True):
    """What to change of a limit: what is absent stays, null takes it away."""

    max_running: int | UnsetType | None = UNSET
    rate: float | str | UnsetType | None = UNSET
    burst: int | UnsetType | None = UNSET


async def list_limits(call: Call) -> Answer:
    query = call.query
    found = await call.faces.limits.alist(queue=query.queue, tenant=query.tenant)
    return await page_of(call, found, lambda use: use.limit.id, share_views.limit_use)


async def get_limit(call: Call) -> Answer:
    limit = await _limit(call)
    for use in await call.backend.limit_use([limit.id]):
        return _shown(use)
    raise LimitNotFound(limit.id)


async def create_limit(call: Call) -> Answer:
    body, limits = call.body, call.faces.limits
    given = {name: getattr(body, name) for name in ("max_running", "rate", "burst")}
    named = {name: value for name, value in given.items() if value is not None}
    try:
        made = await limits.aset(queue=body.queue, tenant=body.tenant, version=MADE, **named)
    except SettingsChanged:
        taken = await limits.aget(queue=body.queue, tenant=body.tenant)
        raise Problem(
            "scope_taken",
            f"limit {taken.id} is for just that; change it: PATCH /v1/limits/{taken.id}",
            id=taken.id,
        ) from None
    headers = (("Location", f"/v1/limits/{made.id}"),)
    return etags.tagged(share_views.limit(made), made.version, status=201, headers=headers)


async def update_limit(call: Call) -> Answer:
    limit, changes = await _limit(call), etags.given(call.body)

    async def version() -> int:
        return (await _limit(call)).version

    changed = await etags.guarded(
        call,
        # Another one may stand for the same by then; it is this one that was asked for.
        lambda at: call.faces.limits.aset(
            queue=limit.queue,
            tenant=limit.tenant,
            version=limit.version if at is None else at,
            **changes,
        ),
        version,
    )
    return etags.tagged(share_views.limit(changed), changed.version)


async def delete_limit(call: Call) -> Answer:
    limit = await _limit(call)
    etags.check(call, limit.version)
    if not await call.backend.drop_limit(limit.id):
        raise LimitNotFound(limit.id)
    return Answer(status=204)


async def _limit(call: Call) -> Limit:
    wanted = parse_id(call.path["id"])
    settings = await call.backend.settings()
    found = next((limit for limit in settings.limits if limit.id == wanted), None)
    if found is None:
        raise Problem("not_found", f"no limit has the id {call.path['id']!r:.80}")
    return found


def _shown(use: LimitUse) -> Answer:
    return etags.tagged(share_views.limit_use(use), use.limit.version)


ROUTES = (
    Route(
        method="GET", path="/v1/limits", name="limits_list",
        summary="List limits and how much of each is in use.", run=list_limits,
        roles=roles(Role.READ), tag=TAG, query=LimitsQuery, answers=shapes.LimitPage,
    ),
    Route(
        method="POST", path="/v1/limits", name="limits_create",
        summary="Cap the running tasks, or bound the rate of starts.", run=create_limit,
        roles=roles(Role.ADMIN), tag=TAG, takes=LimitNew, answers=shapes.Limit, status=201,
        audit="limit.create", codes=((409, "scope_taken"),), headers=("Location",),
        example={"queue": "sms", "tenant": "board", "max_running": 200, "rate": "500/s"},
    ),
    Route(
        method="GET", path="/v1/limits/{id}", name="limits_get", summary="Show a limit.",
        run=get_limit, roles=roles(Role.READ), tag=TAG, answers=shapes.LimitUse,
    ),
    Route(
        method="PATCH", path="/v1/limits/{id}", name="limits_update", summary="Change a limit.",
        run=update_limit, roles=roles(Role.ADMIN), tag=TAG, takes=LimitChange,
        answers=shapes.Limit, audit="limit.update", codes=etags.CODES,
        headers=etags.IF_MATCH, example={"max_running": 300},
    ),
    Route(
        method="DELETE", path="/v1/limits/{id}", name="limits_delete", summary="Remove a limit.",
        run=delete_limit, roles=roles(Role.ADMIN), tag=TAG, status=204, audit="limit.delete",
        codes=etags.CODES, headers=etags.IF_MATCH,
    ),
)  # fmt: skip
