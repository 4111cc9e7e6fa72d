"""Settings and limits as the JSON that every outward face shows (R9.1)."""

import json
from typing import Any

import pytest

from rota import share_views
from rota.config import MINUTE
from rota.shares import KindSettings, Limit, LimitUse, QueueSettings, TenantSettings
from tests.support.factories import NOW

SINCE = "2027-01-15T08:00:00.000000Z"
PAUSED = {"paused": True, "paused_at": SINCE, "pause_reason": "down"}
ACTIVE = {"paused": False, "paused_at": None, "pause_reason": None}
LIMIT = Limit(id="1", queue="sms", max_running=200, rate=0.5, burst=5, version=2)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (
            share_views.queue(
                QueueSettings(name="sms", aging=5 * MINUTE, paused_at=NOW, pause_reason="down")
            ),
            {
                "name": "sms",
                **PAUSED,
                "weights": {"critical": 50, "high": 30, "normal": 15, "low": 5},
                "aging": 300,
                "fair_by": "tasks",
                "max_depth": None,
                "when_full": "refuse",
                "version": 0,
            },
        ),
        (
            share_views.tenant(TenantSettings(name="", weight=3, max_depth=9, version=4)),
            {"name": "", **ACTIVE, "weight": 3, "max_depth": 9, "version": 4},
        ),
        (share_views.kind(KindSettings(name="send")), {"name": "send", **ACTIVE, "version": 0}),
        (
            share_views.limit_use(LimitUse(LIMIT, 7, 1 / 3, NOW)),
            {
                "id": "1", "queue": "sms", "tenant": None, "max_running": 200, "rate": 0.5,
                "burst": 5, "version": 2, "running": 7, "tokens": 0.333, "as_of": SINCE,
            },
        ),
    ],
    ids=["queue", "tenant", "kind", "limit"],
)  # fmt: skip
def test_every_field_is_there(shown: dict[str, Any], expected: dict[str, Any]) -> None:
    assert shown == expected
    assert json.loads(json.dumps(shown)) == shown
