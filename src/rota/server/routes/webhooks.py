"""Webhooks over HTTP: the endpoints that are told of alerts, their secrets and tests (R4.5, S5)."""

from msgspec import UNSET, UnsetType

from rota import alert_views
from rota.access import Role
from rota.alerting import Webhook
from rota.server import etags
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.shapes import alerts as shapes
from rota.times import show_instant

TAG = "alerts"
ADMIN = roles(Role.ADMIN)
USUAL = {"shape": "json", "enabled": True}


class WebhookNew(In, frozen=True):
    """An endpoint to be told of alerts, as events in JSON or as a text for Slack."""

    url: str
    shape: str = "json"


class WebhookChange(In, frozen=True):
    """What to change of an endpoint: what is absent stays, null is the default."""

    url: str | UnsetType = UNSET
    shape: str | UnsetType | None = UNSET
    enabled: bool | UnsetType | None = UNSET


async def list_(call: Call) -> Answer:
    items = [alert_views.webhook(one) for one in await call.faces.webhooks.alist()]
    return Answer({"items": items, "next": None, "as_of": show_instant(call.place.clock.now())})


async def get(call: Call) -> Answer:
    return _shown(await call.faces.webhooks.aget(call.path["id"]))


async def create(call: Call) -> Answer:
    made = await call.faces.webhooks.acreate(call.body.url, shape=call.body.shape)
    webhook = made.webhook
    return etags.tagged(
        alert_views.webhook(webhook) | {"secret": made.secret},
        webhook.version,
        status=201,
        headers=(("Location", f"/v1/webhooks/{webhook.id}"),),
    )


async def update(call: Call) -> Answer:
    webhook_id, changes = call.path["id"], etags.given(call.body, USUAL)
    webhooks = call.faces.webhooks
    changed = await etags.guarded(
        call,
        lambda at: webhooks.aset(webhook_id, version=at, **changes),
        lambda: _version(call),
    )
    return _shown(changed)


async def delete(call: Call) -> Answer:
    webhook_id, webhooks = call.path["id"], call.faces.webhooks
    await etags.guarded(
        call, lambda at: webhooks.adelete(webhook_id, version=at), lambda: _version(call)
    )
    return Answer(status=204)


async def rotate(call: Call) -> Answer:
    made = await call.faces.webhooks.arotate(call.path["id"])
    shown = alert_views.webhook(made.webhook) | {"secret": made.secret}
    return etags.tagged(shown, made.webhook.version)


async def test(call: Call) -> Answer:
    webhook = await call.faces.webhooks.aget(call.path["id"])
    tried = await call.place.telling.test(webhook.id)
    failure = tried.failure
    return Answer({"delivered": failure is None, "status": tried.status, "failure": failure})


async def _version(call: Call) -> int:
    return (await call.faces.webhooks.aget(call.path["id"])).version


def _shown(webhook: Webhook) -> Answer:
    return etags.tagged(alert_views.webhook(webhook), webhook.version)


ROUTES = (
    Route(
        method="GET", path="/v1/webhooks", name="webhooks_list",
        summary="List the webhooks, the oldest first, without their secrets.", run=list_,
        roles=ADMIN, tag=TAG, answers=shapes.WebhookPage,
    ),
    Route(
        method="POST", path="/v1/webhooks", name="webhooks_create",
        summary="Make a webhook; its secret is shown this once.", run=create, roles=ADMIN, tag=TAG,
        takes=WebhookNew, answers=shapes.WebhookSecret, status=201, audit="webhook.create",
        headers=("Location",), example={"url": "https://hooks.example/rota"},
    ),
    Route(
        method="GET", path="/v1/webhooks/{id}", name="webhooks_get", summary="Show a webhook.",
        run=get, roles=ADMIN, tag=TAG, answers=shapes.Webhook,
    ),
    Route(
        method="PATCH", path="/v1/webhooks/{id}", name="webhooks_update",
        summary="Change a webhook, or switch it on or off.", run=update, roles=ADMIN, tag=TAG,
        takes=WebhookChange, answers=shapes.Webhook, audit="webhook.update", codes=etags.CODES,
        headers=etags.IF_MATCH, example={"enabled": False},
    ),
    Route(
        method="DELETE", path="/v1/webhooks/{id}", name="webhooks_delete",
        summary="Remove a webhook.", run=delete, roles=ADMIN, tag=TAG, status=204,
        audit="webhook.delete", codes=etags.CODES, headers=etags.IF_MATCH,
    ),
    Route(
        method="POST", path="/v1/webhooks/{id}/rotate", name="webhooks_rotate",
        summary="Give a webhook a new secret, shown this once; for a day both count.", run=rotate,
        roles=ADMIN, tag=TAG, answers=shapes.WebhookSecret, audit="webhook.rotate",
    ),
    Route(
        method="POST", path="/v1/webhooks/{id}/test", name="webhooks_test",
        summary="Send a test message at once and say what came of it.", run=test, roles=ADMIN,
        tag=TAG, answers=shapes.WebhookTest, audit="webhook.test",
    ),
)  # fmt: skip
