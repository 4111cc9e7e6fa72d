"""The internal kind `rota.webhook`: tells an endpoint of an alert, again and again if need be.

Server processes run it beside what they serve; an ordinary worker does so if the app has been given
it by `add_webhooks`. Each try is signed anew, under the id of the task (R4.5, S4, S5).
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from msgspec import Struct

from rota.alerting import KIND, QUEUE, Attempted, Shape, Signing, Webhook
from rota.app import Rota
from rota.clock import Micros, wall
from rota.config import SECOND
from rota.context import Context
from rota.contrib._addresses import PUBLIC, AddressRefused, Reach
from rota.contrib._fetch import Fetcher, Reply, Request, Unreachable, Untrusted
from rota.contrib._http_outcome import shown, wait
from rota.contrib._signature import sign
from rota.engine.alerts import Event
from rota.errors import Cancel, Retry, WebhookNotFound
from rota.policy.retry import Backoff
from rota.registry import Kind
from rota.resource import Resource
from rota.task import TaskKind
from rota.times import show_instant
from rota.webhooks import Webhooks

SECONDS: Final = 15.0
BODY_BYTES: Final = 20_000
GONE: Final = 410
RETRY: Final = Backoff(base=15, multiplier=2, cap=3600, max_attempts=15)
"""Some seven hours in all; an endpoint that fails for a day is switched off before that helps."""


Outlook = tuple[Reach, str]
"""What may be called besides public addresses, and where links in messages lead to."""


class Tried(Struct, frozen=True):
    """What came of telling an endpoint once: the status, or why there was none."""

    status: int | None
    failure: str | None = None
    retry_after: float | None = None

    @property
    def gone(self) -> bool:
        """Say whether it wants to be told nothing more."""
        return self.status == GONE


class Teller:
    """Tells endpoints of events; belongs to one event loop."""

    def __init__(self, webhooks: Webhooks, fetcher: Fetcher, public_url: str = "") -> None:
        self._webhooks = webhooks
        self._fetcher = fetcher
        self._public_url = public_url.rstrip("/")

    async def tell(self, webhook: Webhook, message_id: str, event: Event, now: Micros) -> Tried:
        """Tell an endpoint once, and take note of what came of it."""
        signing = await self._webhooks.asigning(webhook.id)
        if signing is None:
            raise WebhookNotFound(webhook.id)
        tried = await self._try(webhook, signing, message_id, event, now)
        await self._webhooks.aattempted(
            Attempted(webhook=webhook.id, at=now, failure=tried.failure, gone=tried.gone)
        )
        return tried

    async def test(self, webhook_id: str, message_id: str, now: Micros) -> Tried:
        """Send an endpoint a test message, also one that is switched off; `WebhookNotFound`."""
        webhook = await self._webhooks.aget(webhook_id)
        event = Event("webhook.test", show_instant(now), {"webhook": webhook.id, "link": "/alerts"})
        return await self.tell(webhook, message_id, event, now)

    async def _try(
        self, webhook: Webhook, signing: Signing, message_id: str, event: Event, now: Micros
    ) -> Tried:
        body = body_of(webhook.shape, event, self._public_url)
        own = {"Content-Type": "application/json"}
        own |= sign(signing.secrets(now), message_id, now // SECOND, body)
        request = Request(method="POST", url=webhook.url, own=own, body=body, seconds=SECONDS)
        try:
            reply = await self._fetcher.fetch(request)
        except (AddressRefused, Untrusted, Unreachable) as error:
            return Tried(None, str(error))
        if 200 <= reply.status < 300:
            return Tried(reply.status)
        return Tried(reply.status, _failure(reply), wait(reply.retry_after, now))


def body_of(shape: Shape, event: Event, public_url: str = "") -> bytes:
    """Return what an endpoint is sent: the event itself, or a text as Slack takes it."""
    data = dict(event.data)
    data["link"] = f"{public_url}{data.get('link', '')}"
    if shape is Shape.SLACK:
        sent: Any = {"text": text_of(event.type, data)}
    else:
        sent = {"type": event.type, "timestamp": event.timestamp, "data": data}
    body = msgspec.json.encode(sent)
    assert len(body) <= BODY_BYTES, "names, numbers and a link are all there is in it"
    return body


def text_of(type_: str, data: dict[str, Any]) -> str:
    """Return an event as a line for people; what somebody named cannot become markup (S6)."""
    if type_ == "webhook.test":
        return "Rota: this is a test; alerts will come here."
    where = "all queues" if data["queue"] is None else f"queue {data['queue']}"
    word = "is over" if type_ == "alert.cleared" else "fired"
    said = (
        f"Rota: {data['rule']} {word}: {data['figure']} of {where} is {data['value']:g}, "
        f"threshold {data['threshold']:g}"
    )
    for mark, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        said = said.replace(mark, safe)
    return f"{said} {data['link']}".rstrip()


def webhook_kind(
    webhooks: Webhooks,
    *,
    outlook: Callable[[], Outlook] = lambda: (PUBLIC, ""),
    now: Callable[[], Micros] = wall,
) -> Kind:
    """Return the kind for a worker that delivers.

    `webhooks` is the face through which endpoints are read. The `outlook` is asked for at the first
    delivery: what may be called besides public addresses, and where links lead to.
    """

    async def open_() -> AsyncIterator[Teller]:
        async with telling(webhooks, *outlook()) as teller:
            yield teller

    opened: Any = Resource(open_)

    async def deliver(ctx: Context, webhook: str, event: Event, teller: Any = opened) -> str:
        """Tell an endpoint of an event; again later if it did not take it."""
        try:
            endpoint = await webhooks.aget(webhook)
            if not endpoint.enabled:
                raise Cancel(f"webhook {webhook} is switched off")
            tried: Tried = await teller.tell(endpoint, ctx.task_id, event, now())
        except WebhookNotFound:
            raise Cancel(f"webhook {webhook} was removed") from None
        if tried.gone:
            raise Cancel(f"webhook {webhook} is gone (410) and was switched off")
        if tried.failure is not None:
            raise Retry(tried.failure, least=tried.retry_after)
        return f"{tried.status}"

    return Kind(KIND, deliver, queue=QUEUE, priority=1, retry=RETRY, timeout=60 * SECOND)


def add_webhooks(app: Rota, *, reach: Reach = PUBLIC, public_url: str = "") -> TaskKind[..., Any]:
    """Have the workers of an app deliver alerts, besides those of servers; safe to call twice."""
    kind = app.registry.get(KIND)
    return app.add(kind or webhook_kind(app.webhooks, outlook=lambda: (reach, public_url)))


@asynccontextmanager
async def telling(webhooks: Webhooks, reach: Reach, public_url: str = "") -> AsyncIterator[Teller]:
    """Open what tells endpoints, for as long as it is needed."""
    fetcher = Fetcher(reach)
    try:
        yield Teller(webhooks, fetcher, public_url)
    finally:
        await fetcher.close()


def _failure(reply: Reply) -> str:
    return f"{reply.status} from {shown(reply.url)}"
