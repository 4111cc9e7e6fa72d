"""The OpenAPI document, for whoever has a key."""

from rota.access import Role
from rota.server.openapi import document
from rota.server.route import Answer, Call, Route, json, roles

_READY: dict[str, bytes] = {}


async def show_document(_: Call) -> Answer:
    """Return what there is to call, as OpenAPI 3.1."""
    ready = _READY.get("json")
    if ready is None:
        from rota.server.routes import table

        ready = _READY["json"] = json(document(table()))
    return Answer(body=ready)


ROUTES = (
    Route(
        method="GET",
        path="/openapi.json",
        name="document_get",
        summary="Return this document.",
        run=show_document,
        roles=roles(*Role),
        tag="server",
    ),
)
