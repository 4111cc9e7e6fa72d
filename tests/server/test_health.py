"""`/healthz` and `/readyz`: told from memory, to whoever asks (R9.3, R3.7)."""

from typing import Any

import msgspec
import pytest

from rota.clock import ManualClock
from rota.engine import Engine
from rota.node.health import FRESH, OFFSET_MOST
from rota.server.front import Front
from rota.server.shapes import statistics as shapes
from tests.support.asking import Asker


class Silent:
    """A store that must not be asked."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was asked of the store")


@pytest.fixture
def prober(asker: Asker) -> Asker:
    """Asks without a key, as probes do."""
    return asker.using(None)


async def test_a_process_that_turns_is_alive(prober: Asker, engine: Engine) -> None:
    """R9.3: also while the store is away."""
    store, engine.store = engine.store, Silent()
    told = await prober.ask("GET", "/healthz")
    engine.store = store
    assert (told.status, told.json) == (200, {"status": "ok"})


async def test_it_is_ready_once_the_store_answers_and_duties_are_done(
    prober: Asker, engine: Engine, clock: ManualClock
) -> None:
    """R9.3."""
    told = await prober.ask("GET", "/readyz")
    assert (told.status, told.json["status"]) == (503, "not_ready")
    await engine.stage()
    clock.advance(1)
    told = await prober.ask("GET", "/readyz")
    assert (told.status, told.json["status"]) == (200, "ready")
    msgspec.convert(told.json, shapes.Ready)
    checks = told.json["checks"]
    assert (checks["store"], checks["scheduler_tick"]) == ({"ok": True, "age_s": 1.0},) * 2
    assert checks["migrations"] == {"ok": True}


async def test_a_probe_asks_the_store_nothing(
    prober: Asker, engine: Engine, clock: ManualClock
) -> None:
    """R2.4: ten probes a second cost no statement; when the store is away it is told by its age."""
    await engine.stage()
    store, engine.store = engine.store, Silent()
    clock.advance(FRESH)
    assert (await prober.ask("GET", "/readyz")).status == 200
    clock.advance(0.5)
    told = await prober.ask("GET", "/readyz")
    assert (told.status, told.json["checks"]["store"]) == (503, {"ok": False, "age_s": 10.5})
    engine.store = store
    await engine.stage()
    assert (await prober.ask("GET", "/readyz")).status == 200


async def test_what_others_do_counts_for_a_server_without_duties(
    prober: Asker, engine: Engine, server: Front, clock: ManualClock
) -> None:
    """R8.3: duties may be done anywhere; a server that does none is not to blame if none are."""
    await engine.look()
    assert (await prober.ask("GET", "/readyz")).status == 503
    await engine.store.tick(["stage"], clock.now(), 0)
    await engine.look()
    assert (await prober.ask("GET", "/readyz")).status == 200
    clock.advance(FRESH + 1)
    await engine.look()
    assert (await prober.ask("GET", "/readyz")).status == 503
    server.place.health.does_duties = False
    assert (await prober.ask("GET", "/readyz")).status == 200


async def test_a_clock_that_is_far_off_is_told(prober: Asker, engine: Engine) -> None:
    """B166."""
    await engine.stage()
    engine.vitals.offset = -OFFSET_MOST - 1
    told = await prober.ask("GET", "/readyz")
    assert (told.status, told.json["checks"]["clock"]["ok"]) == (503, False)


async def test_from_the_drain_onward_nothing_is_sent_here(
    prober: Asker, engine: Engine, server: Front
) -> None:
    """R3.6: balancers look elsewhere before the server is gone; it is alive all the same."""
    await engine.stage()
    server.place.draining = True
    told = await prober.ask("GET", "/readyz")
    assert (told.status, told.json["status"]) == (503, "draining")
    assert (await prober.ask("GET", "/healthz")).status == 200


async def test_no_name_and_no_address_is_told(prober: Asker, engine: Engine) -> None:
    """S1: anybody may ask."""
    await engine.stage()
    told = (await prober.ask("GET", "/readyz")).json
    assert set(told) == {"status", "checks"}
    assert set(told["checks"]) == {"store", "scheduler_tick", "migrations", "clock"}
    assert {key for check in told["checks"].values() for key in check} == {
        "ok", "age_s", "offset_s",
    }  # fmt: skip
