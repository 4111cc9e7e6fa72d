"""A key returns the first task again, for its window and as long as that task is live (R1.4)."""

import asyncio

import pytest

from rota.model import Accepted, State
from rota.store.base import Store
from tests.conformance.steps import bring, counts, one, open_worker, take_all
from tests.support.factories import LATER, NOW, Make, completed
from tests.support.places import Place


async def test_the_same_key_returns_the_first_task(store: Store, make: Make) -> None:
    """R1.4: and says that it made none."""
    first, second = make.keyed("hold-17"), make.keyed("hold-17", payload="2", run_at=LATER)

    assert await store.submit([first], NOW) == [Accepted(first.id)]
    assert await store.submit([second], NOW) == [Accepted(first.id, created=False)]
    assert await store.submit([second], NOW) == [Accepted(first.id, created=False)]

    assert await store.get([second.id]) == [None]
    assert await counts(store) == {State.READY: 1}


async def test_a_key_belongs_to_its_kind_and_its_tenant(store: Store, make: Make) -> None:
    """R1.4: others may use the same word."""
    tasks = [
        make.keyed("hold-17"),
        make.keyed("hold-17", kind="send_reminder"),
        make.keyed("hold-17", tenant="board"),
        make.keyed("hold-17", tenant="board", kind="send_reminder"),
        make.keyed("HOLD-17"),
    ]

    assert await store.submit(tasks, NOW) == [Accepted(task.id) for task in tasks]


async def test_a_queue_is_no_part_of_a_key(store: Store, make: Make) -> None:
    """R1.4: the same work is the same work in whatever queue it waits."""
    first, second = make.keyed("hold-17"), make.keyed("hold-17", queue="slow", priority=9)
    await store.submit([first], NOW)

    assert await store.submit([second], NOW) == [Accepted(first.id, created=False)]


async def test_tasks_without_a_key_never_meet(store: Store, make: Make) -> None:
    """R1.4: equal tasks are still two tasks."""
    tasks = make.tasks(3, payload="1")

    assert await store.submit(tasks, NOW) == [Accepted(task.id) for task in tasks]


async def test_duplicates_within_one_batch_are_found(store: Store, make: Make) -> None:
    """B107: [k1, k1, k2] makes two tasks, and the answer maps each input to its task."""
    first, second, third = make.keyed("k1"), make.keyed("k1"), make.keyed("k2")

    accepted = await store.submit([first, second, third], NOW)

    assert accepted == [
        Accepted(first.id),
        Accepted(first.id, created=False),
        Accepted(third.id),
    ]
    assert await store.get([second.id]) == [None]
    assert await store.submit([first, second, third], NOW) == accepted
    assert await counts(store) == {State.READY: 2}


@pytest.mark.parametrize("due_first", [True, False])
async def test_the_first_in_the_batch_wins_whichever_table_it_goes_to(
    store: Store, make: Make, due_first: bool
) -> None:
    """B107: due and scheduled tasks are written apart but decided together."""
    due, later = make.keyed("k1"), make.keyed("k1", run_at=LATER)
    batch = [due, later] if due_first else [later, due]

    accepted = await store.submit(batch, NOW)

    assert accepted == [Accepted(batch[0].id), Accepted(batch[0].id, created=False)]
    assert len(await counts(store)) == 1


@pytest.mark.parametrize("state", [State.COMPLETED, State.CANCELLED])
async def test_a_key_is_held_for_its_window_after_the_task_is_over(
    store: Store, make: Make, state: State
) -> None:
    """R1.4."""
    first = await bring(store, make, state, make.keyed("hold-17", until=LATER))
    second = make.keyed("hold-17", until=LATER * 2)

    assert await store.submit([second], LATER - 1) == [Accepted(first.id, created=False)]
    assert await store.submit([second], LATER + 1) == [Accepted(second.id)]
    assert await store.submit([make.keyed("hold-17")], LATER + 2) == [
        Accepted(second.id, created=False)
    ]


@pytest.mark.parametrize("state", [State.SCHEDULED, State.READY, State.RUNNING])
async def test_a_key_is_held_past_its_window_while_its_task_is_live(
    store: Store, make: Make, state: State
) -> None:
    """R1.4: two live tasks never carry one key."""
    run_at = LATER * 2 if state is State.SCHEDULED else NOW
    first = await bring(store, make, state, make.keyed("hold-17", until=LATER, run_at=run_at))

    assert await store.submit([make.keyed("hold-17")], LATER + 1) == [
        Accepted(first.id, created=False)
    ]
    assert await counts(store) == {state: 1}


async def test_a_repeat_of_a_keyed_task_whose_window_is_over_makes_no_second_one(
    store: Store, make: Make
) -> None:
    """R1.4: its id is stored, whatever became of its key."""
    first = await bring(store, make, State.COMPLETED, make.keyed("hold-17"))

    assert await store.submit([first], LATER + 1) == [Accepted(first.id)]

    assert await counts(store) == {State.COMPLETED: 1}


