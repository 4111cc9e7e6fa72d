"""Webhooks: the endpoints that are told of alerts: `app.webhooks` (R4.5)."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Final, Unpack

from msgspec import Struct, structs

from rota.alert_options import WEBHOOKS_MOST, WebhookChanges, check_webhook
from rota.alerting import Attempted, Shape, Signing, Webhook
from rota.client import Client
from rota.clock import Ids, entropy
from rota.errors import InvalidTask, SettingsChanged, WebhookNotFound
from rota.faces import awaited, blocking
from rota.sync import Portal

SECRET_BYTES: Final = 32
TRIES = 20


class Secret(Struct, frozen=True):
    """An endpoint with its secret, which is shown this once (S5)."""

    webhook: Webhook
    secret: str

    def __repr__(self) -> str:
        return f"Secret({self.webhook!r}, …)"


class Webhooks:
    """Reads and changes the endpoints that are told of alerts: `app.webhooks`.

    Every verb has a blocking face and, with an `a` before its name, one to be awaited.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ids = Ids()

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _list(self) -> Sequence[Webhook]:
        """Return the endpoints, the oldest first."""
        return await self._client.patiently(lambda backend: backend.webhooks())

    async def _get(self, webhook_id: str) -> Webhook:
        """Return an endpoint; `WebhookNotFound`."""
        found = next((one for one in await self._list() if one.id == webhook_id), None)
        if found is None:
            raise WebhookNotFound(webhook_id)
        return found

    async def _create(self, url: str, *, shape: Shape | str = Shape.JSON) -> Secret:
        """Make an endpoint and return it with its secret, which nobody can read later."""
        checked = check_webhook({"url": url, "shape": shape})
        if len(await self._list()) >= WEBHOOKS_MOST:
            raise InvalidTask("url", f"there are {WEBHOOKS_MOST} webhooks already; delete some")
        now = self._client.backend.clock.now()
        new = Webhook(id=self._ids.new(now), created_at=now, **checked)
        secret = new_secret()
        await self._client.patiently(lambda backend: backend.put_webhook(new, 0, secret))
        return Secret(await self._get(new.id), secret)

    async def _set(
        self, webhook_id: str, *, version: int | None = None, **changes: Unpack[WebhookChanges]
    ) -> Webhook:
        """Change what is given of an endpoint and leave the rest.

        With a `version` only if it is still at that one: `SettingsChanged`.
        """
        checked = check_webhook(changes)
        if checked.get("enabled"):
            checked["off_reason"] = None
        for _ in range(TRIES):
            old = await self._get(webhook_id)
            if version is not None and old.version != version:
                break
            new = structs.replace(old, **checked)
            if new == old or await self._put(new):
                return await self._get(webhook_id)
        raise SettingsChanged(f"webhook {webhook_id}")

    async def _put(self, webhook: Webhook) -> bool:
        return await self._client.patiently(
            lambda backend: backend.put_webhook(webhook, webhook.version)
        )

    async def _rotate(self, webhook_id: str) -> Secret:
        """Give an endpoint a new secret; for a day deliveries are signed with both."""
        secret = new_secret()
        if not await self._client.patiently(
            lambda backend: backend.rotate_webhook(webhook_id, secret)
        ):
            raise WebhookNotFound(webhook_id)
        return Secret(await self._get(webhook_id), secret)

    async def _delete(self, webhook_id: str, *, version: int | None = None) -> None:
        """Remove an endpoint; `WebhookNotFound`. What is still to be delivered to it is dropped."""
        old = await self._get(webhook_id)
        if version is not None and old.version != version:
            raise SettingsChanged(f"webhook {webhook_id}")
        await self._client.patiently(lambda backend: backend.drop_webhook(webhook_id))

    # -- for whoever delivers -------------------------------------------------------------------

    async def _signing(self, webhook_id: str) -> Signing | None:
        """Return with what deliveries are signed; only for those who deliver (S5)."""
        return await self._client.patiently(lambda backend: backend.signing(webhook_id))

    async def _attempted(self, what: Attempted) -> bool:
        """Take note of an attempt to deliver; say whether it switched the endpoint off."""
        return await self._client.patiently(lambda backend: backend.attempted(what))

    list, alist = blocking(_list), awaited(_list)
    get, aget = blocking(_get), awaited(_get)
    create, acreate = blocking(_create), awaited(_create)
    set, aset = blocking(_set), awaited(_set)
    rotate, arotate = blocking(_rotate), awaited(_rotate)
    delete, adelete = blocking(_delete), awaited(_delete)
    signing, asigning = blocking(_signing), awaited(_signing)
    attempted, aattempted = blocking(_attempted), awaited(_attempted)


def new_secret() -> str:
    """Return a new secret in the form of Standard Webhooks: 256 random bits."""
    return "whsec_" + b64encode(entropy(SECRET_BYTES)).decode()
