"""Kinds over HTTP: which there are, and which are started at present (R7.7)."""

from typing import Any

from msgspec import structs

from rota import share_views
from rota.access import Role
from rota.server import etags
from rota.server.named_pages import Named, page_of
from rota.server.reasons import Reason
from rota.server.route import Answer, Call, Route, roles
from rota.server.shapes import kinds as shapes
from rota.shares import KindSettings

TAG = "kinds"


async def list_kinds(call: Call) -> Answer:
    found = await call.faces.kinds.alist(paused=call.query.paused)
    return await page_of(call, found, lambda kind: kind.name, lambda kind: _view(call, kind))


async def pause_kind(call: Call) -> Answer:
    return _shown(call, await call.faces.kinds.apause(call.path["name"], call.body.reason))


async def resume_kind(call: Call) -> Answer:
    return _shown(call, await call.faces.kinds.aresume(call.path["name"]))


def _shown(call: Call, settings: KindSettings) -> Answer:
    return etags.tagged(_view(call, settings), settings.version)


def _view(call: Call, settings: KindSettings) -> dict[str, Any]:
    kind = call.place.app.registry.get(settings.name)
    arguments = None if kind is None else kind.arguments.shown
    if arguments is not None and not call.caller.scope.payloads:
        arguments = [structs.replace(one, default=None) for one in arguments]
    return share_views.kind(settings) | {"arguments": arguments}


ROUTES = (
    Route(
        method="GET", path="/v1/kinds", name="kinds_list",
        summary="List the kinds that the server or a live worker knows, or that were paused.",
        run=list_kinds, roles=roles(Role.READ), tag=TAG, query=Named, answers=shapes.KindPage,
    ),
    Route(
        method="POST", path="/v1/kinds/{name}/pause", name="kinds_pause",
        summary="Let no task of a kind start.", run=pause_kind, roles=roles(Role.OPERATE),
        tag=TAG, takes=Reason, answers=shapes.Kind, audit="kind.pause",
        example={"reason": "wrong text"},
    ),
    Route(
        method="POST", path="/v1/kinds/{name}/resume", name="kinds_resume",
        summary="Let tasks of a kind start again.", run=resume_kind, roles=roles(Role.OPERATE),
        tag=TAG, answers=shapes.Kind, audit="kind.resume",
    ),
)  # fmt: skip
