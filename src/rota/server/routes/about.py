"""What this server is: version, protocol and bounds, so that clients need no constants (R8.5)."""

from typing import Any

from rota import __version__, config, zones
from rota.access import Role
from rota.http.wire import CLAIM_MOST
from rota.insights import COUNT_CAP, PAGE, PAGE_MOST
from rota.schedule_runs import BACKFILL_MOST
from rota.server.body import READ_SECONDS
from rota.server.items import ITEMS_MOST, LINE_BYTES
from rota.server.route import BODY_BYTES, Answer, Call, Route, roles
from rota.server.routes.batches import BATCH_BYTES
from rota.server.routes.tasks import WAIT_MOST
from rota.server.shapes.about import ServerInfo
from rota.times import show_instant
from rota.views import seconds

PROTOCOLS = (1,)
"""The worker protocols that this server speaks."""
FEATURES: list[str] = ["events", "schedules", "settings", "limits"]
"""What has been added since the first release; a part appends its own."""
LIMITS: dict[str, Any] = {
    "body_bytes": BODY_BYTES,
    "body_seconds": READ_SECONDS,
    "batch_items": ITEMS_MOST,
    "batch_bytes": BATCH_BYTES,
    "line_bytes": LINE_BYTES,
    "claim": CLAIM_MOST,
    "wait_s": WAIT_MOST,
    "page": PAGE,
    "page_most": PAGE_MOST,
    "count_most": COUNT_CAP,
    "payload_bytes": config.PAYLOAD_BYTES,
    "payload_depth": config.PAYLOAD_DEPTH,
    "result_bytes": config.RESULT_BYTES,
    "checkpoint_bytes": config.CHECKPOINT_BYTES,
    "tags": config.TAGS,
    "tag_chars": config.TAG_CHARS,
    "headers": config.HEADERS,
    "headers_bytes": config.HEADERS_BYTES,
    "key_chars": config.KEY_CHARS,
    "reason_chars": config.REASON_CHARS,
    "cron_chars": config.CRON_CHARS,
    "priority_lowest": config.PRIORITY_LOWEST,
    "delay_s": seconds(config.LONGEST_DELAY),
    "backfill_slots": BACKFILL_MOST,
}
"""The bounds of what is sent and answered; a part adds its own."""


async def show_server(call: Call) -> Answer:
    place = call.place
    return Answer(
        {
            "version": __version__,
            "protocols": PROTOCOLS,
            "features": sorted(FEATURES),
            "store": place.engine.store.traits.dialect,
            "tz_data": zones.version(),
            "time": show_instant(place.clock.now()),
            "draining": place.draining,
            "limits": LIMITS,
        }
    )


ROUTES = (
    Route(
        method="GET", path="/v1/server", name="server_get",
        summary="Show the server's version, protocol and bounds.", run=show_server,
        roles=roles(*Role), tag="server", answers=ServerInfo,
    ),
)  # fmt: skip
