"""`GET /v1/doctor`."""

import msgspec

from rota.config import HOUR
from rota.engine import Engine
from rota.server.shapes.doctor import Diagnosis
from tests.support.asking import Asker
from tests.support.factories import NOW, Make


async def test_the_doctor_tells_what_is_wrong_and_what_to_do(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """Issue 6, point 7."""
    await engine.store.submit(make.tasks(2, queue="sms", run_at=NOW - HOUR), NOW)
    told = await asker.ask("GET", "/v1/doctor")
    assert told.status == 200
    found = msgspec.convert(told.json, Diagnosis)
    assert set(told.json) == set(Diagnosis.__struct_fields__)
    assert not found.ok
    alone = next(finding for finding in found.findings if finding.code == "no_worker")
    assert "2 tasks wait in queue sms" in alone.what
    assert alone.remedy == "rota worker APP --queue sms"
    assert alone.numbers["waiting"] == 2


async def test_it_tells_of_everything_so_it_tells_it_only_to_an_unbound_admin(
    asker: Asker,
) -> None:
    """S2: numbers of other tenants are nobody else's business."""
    for key in ("submit", "read", "operate", "worker", "admin@board"):
        assert (await asker.using(key).ask("GET", "/v1/doctor")).code == "forbidden"
