"""How many tasks ended, minute by minute, whether a row is kept of them or not (R9.1, R9.5)."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from rota.config import DAY, KEEP_TALLIES, MINUTE
from rota.model import Claimed, NewTask, State, Transition
from rota.store.base import Store
from tests.conformance.steps import bring, counts, one, open_worker, take, take_all
from tests.support.factories import (
    LATER,
    NOW,
    Make,
    again,
    cancelled,
    completed,
    error,
    failed,
    handed_back,
    kept,
    lane_of,
    lost,
)
from tests.support.places import Place

QUEUE, KIND = "default", "send_result"
COMPLETED, CANCELLED, FAILED = State.COMPLETED, State.CANCELLED, State.FAILED


async def test_what_ends_is_counted_by_queue_kind_and_state(store: Store, make: Make) -> None:
    """R9.1: in one batch, and in the next."""
    session = await open_worker(store, make)
    tasks: list[NewTask] = []
    for queue, kind, count in (("sms", "send", 3), ("sms", "ask", 2), ("mail", "send", 4)):
        tasks += make.tasks(count, queue=queue, kind=kind)
    await store.submit(tasks, NOW)
    sms = await take(store, session, lane=lane_of(tasks[0]))
    mail = await take(store, session, lane=lane_of(tasks[-1]))

    ends = [completed(task) for task in sms[1:] + mail[2:]]
    await store.finish(session, [*ends, failed(sms[0], error()), cancelled(mail[0])], NOW)
    await store.finish(session, [completed(mail[1])], NOW)

    assert await store.tallies(NOW) == {
        ("sms", "send", COMPLETED): 2,
        ("sms", "send", FAILED): 1,
        ("sms", "ask", COMPLETED): 2,
        ("mail", "send", COMPLETED): 3,
        ("mail", "send", CANCELLED): 1,
    }


async def test_what_goes_on_is_not_counted(store: Store, make: Make) -> None:
    """R9.1: nor is a report that was refused, nor one that is repeated."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(4), NOW)
    first, second, third, fourth = await take(store, session)
    assert await store.tallies(0) == {}

    await store.finish(session, [again(first), lost(second), handed_back(third)], NOW)
    await store.finish(session, [completed(first), failed(second), cancelled(third)], NOW)
    assert await store.tallies(0) == {}

    assert await store.finish(session, [completed(fourth)] * 2, NOW) == [True, False]
    assert await store.finish(session, [completed(fourth), completed(first)], NOW) == [False] * 2
    assert await store.tallies(0) == {(QUEUE, KIND, COMPLETED): 1}


async def test_what_is_cancelled_from_outside_is_counted(store: Store, make: Make) -> None:
    """R9.1: at once, by its deadline, or because its time was over."""
    ids = [
        (await bring(store, make, State.SCHEDULED)).id,
        (await bring(store, make, State.RUNNING)).id,
    ]
    ids.append((await bring(store, make, State.READY)).id)

    await store.cancel(ids, NOW, NOW)
    assert await store.tallies(0) == {(QUEUE, KIND, CANCELLED): 2}
    await store.cancel(ids, NOW, NOW)
    await store.revoke_overdue(NOW, 10)
    assert await store.tallies(0) == {(QUEUE, KIND, CANCELLED): 3}
    await store.submit([make.task(expires_at=NOW), make.task(run_at=LATER, expires_at=NOW)], NOW)
    await store.expire(NOW, 10)
    assert await store.tallies(0) == {(QUEUE, KIND, CANCELLED): 5}


async def test_a_replay_counts_what_becomes_of_it(store: Store, make: Make) -> None:
    """R9.1: the failure stays counted; a retry and a copy end once more."""
    first = await bring(store, make, FAILED)
    second = await bring(store, make, FAILED)

    await store.retry([first.id], NOW)
    await store.replay([second.id], [make.id()], NOW)
    session = await open_worker(store, make)
    await store.finish(session, [completed(t) for t in await take_all(store, session)], NOW)

    assert await store.tallies(0) == {(QUEUE, KIND, FAILED): 2, (QUEUE, KIND, COMPLETED): 2}


