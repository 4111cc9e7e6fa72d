"""Weights, aging and shares of time, as they are stored and as they come out of the stores."""

from collections import Counter

import pytest
from msgspec import structs

from rota.backend import Report
from rota.clock import ManualClock, new_rng
from rota.config import LEVEL, MINUTE, SECOND
from rota.engine import Engine
from rota.model import AttemptError
from rota.policy.lifecycle import Completed, Failed, Released, Snoozed
from rota.shares import FairBy, QueueSettings, TenantSettings, Weights
from tests.engine.claiming import ANY, Hand, ids, put
from tests.engine.recurring import scheduled
from tests.support.factories import NOW, Make
from tests.support.places import Place
from tests.support.schedules import REPORT

only_sqlite = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


async def test_one_tenant_cannot_delay_another_with_two_workers(
    engine: Engine, make: Make, clock: ManualClock, place: Place
) -> None:
    """R7.3, case B140: each worker has turns of its own."""
    store = place.store()
    other = Engine(store, clock, new_rng(2))
    await other.open()
    hands = [await Hand(one, make, clock).open() for one in (engine, other)]
    await engine.submit(make.tasks(1_000, tenant="board"))
    for hand in hands:
        await hand.claim(7)
        await hand.end()
    await engine.submit(make.tasks(50, tenant="college"))

    served = Counter[str]()
    while served["college"] < 50:
        for hand in hands:
            served.update(task.tenant for task in (await hand.claim(7)).tasks)
            await hand.end()
    await other.close()

    assert served["board"] <= 110