async def test_a_repeat_of_a_task_whose_key_has_passed_on_is_still_a_repeat(
    store: Store, make: Make
) -> None:
    """R1.4: the first caller asks again, very late; both tasks exist, no third one is made."""
    first = await bring(store, make, State.COMPLETED, make.keyed("hold-17"))
    second = make.keyed("hold-17")
    assert await store.submit([second], LATER + 1) == [Accepted(second.id)]

    assert await store.submit([first], LATER + 2) == [Accepted(first.id)]
    assert await store.submit([second], LATER + 2) == [Accepted(second.id)]
    assert await store.submit([first, second, make.keyed("hold-17")], LATER + 2) == [
        Accepted(first.id),
        Accepted(second.id),
        Accepted(second.id, created=False),
    ]

    assert await counts(store) == {State.COMPLETED: 1, State.READY: 1}


async def test_one_of_many_callers_at_once_makes_the_task(
    store: Store, other: Store, make: Make
) -> None:
    """R1.4, B106: all are told the same id, one that it made the task."""
    for key in ("k1", "k2", "k3"):
        rivals = [make.keyed(key, run_at=NOW if n % 2 else LATER) for n in range(8)]

        answers = await asyncio.gather(
            *((store, other)[n % 2].submit([task], NOW) for n, task in enumerate(rivals))
        )

        (winner,) = {accepted.id for (accepted,) in answers}
        assert [accepted.created for (accepted,) in answers] == [t.id == winner for t in rivals]
        assert (await one(store, winner)).key == key
    assert sum((await counts(store)).values()) == 3


async def test_a_key_without_a_window_is_held_by_one_live_task_at_a_time(
    store: Store, other: Store, make: Make
) -> None:
    """R1.4: it passes on the moment that its task is over, and to one of those who ask at once."""
    session = await open_worker(store, make)
    for n in range(10):
        rivals = [make.keyed("hold-17", until=NOW) for _ in range(6)]

        answers = await asyncio.gather(
            *((store, other)[n % 2].submit([task], NOW) for n, task in enumerate(rivals))
        )

        (winner,) = {accepted.id for (accepted,) in answers}
        assert [accepted.created for (accepted,) in answers] == [t.id == winner for t in rivals]
        (claimed,) = await take_all(store, session)
        assert claimed.id == winner
        await store.finish(session, [completed(claimed)], NOW)
        assert await counts(store) == {State.COMPLETED: n + 1}


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_a_key_that_passes_on_while_it_is_asked_for_has_a_live_task(
    place: Place, store: Store, make: Make
) -> None:
    """B106, R1.4: the task of a transaction that has just committed is live, though it was not
    there when the other's statement began."""
    await bring(store, make, State.COMPLETED, make.keyed("hold-17", until=NOW))
    rival, task = make.id(), make.keyed("hold-17", until=NOW)
    async with place.connection() as first, first.transaction():
        await first.execute("update task_key set task_id = $1", rival)
        await first.execute(
            """
                insert into ready
                select $1, kind, queue, tenant, priority, class, run_at, rank, created_at, fence,
                    attempt, lost, snoozes, payload, timeout, retry, expires_at, key
                from finished
                """,
            rival,
        )
        submitted = asyncio.create_task(store.submit([task], NOW))
        while await place.value("select count(*) from pg_locks where not granted") < 1:
            pass  # each look is a round trip; the submit comes to wait for the key

    assert await submitted == [Accepted(rival, created=False)]
    assert await counts(store) == {State.COMPLETED: 1, State.READY: 1}


async def test_batches_with_the_same_keys_in_opposite_order_do_not_lock_each_other_out(
    store: Store, other: Store, make: Make
) -> None:
    """R1.4: two callers, the same hundred keys, one from each end."""
    for n in range(5):
        forth = [make.keyed(f"round-{n}-{key}") for key in range(100)]
        back = [make.keyed(f"round-{n}-{key}") for key in reversed(range(100))]

        answers = await asyncio.gather(store.submit(forth, NOW), other.submit(back, NOW))

        ids = [[accepted.id for accepted in answer] for answer in answers]
        assert ids[0] == ids[1][::-1]
    assert await counts(store) == {State.READY: 500}


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_five_transactions_of_which_four_roll_back_leave_one_task(
    place: Place, store: Store, make: Make
) -> None:
    """B106: nobody trusts an insert that may still be undone."""
    claim = """
        insert into task_key (kind, tenant, key, task_id, expires_at)
        values ('send_result', '', 'hold-17', $1, $2)
        on conflict do nothing
    """
    task = make.keyed("hold-17")

    async def claim_and_roll_back() -> None:
        async with place.connection() as rival:
            transaction = rival.transaction()
            await transaction.start()
            await rival.execute(claim, make.id(), LATER)
            await transaction.rollback()

    async with place.connection() as first, asyncio.TaskGroup() as group:
        transaction = first.transaction()
        await transaction.start()
        await first.execute(claim, make.id(), LATER)
        for _ in range(3):
            group.create_task(claim_and_roll_back())
        submitted = group.create_task(store.submit([task], NOW))
        while await place.value("select count(*) from pg_locks where not granted") < 4:
            pass  # each look is a round trip; all four come to wait for the first insert
        await transaction.rollback()

    assert submitted.result() == [Accepted(task.id)]
    assert await counts(store) == {State.READY: 1}
    assert await place.rows("select task_id::text from task_key") == [(task.id,)]
