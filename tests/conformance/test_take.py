"""A task is handed out in rank order, to one live session, under a fence that grows (R3.2)."""

import pytest

from rota.config import LEASE, LEVEL, MINUTE
from rota.model import Claimed, Lane, Look, PriorityClass, Share, State
from rota.store.base import Store
from tests.conformance.steps import (
    beat,
    counts,
    one,
    open_worker,
    reap,
    take,
    take_all,
    take_shares,
)
from tests.support.factories import LANE, LATER, NOW, Make, again, error, handed_back
from tests.support.places import Place


async def test_a_task_is_handed_out_as_it_was_submitted(store: Store, make: Make) -> None:
    """R3.2, R3.3: with the fence and the attempt of this hand-out."""
    session = await open_worker(store, make)
    task = make.task(
        payload='{"student_id": 1}',
        tenant="board",
        timeout=30_000_000,
        retry='{"max_attempts":3}',
        expires_at=LATER,
        headers='{"traceparent":"00-1"}',
        tags=("exam",),
        run_at=NOW - 7,
        created_at=NOW - 9,
    )
    bare = make.task(tenant="board", payload="null")
    await store.submit([task, bare], NOW)

    claimed, second = await take(store, session, lane=Lane("default", LANE.cls, "board"))

    same = ("id", "kind", "queue", "tenant", "priority", "run_at", "created_at", "timeout")
    assert [getattr(claimed, name) for name in same] == [getattr(task, name) for name in same]
    assert claimed.expires_at == LATER
    assert (claimed.fence, claimed.attempt, claimed.lost, claimed.snoozes) == (1, 1, 0, 0)
    assert _squeezed(claimed) == [
        '{"student_id":1}',
        '{"max_attempts":3}',
        '{"traceparent":"00-1"}',
    ]
    assert _squeezed(second) == ["null", None, None]
    assert (second.timeout, second.expires_at) == (None, None)


def _squeezed(claimed: Claimed) -> list[str | None]:
    """The claimed JSON texts without the spaces that a store may add."""
    texts = (claimed.payload, claimed.retry, claimed.headers)
    return [text and text.replace(" ", "") for text in texts]


async def test_a_task_that_was_handed_out_is_running(store: Store, make: Make) -> None:
    """R9.1: since when, and by whom."""
    session = await open_worker(store, make)
    (task,) = make.tasks(1)
    await store.submit([task], NOW)

    await take(store, session, now=NOW + 5)

    read = await one(store, task.id)
    assert (read.state, read.session, read.started_at) == (State.RUNNING, session, NOW + 5)
    assert (read.fence, read.attempt) == (1, 1)


async def test_rank_orders_a_lane_so_that_ten_minutes_are_worth_one_level(
    store: Store, make: Make
) -> None:
    """R7.2: within a class, waiting raises a task past those of a better priority."""
    session = await open_worker(store, make)
    waited = make.task(priority=6, run_at=NOW - 2 * LEVEL - 1)
    urgent = make.task(priority=4)
    usual = make.task(priority=5, run_at=NOW - LEVEL + 1)
    patient = make.task(priority=6)
    await store.submit([patient, usual, urgent, waited], NOW)

    taken = [(await take(store, session, 1))[0].id for _ in range(4)]

    assert taken == [waited.id, urgent.id, usual.id, patient.id]


async def test_one_claim_is_answered_in_rank_order(store: Store, make: Make) -> None:
    """R7.2: the worker starts them in this order."""
    session = await open_worker(store, make)
    tasks = [make.task(run_at=NOW - (n * 7919) % 100) for n in range(100)]
    await store.submit(tasks, NOW)

    taken = await take(store, session, 100)

    expected = sorted(tasks, key=lambda task: (task.rank, task.id))
    assert [task.id for task in taken] == [task.id for task in expected]


async def test_equal_ranks_go_first_come_first_served(store: Store, make: Make) -> None:
    """R7.2: ids rise with time, and decide."""
    session = await open_worker(store, make)
    tasks = make.tasks(20)
    await store.submit(tasks[::-1], NOW)

    taken = [task.id for _ in range(4) for task in await take(store, session, 5)]

    assert taken == [task.id for task in tasks]


async def test_exactly_as_many_as_asked_for_are_handed_out(store: Store, make: Make) -> None:
    """B143, B139: a worker holds no more than its slots; the rest is there for others."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(10), NOW)

    assert len(await take(store, session, 3)) == 3
    assert await counts(store) == {State.READY: 7, State.RUNNING: 3}
    assert len(await take(store, session, 100)) == 7
    assert await take(store, session, 100) == []


async def test_what_others_hold_lies_between_and_is_passed_over(store: Store, make: Make) -> None:
    """Invariant 2: a lane has free tasks before, between and behind those that run."""
    theirs, mine = await open_worker(store, make), await open_worker(store, make)
    tasks = make.tasks(12)
    await store.submit(tasks, NOW)
    held = await take(store, theirs, 12)
    await store.finish(theirs, [handed_back(task) for task in held[::3]], NOW)

    taken = await take(store, mine, 12)

    assert [task.id for task in taken] == [task.id for task in tasks[::3]]
    assert len(await store.held(theirs, 100)) == 8


async def test_each_lane_of_a_claim_has_its_own_share(store: Store, make: Make) -> None:
    """R7.3: a claim is one call for all lanes, answered lane by lane."""
    session = await open_worker(store, make)
    tenants = ("board", "college", "parent", "alone")
    tasks = [make.task(tenant=tenant, run_at=NOW - n) for n in range(10) for tenant in tenants]
    critical = make.task(priority=0, tenant="board")
    mail = make.task(queue="mail", tenant="board")
    await store.submit([*tasks, critical, mail], NOW)
    shares = [
        Share(Lane("default", PriorityClass.NORMAL, "parent"), 4),
        Share(Lane("default", PriorityClass.CRITICAL, "board"), 9),
        Share(Lane("default", PriorityClass.NORMAL, "nobody"), 3),
        Share(Lane("default", PriorityClass.NORMAL, "board"), 2),
        Share(Lane("default", PriorityClass.NORMAL, "college"), 0),
    ]

    taken = await take_shares(store, session, shares)

    by_rank = sorted(tasks, key=lambda task: task.rank)
    assert [task.id for task in taken] == [
        *[task.id for task in by_rank if task.tenant == "parent"][:4],
        critical.id,
        *[task.id for task in by_rank if task.tenant == "board"][:2],
    ]


async def test_a_claim_without_shares_takes_nothing(store: Store, make: Make) -> None:
    """R7.3."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(1), NOW)

    assert await take_shares(store, session, []) == []


