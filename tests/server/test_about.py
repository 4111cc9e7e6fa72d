"""What a server says of itself (§1)."""

import pytest

from rota import __version__, zones
from rota.access import Role
from rota.config import PAYLOAD_BYTES
from rota.server.shapes.about import ServerInfo
from tests.support.asking import Asker
from tests.support.shapes import fits


@pytest.mark.parametrize("key", [*Role, "read@board"])
async def test_any_key_may_read_versions_and_bounds(asker: Asker, key: str) -> None:
    told = await asker.using(key).ask("GET", "/v1/server")
    shown = fits(told.json, ServerInfo)
    assert (shown.version, shown.protocols, shown.tz_data) == (__version__, [1], zones.version())
    assert shown.limits["payload_bytes"] == PAYLOAD_BYTES


async def test_without_a_key_nothing_is_told(asker: Asker) -> None:
    assert (await asker.using(None).ask("GET", "/v1/server")).status == 401
