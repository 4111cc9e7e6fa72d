"""Whoever races for a task, exactly one of them gets it."""

import asyncio
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from rota.config import LEASE
from rota.model import CancelOutcome, State
from rota.store.base import Store
from tests.conformance.steps import counts, one, open_worker, reap, take, take_all
from tests.support.factories import LATER, NOW, Make, again, completed, error, lost
from tests.support.places import Place


async def take_until_none(store: Store, session: str, batch: int) -> list[str]:
    """Claim after claim until one finds nothing."""
    taken: list[str] = []
    while claimed := await take(store, session, batch):
        taken += [task.id for task in claimed]
    return taken


async def test_eight_claimers_share_two_thousand_tasks_without_a_duplicate(
    store: Store, other: Store, make: Make
) -> None:
    """Invariant 2, B167: two nodes, four sessions each."""
    tasks = make.tasks(2000)
    await store.submit(tasks, NOW)
    claimers = [(at, await open_worker(at, make)) for at in (store, other) * 4]

    shares = await asyncio.gather(*(take_until_none(at, own, 7) for at, own in claimers))
    # A claim passes over what another is just taking, so a few may be left.
    rest = await take_until_none(store, claimers[0][1], 100)

    taken = [task_id for share in shares for task_id in share] + rest
    assert sorted(taken) == [task.id for task in tasks]
    held = [len(await store.held(own, 3000)) for _, own in claimers]
    assert held[1:] == [len(share) for share in shares[1:]]


async def test_two_nodes_that_claim_one_by_one_never_meet(
    store: Store, other: Store, make: Make
) -> None:
    """B104: the claim is one atomic statement whatever the batch size."""
    tasks = make.tasks(300)
    await store.submit(tasks, NOW)
    claimers = [(at, await open_worker(at, make)) for at in (store, other)]

    shares = await asyncio.gather(*(take_until_none(at, own, 1) for at, own in claimers))
    rest = await take_until_none(store, claimers[0][1], 1)

    assert Counter([*shares[0], *shares[1], *rest]) == Counter(task.id for task in tasks)


async def test_one_of_eight_claimers_gets_the_only_task(
    store: Store, other: Store, make: Make
) -> None:
    """Invariant 2: round after round."""
    sessions = [(at, await open_worker(at, make)) for at in (store, other) * 4]
    for _ in range(15):
        task = make.task()
        await store.submit([task], NOW)

        answers = await asyncio.gather(*(take(at, own) for at, own in sessions))

        assert [claimed.id for answer in answers for claimed in answer] == [task.id]


@pytest.mark.slow
def test_four_processes_share_ten_thousand_tasks_without_a_duplicate(
    place: Place, make: Make, runner: asyncio.Runner
) -> None:
    """B167: 0 duplicates, and on SQLite none is left over either."""
    tasks = make.tasks(10_000)
    runner.run(_submit(place, tasks))

    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        shares = list(pool.map(claim_all, [place] * 4, range(100, 104)))

    taken = [task_id for share in shares for task_id in share]
    assert len(set(taken)) == len(taken)
    left = runner.run(place.value("select count(*) from ready where session is null"))
    assert len(taken) + left == 10_000
    assert place.dialect == "postgres" or left == 0


async def _submit(place: Place, tasks: list) -> None:  # type: ignore[type-arg]
    store = place.store()
    await store.migrate()
    await store.open()
    await store.submit(tasks, NOW)
    await store.close()


def claim_all(place: Place, seed: int) -> list[str]:
    """Take what there is, as a process of its own."""

    async def claim() -> list[str]:
        store = place.store()
        await store.open()
        taken = await take_until_none(store, await open_worker(store, Make(seed)), 20)
        await store.close()
        return taken

    return asyncio.run(claim())


async def test_a_report_and_a_reaper_cannot_both_have_their_way(
    store: Store, other: Store, make: Make
) -> None:
    """F7, B125: from both ends of the same fifty tasks, whatever the order of the locks."""
    for _ in range(8):
        await store.submit(make.tasks(50), NOW)
        session = await open_worker(store, make)
        held = await take_all(store, session)

        reported, reaped = await asyncio.gather(
            store.finish(session, [completed(task) for task in held], NOW),
            other.finish(session, [lost(task) for task in reversed(held)], NOW),
        )

        assert [a + b for a, b in zip(reported, reversed(reaped), strict=True)] == [1] * 50
        for task, done in zip(held, reported, strict=True):
            assert (await one(store, task.id)).state is (State.COMPLETED if done else State.READY)
        await store.cancel([task.id for task in held], NOW)


async def test_two_reapers_give_every_task_back_once(
    store: Store, other: Store, make: Make
) -> None:
    """R8.3: each lost lease is counted once, whoever finds it."""
    tasks = make.tasks(60)
    await store.submit(tasks, NOW)
    for _ in range(6):
        await take(store, await open_worker(store, make), 10)
    at = NOW + LEASE + 1

    given = await asyncio.gather(reap(store, at), reap(other, at))

    assert sorted([*given[0], *given[1]]) == [task.id for task in tasks]
    assert {(await one(store, task.id)).lost for task in tasks} == {1}


async def test_a_task_is_either_cancelled_or_taken(store: Store, other: Store, make: Make) -> None:
    """B137: and the caller is told which."""
    session = await open_worker(store, make)
    for _ in range(8):
        tasks = make.tasks(40)
        await store.submit(tasks, NOW)
        ids = [task.id for task in tasks]

        outcomes, taken = await asyncio.gather(
            other.cancel(ids[::-1], NOW), take(store, session, 25)
        )

        running = {task.id for task in taken}
        assert dict(zip(ids[::-1], outcomes, strict=True)) == {
            task_id: CancelOutcome.ACCEPTED if task_id in running else CancelOutcome.COMPLETED
            for task_id in ids
        }
        assert await store.finish(session, [completed(task) for task in taken], NOW) == [
            True
        ] * len(taken)


async def test_a_scheduled_task_is_staged_retried_or_cancelled_but_stays_one_task(
    store: Store, other: Store, make: Make
) -> None:
    """Invariant 1: three verbs want to move it at the same instant."""
    for _ in range(8):
        tasks = make.tasks(40, run_at=LATER)
        await store.submit(tasks, NOW)
        ids = [task.id for task in tasks]

        _, cancelled, retried = await asyncio.gather(
            store.stage(LATER, 100), other.cancel(ids[::-1], LATER), store.retry(ids, LATER)
        )

        states = [task.state for task in await store.get(ids) if task]
        assert len(states) == 40
        for state, outcome in zip(states, reversed(cancelled), strict=True):
            assert (state is State.CANCELLED) == (outcome is CancelOutcome.COMPLETED)
        assert len(retried) == 40
        await store.stage(LATER, 100)
        await store.cancel(ids, LATER)
    assert await counts(store) == {State.CANCELLED: 320}


async def test_dead_letters_are_replayed_once_by_two_operators(
    store: Store, other: Store, make: Make
) -> None:
    """F58: both replay the same list at once."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(30), NOW)
    held = await take(store, session, 30)
    await store.finish(session, [again(task, LATER, error()) for task in held], NOW)
    ids = [task.id for task in held]

    answers = await asyncio.gather(store.retry(ids, NOW), other.retry(ids[::-1], NOW))

    done = [outcome.value for outcome in answers[0]], [o.value for o in reversed(answers[1])]
    assert all({a, b} == {"completed", "not_retryable"} for a, b in zip(*done, strict=True))
    assert await counts(store) == {State.READY: 30}
