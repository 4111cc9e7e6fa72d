"""What is paused is not started, from the claim on that begins after the pause (R7.7)."""

from typing import Any

import pytest

from rota.clock import ManualClock, new_rng
from rota.config import SECOND
from rota.engine import Engine
from rota.engine.looking import LANES_LEAST
from rota.shares import KindSettings, QueueSettings, TenantSettings
from tests.engine.claiming import AnySettings, Hand, ids, put
from tests.support.factories import NOW, Make
from tests.support.places import Place

PAUSES = [
    QueueSettings(name="sms", paused_at=NOW, pause_reason="provider down"),
    TenantSettings(name="board", paused_at=NOW),
    KindSettings(name="send_result", paused_at=NOW),
]
each_pause = pytest.mark.parametrize("pause", PAUSES, ids=["queue", "tenant", "kind"])


def resumed(pause: AnySettings) -> AnySettings:
    return type(pause)(name=pause.name)


@each_pause
async def test_nothing_of_it_starts_after_the_pause_was_stored(
    engine: Engine, make: Make, clock: ManualClock, place: Place, pause: AnySettings
) -> None:
    """R7.7, invariant 4: whoever stored it, and however lately this node has looked."""
    hand = await Hand(engine, make, clock).open()
    await engine.submit(make.tasks(20, queue="sms", tenant="board"))
    await engine.submit(make.tasks(2, queue="mail", kind="other"))
    first = await hand.claim(3, "sms")
    other = Engine(place.store(), clock, new_rng(2))
    await other.open()

    await put(other, pause)
    during = await hand.claim(100, "sms", "mail")
    await put(other, resumed(pause))
    after = await hand.claim(100, "sms", "mail")
    await other.close()

    assert len(first.tasks) == 3
    assert [task.queue for task in during.tasks] == ["mail", "mail"]
    assert len(after.tasks) == 17


@each_pause
async def test_a_pause_that_comes_while_a_claim_is_planned_holds_for_it(
    engine: Engine,
    make: Make,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    pause: AnySettings,
) -> None:
    """Cases B160, B163: what was planned by older settings is refused, and planned anew."""
    hand = await Hand(engine, make, clock).open()
    await engine.submit(make.tasks(5, queue="sms", tenant="board"))
    await engine.submit(make.tasks(2, queue="mail", kind="other"))
    take = engine.store.take
    stale: list[bool] = []

    async def late(*args: Any, **named: Any) -> object:
        if not stale:
            await engine.store.put_settings(pause, 0)
        taken = await take(*args, **named)
        stale.append(taken.stale)
        return taken

    monkeypatch.setattr(engine.store, "take", late)
    claim = await hand.claim(10, "sms", "mail")

    assert stale[0]
    assert not any(stale[1:])
    assert [task.queue for task in claim.tasks] == ["mail", "mail"]


async def test_settings_that_change_all_the_time_do_not_hold_up_a_claim_for_ever(
    engine: Engine, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7.7: the claimer is told to come again soon."""
    hand = await Hand(engine, make, clock).open()
    await engine.submit(make.tasks(5))
    take = engine.store.take
    version = 0

    async def late(*args: Any, **named: Any) -> object:
        nonlocal version
        await engine.store.put_settings(TenantSettings(name="someone"), version)
        version += 1
        return await take(*args, **named)

    monkeypatch.setattr(engine.store, "take", late)
    claim = await hand.claim()

    assert claim.tasks == []
    assert version < 10
    assert claim.again_at is not None
    assert clock.now() < claim.again_at < clock.now() + SECOND // 10


@pytest.mark.parametrize("slots", [1, 50])
async def test_a_page_full_of_paused_tenants_does_not_starve_the_others(
    engine: Engine, make: Make, clock: ManualClock, slots: int
) -> None:
    """R7.7: those that come first by name are all paused."""
    hand = await Hand(engine, make, clock).open()
    names = [f"paused-{n:03}" for n in range(max(slots, LANES_LEAST) + 10)]
    await engine.submit([make.task(tenant=name) for name in names])
    await put(engine, *(TenantSettings(name=name, paused_at=NOW) for name in names))
    tasks = make.tasks(3, tenant="working")
    await engine.submit(tasks)

    started = [task for _ in range(3) for task in (await hand.claim(slots)).tasks]

    assert ids(started) == ids(tasks)


async def test_tenants_behind_more_paused_ones_than_a_claim_looks_at_are_reached(
    engine: Engine, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7.7: the next claim looks on from there, and is told to come at once."""
    monkeypatch.setattr("rota.engine.looking.PAGE", 5)
    monkeypatch.setattr("rota.engine.looking.PAGES", 2)
    hand = await Hand(engine, make, clock).open()
    names = [f"paused-{n:03}" for n in range(60)]
    await engine.submit([make.task(tenant=name) for name in names])
    await put(engine, *(TenantSettings(name=name, paused_at=NOW) for name in names))
    await engine.submit([make.task(tenant="working")])

    claims = [await hand.claim(1) for _ in range(3)]

    assert [len(claim.tasks) for claim in claims] == [0, 0, 1]
    assert claims[0].again_at == clock.now()


async def test_a_worker_of_paused_queues_sees_that_they_go_on(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.7: there is nothing to look at, and yet each look says whether the settings are new."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, QueueSettings(name="default", paused_at=NOW))
    await engine.submit(make.tasks(2))
    assert (await hand.claim()).tasks == []

    await engine.store.put_settings(QueueSettings(name="default"), 1)

    assert len((await hand.claim()).tasks) == 2


async def test_running_tasks_of_a_paused_queue_go_on_and_end(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.7"""
    hand = await Hand(engine, make, clock).open()
    await engine.submit(make.tasks(2))
    await hand.claim(1)
    await put(engine, QueueSettings(name="default", paused_at=NOW))

    assert await hand.end() == [True]
    assert (await hand.claim()).tasks == []
