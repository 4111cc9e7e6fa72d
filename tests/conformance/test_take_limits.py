"""What limits let through is handed out, and no more (R7.4, R7.5)."""

from collections import Counter

import pytest

from rota.config import LEASE, SECOND
from rota.model import Lane, Micros, PriorityClass, Share
from rota.shares import Blocked, Held, Limit
from rota.store.base import Store
from tests.conformance.limits import (
    BOARD,
    MAIL,
    QUEUE,
    SCHOOL,
    limit,
    store_limits,
    take_under,
    under,
)
from tests.conformance.steps import open_worker, reap, take
from tests.support.factories import LANE, LATER, NOW, Make, completed, handed_back
from tests.support.places import Place

ALL = [BOARD, SCHOOL, MAIL]
FULL = [Blocked("cap", Held.CAP)]


async def submit_everywhere(store: Store, make: Make, count: int = 10) -> None:
    """Submit as many tasks to each of three lanes."""
    lanes = [(lane.queue, lane.tenant) for lane in ALL for _ in range(count)]
    await store.submit([make.task(queue=queue, tenant=tenant) for queue, tenant in lanes], NOW)


@pytest.mark.parametrize(
    ("limits", "expected", "blocked"),
    [
        pytest.param([], (10, 10, 10), {}, id="none"),
        pytest.param([limit("cap", max_running=100)], (10, 10, 10), {}, id="roomy"),
        pytest.param([limit("cap", max_running=4)], (4, 0, 10), {"cap": "cap"}, id="queue"),
        pytest.param([limit("cap", max_running=0)], (0, 0, 10), {"cap": "cap"}, id="nothing"),
        pytest.param(
            [limit("cap", tenant="board", max_running=4)],
            (4, 10, 0),
            {"cap": "cap"},
            id="tenant",
        ),
        pytest.param(
            [limit("cap", queue="mail", tenant="board", max_running=4)],
            (10, 10, 4),
            {"cap": "cap"},
            id="tenant in a queue",
        ),
        pytest.param(
            [limit("rate", rate=1.0, burst=3)], (3, 0, 10), {"rate": "rate"}, id="rate of a queue"
        ),
        pytest.param(
            [limit("both", rate=1.0, burst=7, max_running=5)],
            (5, 0, 10),
            {"both": "cap"},
            id="cap below the burst",
        ),
        pytest.param(
            [limit("both", rate=1.0, burst=5, max_running=7)],
            (5, 0, 10),
            {"both": "rate"},
            id="burst below the cap",
        ),
        pytest.param(
            [
                limit("queue", max_running=12),
                limit("tenant", tenant="board", max_running=9),
                limit("both", queue=QUEUE, tenant="board", max_running=5),
            ],
            (5, 7, 4),
            {"queue": "cap", "tenant": "cap", "both": "cap"},
            id="all of them at once",
        ),
    ],
)
async def test_each_lane_gets_what_all_of_its_limits_let_through(
    store: Store,
    make: Make,
    limits: list[Limit],
    expected: tuple[int, ...],
    blocked: dict[str, str],
) -> None:
    """R7.4, R7.5: in the order of the shares; who let less through says so."""
    session = await open_worker(store, make)
    await submit_everywhere(store, make)
    await store_limits(store, *limits)

    taken = await take_under(store, session, [under(lane, 10, limits) for lane in ALL])

    counts = Counter((task.queue, task.tenant) for task in taken.tasks)
    assert tuple(counts[lane.queue, lane.tenant] for lane in ALL) == expected
    assert {each.limit: each.why.value for each in taken.blocked} == blocked


async def test_what_runs_counts_however_it_was_handed_out(store: Store, make: Make) -> None:
    """R7.4: a limit that comes later counts what runs already, by whoever and in every class."""
    theirs, mine = await open_worker(store, make), await open_worker(store, make)
    await store.submit(make.tasks(6) + make.tasks(6, priority=0), NOW)
    await take(store, theirs, 2)
    await take(store, theirs, 2, lane=Lane(QUEUE, PriorityClass.CRITICAL, ""))
    cap = limit("cap", max_running=5)
    await store_limits(store, cap)

    taken = await take_under(store, mine, [under(LANE, 4, [cap])])

    assert len(taken.tasks) == 1
    assert list(taken.blocked) == FULL
    (use,) = await store.limit_use(["cap"], NOW)
    assert use.running == 5


