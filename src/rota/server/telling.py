"""How this server tells endpoints of alerts: its own kind for that, and the test button (R4.5)."""

from rota.clock import Clock, Ids
from rota.contrib._addresses import PUBLIC, Reach
from rota.contrib.webhook import Tried, telling, webhook_kind
from rota.registry import Kind
from rota.webhooks import Webhooks


class Telling:
    """Delivers webhooks from a server process; `reach` is what it may call besides the public.

    `public_url` is where people find this server: links in messages begin with it.
    """

    def __init__(self, webhooks: Webhooks, clock: Clock, ids: Ids) -> None:
        self.reach: Reach = PUBLIC
        self.public_url = ""
        self._webhooks = webhooks
        self._clock = clock
        self._ids = ids

    def kind(self) -> Kind:
        """Return the kind of the deliveries, for the server's own worker."""
        return webhook_kind(self._webhooks, outlook=lambda: (self.reach, self.public_url))

    async def test(self, webhook_id: str) -> Tried:
        """Send a test message at once and return what came of it; `WebhookNotFound`."""
        now = self._clock.now()
        async with telling(self._webhooks, self.reach, self.public_url) as teller:
            return await teller.test(webhook_id, self._ids.new(now), now)
