"""Tenants over HTTP: each one's part, bound and pause (R7.3); `-` in a path is who has no name."""

from typing import Any

from msgspec import UNSET, UnsetType

from rota import share_views
from rota.access import Role
from rota.server import etags
from rota.server.named_pages import Named, page_of
from rota.server.reasons import Reason
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.shapes import tenants as shapes
from rota.share_edit import WAITING_CAP
from rota.shares import TenantSettings
from rota.tenants import Tenant

TAG = "tenants"
NOBODY = "-"


class TenantChange(In, frozen=True):
    """What to set of a tenant: what is absent stays, null is the default."""

    weight: int | UnsetType | None = UNSET
    max_depth: int | UnsetType | None = UNSET


async def list_tenants(call: Call) -> Answer:
    found = await call.faces.tenants.alist(paused=call.query.paused)
    return await page_of(call, found, lambda tenant: tenant.settings.name, _view)


async def get_tenant(call: Call) -> Answer:
    name = _name(call)
    settings = await call.faces.tenants.aget(name)
    _, depths = await call.backend.depths((), [name], WAITING_CAP)
    waiting = next((depth.waiting for depth in depths), 0)
    return etags.tagged(_view(Tenant(settings, waiting, waiting >= WAITING_CAP)), settings.version)


async def update_tenant(call: Call) -> Answer:
    name, changes = _name(call), etags.given(call.body, {"weight": 1})
    tenants = call.faces.tenants

    async def version() -> int:
        return (await tenants.aget(name)).version

    changed = await etags.guarded(
        call, lambda at: tenants.aset(name, version=at, **changes), version
    )
    return _shown(changed)


async def reset_tenant(call: Call) -> Answer:
    name = _name(call)
    etags.check(call, (await call.faces.tenants.aget(name)).version)
    await call.faces.tenants.areset(name)
    return Answer(status=204)


async def pause_tenant(call: Call) -> Answer:
    return _shown(await call.faces.tenants.apause(_name(call), call.body.reason))


async def resume_tenant(call: Call) -> Answer:
    return _shown(await call.faces.tenants.aresume(_name(call)))


def _name(call: Call) -> str:
    name = call.path["name"]
    return "" if name == NOBODY else name


def _view(tenant: Tenant) -> dict[str, Any]:
    shown = share_views.tenant(tenant.settings)
    return shown | {"waiting": tenant.waiting, "capped": tenant.capped}


def _shown(settings: TenantSettings) -> Answer:
    return etags.tagged(share_views.tenant(settings), settings.version)


ROUTES = (
    Route(
        method="GET", path="/v1/tenants", name="tenants_list",
        summary="List the tenants that have settings or limits.", run=list_tenants,
        roles=roles(Role.READ), tag=TAG, query=Named, answers=shapes.TenantPage,
    ),
    Route(
        method="GET", path="/v1/tenants/{name}", name="tenants_get", summary="Show a tenant.",
        run=get_tenant, roles=roles(Role.READ), tag=TAG, answers=shapes.Tenant,
    ),
    Route(
        method="PATCH", path="/v1/tenants/{name}", name="tenants_update",
        summary="Change a tenant's part.", run=update_tenant, roles=roles(Role.ADMIN), tag=TAG,
        takes=TenantChange, answers=shapes.TenantSettings, audit="tenant.update", codes=etags.CODES,
        headers=etags.IF_MATCH, example={"weight": 3},
    ),
    Route(
        method="DELETE", path="/v1/tenants/{name}", name="tenants_reset",
        summary="Forget a tenant's settings, back to the defaults.", run=reset_tenant,
        roles=roles(Role.ADMIN), tag=TAG, status=204, audit="tenant.reset", codes=etags.CODES,
        headers=etags.IF_MATCH,
    ),
    Route(
        method="POST", path="/v1/tenants/{name}/pause", name="tenants_pause",
        summary="Let no task of a tenant start.", run=pause_tenant, roles=roles(Role.OPERATE),
        tag=TAG, takes=Reason, answers=shapes.TenantSettings, audit="tenant.pause",
        example={"reason": "unpaid"},
    ),
    Route(
        method="POST", path="/v1/tenants/{name}/resume", name="tenants_resume",
        summary="Let tasks of a tenant start again.", run=resume_tenant,
        roles=roles(Role.OPERATE), tag=TAG, answers=shapes.TenantSettings, audit="tenant.resume",
    ),
)  # fmt: skip
