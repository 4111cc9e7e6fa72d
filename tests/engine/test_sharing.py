"""Settings and limits through the engine: guarded changes that every node hears of."""

import pytest

from rota.clock import ManualClock, new_rng
from rota.engine import Engine
from rota.engine.sharing import FRESH
from rota.model import Micros
from rota.shares import Depth, Limit, QueueSettings, TenantSettings
from rota.store.base import CHANGED
from tests.engine.claiming import Hand, put
from tests.support.factories import NOW, Make

LIMIT = Limit(id="0193f2a1-7c5e-7d3a-9b1f-000000000001", queue="sms", max_running=3)


@pytest.fixture
def hints(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[Micros]:
    """What the nodes are told."""
    told: list[Micros] = []

    async def notify(at: Micros) -> None:
        told.append(at)

    monkeypatch.setattr(engine.store, "notify", notify)
    return told


async def test_every_change_is_news(engine: Engine, hints: list[Micros]) -> None:
    """R7.7: idle nodes look at once; a change that was not made is none."""
    queue = QueueSettings(name="sms", paused_at=NOW)
    assert await engine.put_settings(queue, 0)
    assert await engine.put_limit(LIMIT, 0)
    assert not await engine.put_settings(queue, 0)
    assert not await engine.put_limit(LIMIT, 7)
    stored = (await engine.settings()).queues["sms"]
    assert await engine.drop_settings(stored)
    assert await engine.drop_limit(LIMIT.id)
    assert not await engine.drop_limit(LIMIT.id)

    assert hints == [CHANGED] * 4


async def test_the_use_of_a_limit_is_what_runs_now(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.8"""
    hand = await Hand(engine, make, clock).open()
    await put(engine, LIMIT)
    await engine.submit(make.tasks(5, queue="sms"))
    await hand.claim(2, "sms")

    (use,) = await engine.limit_use([LIMIT.id])

    assert (use.running, use.tokens, use.as_of) == (2, None, clock.now())


async def test_depths_and_queues_with_work(engine: Engine, make: Make) -> None:
    """R1.7, R7.6"""
    await engine.submit(make.tasks(3, queue="sms", tenant="a") + make.tasks(2, queue="mail"))

    queues, tenants = await engine.depths(["sms", "push"], ["a"], 2)

    assert Depth("sms", 2) in queues
    assert tenants == [Depth("a", 2)]
    assert sorted(await engine.queues_with_work()) == ["mail", "sms"]


async def test_a_claim_reads_the_settings_only_when_they_have_changed(
    engine: Engine, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7.7: each look says by which version; a claim costs no more for it."""
    hand = await Hand(engine, make, clock).open()
    other = Engine(engine.store, clock, new_rng(2))
    reads = 0
    read = engine.store.settings

    async def counted() -> object:
        nonlocal reads
        reads += 1
        return await read()

    monkeypatch.setattr(engine.store, "settings", counted)
    seen = []
    for _ in range(5):
        await hand.claim()
    seen.append(reads)
    await engine.store.put_settings(TenantSettings(name="a", weight=2), 0)
    for _ in range(5):
        await hand.claim()
    seen.append(reads)
    del other

    assert seen == [1, 2]


async def test_who_submits_knows_of_a_change_within_a_second(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """Issue 5: changes take effect within a second everywhere."""
    await engine.submit([make.task()])
    await engine.store.put_settings(QueueSettings(name="default", aging=1_000), 0)
    clock.advance(FRESH + 0.001)

    await engine.submit([make.task()])

    assert engine._known.aging("default") == 1_000
