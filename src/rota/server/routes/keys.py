"""Keys over HTTP: made, listed and revoked by whoever has an admin's key (R8.5, S12)."""

from rota import access_views
from rota.access import Role
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.shapes.keys import Key, KeyPage, NewKey
from rota.times import show_instant

ADMIN = roles(Role.ADMIN)


class KeyBody(In, frozen=True):
    """A key to be made; without tenant and queues it is for all of them."""

    name: str
    roles: list[str]
    tenant: str | None = None
    queues: list[str] | None = None
    payloads: bool = True
    expires: float | str | None = None


async def create(call: Call) -> Answer:
    body: KeyBody = call.body
    made = await call.faces.keys.acreate(
        body.name,
        body.roles,
        tenant=body.tenant,
        queues=body.queues,
        payloads=body.payloads,
        expires=body.expires,
        created_by=call.caller.key_id or call.caller.name,
    )
    key = made.key
    call.audit["target"] = key.id
    call.audit["change"] = {
        "name": key.name,
        "roles": list(key.roles),
        "tenant": key.scope.tenant,
        "queues": key.scope.queues,
        "payloads": key.scope.payloads,
        "expires_at": None if key.expires_at is None else show_instant(key.expires_at),
    }
    shown = access_views.key(key, call.place.clock.now()) | {"key": made.text}
    return Answer(shown, status=201, headers=(("Location", f"/v1/keys/{key.id}"),))


async def list_(call: Call) -> Answer:
    now = call.place.clock.now()
    items = [access_views.key(key, now) for key in await call.faces.keys.alist()]
    return Answer({"items": items, "next": None, "as_of": show_instant(now)})


async def get(call: Call) -> Answer:
    key = await call.faces.keys.aget(call.path["id"])
    return Answer(access_views.key(key, call.place.clock.now()))


async def revoke(call: Call) -> Answer:
    await call.faces.keys.arevoke(call.path["id"])
    return Answer(status=204)


ROUTES = (
    Route(
        method="GET",
        path="/v1/keys",
        name="keys_list",
        summary="List all keys, the newest first, without their secrets.",
        run=list_,
        roles=ADMIN,
        tag="access",
        answers=KeyPage,
    ),
    Route(
        method="POST",
        path="/v1/keys",
        name="keys_create",
        summary="Make a key; its text is in this answer and nowhere else.",
        run=create,
        roles=ADMIN,
        tag="access",
        takes=KeyBody,
        answers=NewKey,
        status=201,
        audit="key.create",
        headers=("Location",),
        example={"name": "board-app", "roles": ["submit"], "tenant": "board", "expires": "90d"},
    ),
    Route(
        method="GET",
        path="/v1/keys/{id}",
        name="keys_get",
        summary="Return a key, without its secret.",
        run=get,
        roles=ADMIN,
        tag="access",
        answers=Key,
    ),
    Route(
        method="DELETE",
        path="/v1/keys/{id}",
        name="keys_revoke",
        summary="Revoke a key for good; every server knows of it within 5 s.",
        run=revoke,
        roles=ADMIN,
        tag="access",
        status=204,
        codes=((409, "last_admin"),),
        audit="key.revoke",
    ),
)