async def test_fence_and_attempt_grow_with_every_hand_out(store: Store, make: Make) -> None:
    """R3.2: whatever way the task comes back; a snooze gives the attempt back, never the fence."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(1), NOW)
    seen = []
    for _ in range(3):
        (task,) = await take(store, session)
        seen.append((task.fence, task.attempt))
        await store.finish(session, [handed_back(task)], NOW)
    for _ in range(3):
        (task,) = await take(store, session)
        seen.append((task.fence, task.attempt))
        await store.finish(session, [again(task, at=NOW + 1, error=error(task.attempt))], NOW)
        await store.stage(NOW + 1, 10)

    assert seen == [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2), (6, 3)]


async def test_kinds_to_avoid_are_passed_over(store: Store, make: Make) -> None:
    """B124: a worker that has no handler for a kind takes what lies behind it."""
    session = await open_worker(store, make)
    unknown = [make.task(kind=("old", "older")[n % 2], run_at=NOW - MINUTE) for n in range(200)]
    mixed = [make.task(kind=kind) for kind in ("send_result", "old") * 3]
    known = mixed[::2]
    await store.submit([*unknown, *mixed], NOW)

    taken = await take(store, session, 2, avoid=["old", "older"])

    assert [task.id for task in taken] == [task.id for task in known[:2]]
    assert {task.kind for task in await take(store, session, 50, avoid=["old"])} == {"older"}, (
        "those that wait longer come first again"
    )


async def test_a_session_that_is_over_takes_nothing(store: Store, make: Make) -> None:
    """R3.1: closed, ended by others, or never opened."""
    await store.submit(make.tasks(3), NOW)
    closed = await open_worker(store, make)
    await store.close_session(closed, NOW)
    ended = await open_worker(store, make)
    await store.end_expired(NOW + LEASE + 1, 10)

    for session in (closed, ended, make.id()):
        assert await take_all(store, session) == []

    assert await counts(store) == {State.READY: 3}


async def test_a_session_whose_lease_has_run_out_takes_nothing(store: Store, make: Make) -> None:
    """R3.1, B161: though nobody has ended it yet."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(2), NOW)

    assert len(await take(store, session, 1, now=NOW + LEASE - 1)) == 1
    assert await take(store, session, now=NOW + LEASE + 1) == []
    assert await counts(store) == {State.READY: 1, State.RUNNING: 1}


async def test_a_renewed_lease_takes_again(store: Store, make: Make) -> None:
    """R3.1: a lease that ran out but was not ended is a late worker, not a dead one."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(1), NOW)

    assert await beat(store, session, NOW + LEASE - 1)

    assert len(await take(store, session, now=NOW + LEASE + 1)) == 1


async def test_what_a_session_holds_is_read_back_with_its_fences(store: Store, make: Make) -> None:
    """F5: a claim whose answer was lost is read again, and nothing of anybody else's."""
    mine, theirs = await open_worker(store, make), await open_worker(store, make)
    await store.submit(make.tasks(5), NOW)
    taken = await take(store, mine, 3)
    await take(store, theirs, 1)

    assert sorted(await store.held(mine, 10), key=_by_id) == sorted(taken, key=_by_id)
    assert len(await store.held(mine, 2)) == 2
    assert await store.held(make.id(), 10) == []

    await store.finish(mine, [handed_back(taken[0])], NOW)
    assert {task.id for task in await store.held(mine, 10)} == {task.id for task in taken[1:]}


def _by_id(claimed: Claimed) -> str:
    return claimed.id


async def test_a_task_is_never_held_before_it_is_due(store: Store, make: Make) -> None:
    """R2.3, B100, B142: a far-off task is leased by nobody, however often they ask."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(20, run_at=NOW + 10 * MINUTE), NOW)

    assert (await store.lanes([Look("default", LANE.cls)], 5)).lanes == []
    assert await take_all(store, session) == []
    assert await store.held(session, 10) == []
    assert await reap(store, NOW + 2 * LEASE) == []
    assert await counts(store) == {State.SCHEDULED: 20}


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_what_another_claimer_is_taking_is_skipped_and_not_waited_for(
    place: Place, store: Store, make: Make
) -> None:
    """R7.3: five rows locked in front; the claim takes the five behind them at once."""
    session = await open_worker(store, make)
    tasks = make.tasks(10)
    await store.submit(tasks, NOW)
    async with place.connection() as rival, rival.transaction():
        await rival.execute("select 1 from ready order by rank, id limit 5 for update")

        taken = await take(store, session, 5)

    assert [task.id for task in taken] == [task.id for task in tasks[5:]]
    assert [task.id for task in await take(store, session, 10)] == [t.id for t in tasks[:5]]