async def test_tenants_share_by_their_weights_from_the_next_claim_on(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.3: 1:1, and then 3:1 within one round."""
    hand = await Hand(engine, make, clock).open()
    await engine.submit([make.task(tenant=name) for name in ("board", "college") * 100])

    before = Counter(task.tenant for task in (await hand.claim(20)).tasks)
    await put(engine, TenantSettings(name="board", weight=3))
    after = Counter(task.tenant for task in (await hand.claim(40)).tasks)

    assert before == {"board": 10, "college": 10}
    assert abs(after["board"] - 3 * after["college"]) <= 3


async def test_classes_share_by_the_weights_of_their_queue(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.1: the other queue has the defaults."""
    hand = await Hand(engine, make, clock).open()
    equal = Weights(critical=1, high=1, normal=1, low=1)
    await put(engine, QueueSettings(name="sms", weights=equal))
    for queue in ("sms", "mail"):
        await engine.submit([make.task(queue=queue, priority=p) for p in (0, 2, 5, 9) * 100])

    for _ in range(20):
        await hand.claim(10, "sms", "mail")

    got = Counter((task.queue, task.priority) for task in hand.held)
    assert [got["sms", p] for p in (0, 2, 5, 9)] == pytest.approx([25] * 4, abs=1)
    assert [got["mail", p] for p in (0, 2, 5, 9)] == pytest.approx([50, 30, 15, 5], abs=1)


@pytest.mark.parametrize("aging", [LEVEL, MINUTE, 45 * SECOND])
async def test_an_old_task_of_low_priority_goes_first_exactly_when_the_rule_says(
    engine: Engine, make: Make, clock: ManualClock, aging: int
) -> None:
    """R7.2: priority 10 is three levels below 7, of the same class."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, QueueSettings(name="default", aging=aging))
    old = make.task(priority=10)
    await engine.submit([old])
    clock.advance(3 * aging / SECOND - 1)
    young = make.task(priority=7, run_at=clock.now(), created_at=clock.now())
    clock.advance(2)
    younger = make.task(priority=7, run_at=clock.now(), created_at=clock.now())
    await engine.submit([younger, young])

    assert ids((await hand.claim()).tasks) == ids([young, old, younger])


@pytest.mark.parametrize(
    "ending",
    [
        Released(),
        Snoozed(NOW + SECOND),
        Failed(AttemptError(at=NOW, attempt=1, type="E", message="no"), after=SECOND),
    ],
    ids=["handed back", "snoozed", "retried"],
)
async def test_a_task_that_comes_back_has_the_rank_of_its_queue(
    engine: Engine, make: Make, clock: ManualClock, place: Place, ending: Released
) -> None:
    """R7.2: `run_at + priority * aging`."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, QueueSettings(name="default", aging=MINUTE))
    await engine.submit([make.task(priority=7)])
    await hand.claim()
    await hand.end(ending=ending)
    clock.advance(2)
    await engine.stage()

    run_at, rank = (await place.rows("select run_at, rank from ready"))[0]
    assert rank == run_at + 7 * MINUTE


async def test_a_lost_task_has_the_rank_of_its_queue(
    engine: Engine, make: Make, clock: ManualClock, place: Place
) -> None:
    """R7.2: whoever takes it back has read the settings."""
    hand = await Hand(engine, make, clock).open(SECOND)
    await put(engine, QueueSettings(name="default", aging=MINUTE))
    await engine.submit([make.task(priority=7)])
    await hand.claim()
    clock.advance(5)
    reaper = Engine(engine.store, clock, new_rng(2))

    assert await reaper.reap() == 1
    run_at, rank = (await place.rows("select run_at, rank from ready"))[0]
    assert rank == run_at + 7 * MINUTE


@only_sqlite
async def test_a_tenant_with_slow_tasks_gets_no_more_time_than_its_share(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.3: ten times as slow, so a tenth as many, by what the runs were reported to take."""
    takes = {"fast": 1.0, "slow": 10.0}
    hand = await Hand(engine, make, clock).open()
    await put(engine, QueueSettings(name="default", fair_by=FairBy.TIME))
    await engine.submit([make.task(tenant=name) for name in takes for _ in range(400)])

    spent, ran = Counter[str](), Counter[str]()
    while ran.total() < 220:
        for task in (await hand.claim(1)).tasks:
            ran[task.tenant] += 1
            spent[task.tenant] += int(takes[task.tenant])
            clock.advance(takes[task.tenant])
            await hand.end(seconds=takes[task.tenant])

    assert spent["slow"] / spent.total() == pytest.approx(0.5, abs=0.06)


@only_sqlite
async def test_a_run_that_was_not_one_is_not_charged(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.3: a tenant whose tasks are handed back does not pay for them."""
    hand = await Hand(engine, make, clock).open()
    await put(engine, QueueSettings(name="default", fair_by=FairBy.TIME))
    await engine.submit([make.task(tenant=name) for name in ("a", "b") * 100])
    await hand.claim(20)
    mine = [task for task in hand.held if task.tenant == "a"]
    hand.held = [*mine, *(task for task in hand.held if task.tenant == "b")]
    await _hand_back(hand, len(mine))
    await hand.end(ending=Completed(), seconds=1.0)

    got = Counter(task.tenant for task in (await hand.claim(20)).tasks)

    assert got["a"] > got["b"]


async def _hand_back(hand: Hand, count: int) -> None:
    over, hand.held = hand.held[:count], hand.held[count:]
    await hand.engine.finish(hand.session.id, [Report(task, Released(), ANY) for task in over])


async def test_very_many_queues_are_looked_at_a_few_at_a_time_and_all_are_reached(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R7.1: a worker with patterns may have hundreds of them."""
    hand = await Hand(engine, make, clock).open()
    names = [f"q{n:03}" for n in range(200)]
    await engine.submit([make.task(queue="q177"), make.task(queue="q003")])

    got = [task.queue for _ in range(2) for task in (await hand.claim(10, *names)).tasks]

    assert sorted(got) == ["q003", "q177"]


async def test_a_task_of_a_schedule_has_the_rank_of_its_queue(
    engine: Engine, make: Make, clock: ManualClock, place: Place
) -> None:
    """R7.2, R6.4: who fires it has read the settings."""
    await put(engine, QueueSettings(name=REPORT.queue, aging=MINUTE))
    await scheduled(engine, make, work=structs.replace(REPORT, priority=7))
    clock.advance(60)
    await engine.fire()

    run_at, rank = (await place.rows("select run_at, rank from ready"))[0]
    assert rank == run_at + 7 * MINUTE
