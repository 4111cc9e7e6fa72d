"""Who got how much over time, over HTTP (issue 7, point 6; R7.3)."""

import msgspec
import pytest

from rota import Rota
from rota.access import Role
from rota.clock import ManualClock
from rota.engine import Engine
from rota.server.shapes import statistics as shapes
from tests.server.doors import ON_SQLITE, Door
from tests.server.test_stats import work_off
from tests.support.asking import Asker
from tests.support.factories import Make


@pytest.fixture
def make() -> Make:
    """Makes what tests need."""
    return Make()


async def serve(engine: Engine, make: Make) -> None:
    """Complete six tasks of the board and two of the college."""
    await work_off(engine, make, 6, tenant="board")
    await work_off(engine, make, 2, tenant="college")


async def test_shares_are_shown_step_by_step(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    await serve(engine, make)
    clock.advance(60)
    await work_off(engine, make, 1, tenant="college")

    told = await asker.ask("GET", "/v1/stats/shares?since=10m")

    shown = msgspec.convert(told.json, shapes.Shares)
    first, second = shown.items
    assert (first.completed, first.ran_s) == (8, 4.0)
    assert [(one.tenant, one.share, one.time_share, one.due) for one in first.tenants] == [
        ("board", 0.75, 0.75, 0.5),
        ("college", 0.25, 0.25, 0.5),
    ]
    assert [(one.tenant, one.completed) for one in second.tenants] == [("college", 1)]
    one = await asker.ask("GET", "/v1/stats/shares?since=10m&tenant=board&step=5m")
    assert [[part["tenant"] for part in item["tenants"]] for item in one.json["items"]] == [
        ["board"]
    ]


@pytest.mark.parametrize(
    ("query", "word"),
    [("step=90s", "step"), ("most=0", "most"), ("most=201", "most"), ("tenant=a%20b", "tenant")],
)
async def test_what_cannot_be_asked_is_named(asker: Asker, query: str, word: str) -> None:
    told = await asker.ask("GET", f"/v1/stats/shares?{query}")

    assert told.status == 422
    assert word in told.json["detail"]


async def test_a_tenants_key_sees_what_it_got_and_nothing_of_others(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """S2: no sum and no share, from which the others' numbers would follow."""
    await serve(engine, make)
    own = asker.using("read@college")

    told = await own.ask("GET", "/v1/stats/shares")

    (item,) = told.json["items"]
    assert (item["completed"], item["ran_s"]) == (None, None)
    assert item["tenants"] == [
        {
            "tenant": "college", "completed": 2, "ran_s": 1.0,
            "share": None, "time_share": None, "due": None,
        }
    ]  # fmt: skip
    assert (await asker.using("read@club").ask("GET", "/v1/stats/shares")).json["items"] == []
    other = await own.ask("GET", "/v1/stats/shares?tenant=board")
    assert (other.status, other.code) == (403, "tenant_mismatch")


@ON_SQLITE
async def test_a_queues_key_is_refused(app: Rota, engine: Engine) -> None:
    """S2: service is of all queues together."""
    asker = await Door(app, engine).asker(Role.READ, queues=["sms"])

    assert (await asker.ask("GET", "/v1/stats/shares")).status == 403