async def test_a_success_that_is_worth_no_row_leaves_its_count(store: Store, make: Make) -> None:
    """R9.5: with `keep` False a task that completes is gone, beside others that stay."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(5), NOW)
    held = await take(store, session)

    reports = [completed(task, "1", keep=n % 2 == 0) for n, task in enumerate(held)]
    assert await store.finish(session, reports, NOW) == [True] * 5

    read = [task is not None for task in await store.get([task.id for task in held])]
    assert read == [True, False, True, False, True]
    assert await counts(store) == {COMPLETED: 3}
    assert await store.tallies(0) == {(QUEUE, KIND, COMPLETED): 5}
    assert await store.held(session, 10) == []


async def test_without_a_row_a_report_is_guarded_as_any_other(store: Store, make: Make) -> None:
    """R3.2: an old fence, another session and a repeat change nothing."""
    old = await open_worker(store, make)
    await store.submit(make.tasks(2), NOW)
    task, other = await take(store, old)
    await store.finish(old, [lost(task)], NOW)
    new = await open_worker(store, make)
    (mine,) = await take(store, new)

    gone = completed(task, keep=False), completed(other, keep=False)
    assert await store.finish(old, gone, NOW) == [False, True]
    assert await store.finish(new, [gone[1]], NOW) == [False]
    assert (await one(store, task.id)).state is State.RUNNING
    mine_gone = completed(mine, keep=False)
    assert await store.finish(new, [mine_gone, mine_gone], NOW) == [True, False]
    assert await store.tallies(0) == {(QUEUE, KIND, COMPLETED): 2}


@pytest.mark.parametrize("end", [failed, cancelled])
async def test_a_row_is_left_of_whatever_did_not_succeed(
    store: Store, make: Make, end: Callable[[Claimed], Transition]
) -> None:
    """Invariant 1: a dead letter is never dropped for the sake of room."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(1), NOW)
    (task,) = await take(store, session)
    report = msgspec.structs.replace(end(task), keep=False)

    assert await store.finish(session, [report], NOW) == [True]

    assert (await one(store, task.id)).state is report.to


async def test_counts_are_kept_by_the_minute(store: Store, make: Make) -> None:
    """R9.1: `since` counts the whole minute that it lies in, and all after it."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(4), NOW)
    begin = NOW - NOW % MINUTE
    ends = [begin, begin + MINUTE - 1, begin + MINUTE, begin + 3 * MINUTE]
    for at, task in zip(ends, await take(store, session), strict=True):
        await store.finish(session, [completed(task)], at)

    async def since(at: int) -> int:
        return sum((await store.tallies(at)).values())

    assert [await since(begin + n * MINUTE) for n in range(-1, 5)] == [4, 4, 2, 1, 1, 0]
    assert await since(begin + 1) == await since(begin + MINUTE - 1) == 4


async def test_those_who_finish_at_once_lose_no_count(
    store: Store, other: Store, make: Make
) -> None:
    """R9.1: the same queue and kind, from two nodes with four workers each."""
    workers = []
    for at in (store, other) * 4:
        session = await open_worker(store, make)
        await store.submit(make.tasks(50), NOW)
        workers.append((at, session, await take(store, session, 50)))

    async def finish(at: Store, session: str, held: list[Claimed]) -> None:
        for n in range(0, 50, 10):
            reports = [completed(task, keep=n % 20 == 0) for task in held[n : n + 10]]
            await at.finish(session, reports, NOW)

    await asyncio.gather(*(finish(*worker) for worker in workers))

    assert await store.tallies(0) == {(QUEUE, KIND, COMPLETED): 400}


async def test_old_counts_are_forgotten(place: Place, store: Store, make: Make) -> None:
    """B148: they do not pile up."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(2), NOW)
    first, second = await take(store, session)
    await store.finish(session, [completed(first)], NOW)
    await store.finish(session, [completed(second)], NOW + DAY)

    await store.prune(NOW + KEEP_TALLIES, kept(DAY), 100)
    assert sum((await store.tallies(0)).values()) == 2
    await store.prune(NOW + KEEP_TALLIES + MINUTE, kept(DAY), 100)
    assert await store.tallies(0) == {(QUEUE, KIND, COMPLETED): 1}
    await store.prune(NOW + KEEP_TALLIES + 2 * DAY, kept(DAY), 100)

    assert await place.value("select count(*) from tally") == 0