async def test_a_slot_is_free_once_the_task_has_ended(store: Store, make: Make) -> None:
    """R7.4, B127: exactly one for each end that was accepted; a repeat of the report frees none."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(9), NOW)
    cap = limit("cap", max_running=3)
    await store_limits(store, cap)
    share = under(LANE, 9, [cap])
    first, second, _ = (await take_under(store, session, [share])).tasks

    none = await take_under(store, session, [share])
    reports = [completed(first), handed_back(second)]
    assert await store.finish(session, reports, NOW) == [True, True]
    assert await store.finish(session, reports, NOW) == [False, False]
    again = await take_under(store, session, [share])

    assert (none.tasks, list(none.blocked)) == ([], FULL)
    assert [task.id for task in again.tasks] == [second.id, again.tasks[1].id]


async def test_what_a_dead_worker_holds_counts_until_it_is_taken_back(
    store: Store, make: Make
) -> None:
    """R7.4: it may still run; once its lease is over and it was reaped, the slots are free."""
    dead = await open_worker(store, make)
    await store.submit(make.tasks(6), NOW)
    cap = limit("cap", max_running=3)
    await store_limits(store, cap)
    share = under(LANE, 6, [cap])
    await take_under(store, dead, [share])
    later = NOW + LEASE + 1
    session = await open_worker(store, make, at=later)

    before = await take_under(store, session, [share], later)
    assert len(await reap(store, later)) == 3
    after = await take_under(store, session, [share], later)

    assert (len(before.tasks), len(after.tasks)) == (0, 3)


async def test_a_limit_that_is_not_reached_blocks_nothing(store: Store, make: Make) -> None:
    """R7.8: a lane that has run dry was not held back, though more was asked for."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(3), NOW)
    cap = limit("cap", max_running=3, rate=1.0, burst=5)
    await store_limits(store, cap)

    taken = await take_under(store, session, [under(LANE, 3, [cap])])

    assert len(taken.tasks) == 3
    assert taken.blocked == ()


async def test_room_that_a_dry_lane_leaves_goes_to_the_next(store: Store, make: Make) -> None:
    """R7.3, R7.4: work-conserving within one hand-out."""
    session = await open_worker(store, make)
    few, many = make.tasks(2, tenant="board"), make.tasks(9, tenant="school")
    await store.submit(few + many, NOW)
    cap = limit("cap", max_running=5)
    await store_limits(store, cap)

    taken = await take_under(store, session, [under(lane, 5, [cap]) for lane in (BOARD, SCHOOL)])

    assert [task.id for task in taken.tasks] == [task.id for task in few + many[:3]]


async def test_shares_with_and_without_limits_are_answered_in_their_order(
    store: Store, make: Make
) -> None:
    """R7.3, R7.4: in rank order within each."""
    session = await open_worker(store, make)
    await submit_everywhere(store, make, 4)
    cap = limit("cap", tenant="school", max_running=3)
    await store_limits(store, cap)

    shares = [under(lane, 2, [cap]) for lane in (MAIL, SCHOOL, BOARD)]
    taken = await take_under(store, session, shares)

    assert [share.limits for share in shares] == [(), ("cap",), ()]
    expected = [(lane.queue, lane.tenant) for lane in (MAIL, SCHOOL, BOARD) for _ in range(2)]
    assert [(task.queue, task.tenant) for task in taken.tasks] == expected
    ids = [task.id for task in taken.tasks]
    assert all(ids[n] < ids[n + 1] for n in (0, 2, 4))


async def test_a_share_without_limits_passes_a_limit_by(store: Store, make: Make) -> None:
    """R7.4: who plans says which limits bind; the version of the settings says that it may."""
    session = await open_worker(store, make)
    await submit_everywhere(store, make)
    await store_limits(store, limit("cap", max_running=1))

    assert len((await take_under(store, session, [Share(BOARD, 5)])).tasks) == 5


async def test_a_limit_that_is_not_there_lets_nothing_through(store: Store, make: Make) -> None:
    """R7.4: as if another claimer had it; plan anew."""
    session = await open_worker(store, make)
    await submit_everywhere(store, make)

    taken = await take_under(store, session, [Share(BOARD, 5, ("gone",)), Share(MAIL, 2)])

    assert len(taken.tasks) == 2
    assert list(taken.blocked) == [Blocked("gone", Held.BUSY)]


@pytest.mark.parametrize("over", ["closed", "expired", "unknown"])
async def test_a_session_that_is_over_spends_nothing(store: Store, make: Make, over: str) -> None:
    """R3.1, R7.5."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(4), NOW)
    rate = limit("rate", rate=1.0, burst=2)
    await store_limits(store, rate)
    now = LATER if over == "expired" else NOW
    if over == "closed":
        await store.close_session(session, NOW)

    who = make.id() if over == "unknown" else session
    taken = await take_under(store, who, [under(LANE, 4, [rate])], now)

    assert taken.tasks == []
    (use,) = await store.limit_use(["rate"], now)
    assert use.tokens == 2


# -- tokens -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([0, 0, 0], [5, 0, 0], id="spent once"),
        pytest.param([0, 100, 150, 500], [5, 1, 0, 4], id="they come at the rate"),
        pytest.param([0, 99, 100], [5, 0, 1], id="a token comes whole"),
        pytest.param([0, 10_000], [5, 5], id="never more than the burst"),
        pytest.param([10_000, 9_000, 9_900, 10_100], [5, 0, 0, 1], id="a clock behind adds none"),
        pytest.param([20_000, 9_000, 9_100, 10_000], [5, 0, 1, 5], id="a clock that was set back"),
        pytest.param([0, 33, 66, 99, 132], [5, 0, 0, 0, 1], id="parts of a token add up"),
    ],
)
async def test_tokens_gather_at_the_rate_up_to_the_burst(
    store: Store, make: Make, steps: list[int], expected: list[int]
) -> None:
    """R7.5: ten a second, at most five at once; the steps are milliseconds."""
    await store.open_session(make.session(id=(session := make.id()), lease_until=LATER))
    await store.submit(make.tasks(40), NOW)
    rate = limit("rate", rate=10.0, burst=5)
    await store_limits(store, rate)

    got = []
    for step in steps:
        now = NOW + step * SECOND // 1000
        got.append(len((await take_under(store, session, [under(LANE, 9, [rate])], now)).tasks))

    assert got == expected


async def test_a_limit_without_tokens_says_when_there_will_be_one(store: Store, make: Make) -> None:
    """R7.5, R7.8: at that instant, and not a microsecond before, one more is handed out."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(9), NOW)
    rate = limit("rate", rate=3.0, burst=2)
    await store_limits(store, rate)
    share = under(LANE, 5, [rate])

    now: Micros = NOW
    for _ in range(4):
        (blocked,) = (await take_under(store, session, [share], now)).blocked
        assert blocked.why is Held.RATE
        assert blocked.until is not None
        assert (await take_under(store, session, [share], blocked.until - 2)).tasks == []
        now = blocked.until
        (use,) = await store.limit_use(["rate"], now)
        assert use.tokens == pytest.approx(1, abs=1e-5)
    assert len((await take_under(store, session, [share], now)).tasks) == 1
    assert now == pytest.approx(NOW + 4 * SECOND // 3, abs=5)


async def test_tokens_are_spent_for_what_was_handed_out_alone(store: Store, make: Make) -> None:
    """R7.5: not for what was asked for, nor for what another limit held back."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(3, tenant="board"), NOW)
    rate, cap = limit("rate", rate=1.0, burst=9), limit("cap", tenant="board", max_running=2)
    await store_limits(store, rate, cap)

    await take_under(store, session, [under(BOARD, 5, [rate, cap])])

    (use,) = await store.limit_use(["rate"], NOW)
    assert (use.tokens, use.as_of) == (7, NOW)


async def test_a_hundred_limits_in_one_hand_out(store: Store, make: Make, place: Place) -> None:
    """R7.4: each tenant has its own, and what runs under each is counted whatever their number."""
    workers = [await open_worker(store, make) for _ in range(20)]
    tenants = [f"school-{n:03}" for n in range(120)]
    await store.submit([make.task(tenant=t) for t in tenants for _ in range(5)], NOW)
    limits = [limit(f"limit-{t}", tenant=t, max_running=n % 4) for n, t in enumerate(tenants)]
    await store_limits(store, *limits)
    lanes = [Lane(QUEUE, LANE.cls, tenant) for tenant in tenants]

    for worker in workers:
        await take_under(store, worker, [under(lane, 1, limits) for lane in lanes])

    rows = "select tenant, count(*) from ready where session is not null group by tenant"
    running = dict(await place.rows(rows))
    assert [running.get(tenant, 0) for tenant in tenants] == [n % 4 for n in range(120)]
    uses = await store.limit_use([each.id for each in limits], NOW)
    assert [use.running for use in uses] == [n % 4 for n in range(120)]
