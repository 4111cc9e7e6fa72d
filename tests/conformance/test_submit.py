"""What was accepted is stored, once, and durable when the caller has its answer."""

import asyncio
from typing import Any

import pytest

from rota.errors import StoreError
from rota.model import Accepted, State, Task
from rota.store.base import Store
from tests.conformance.steps import bring, counts, one, open_worker, take_all
from tests.support.factories import (
    LATER,
    NOW,
    Make,
    again,
    cancelled,
    completed,
    failed,
    lost,
)
from tests.support.places import Place


async def test_a_due_task_is_ready_and_a_later_one_is_scheduled(store: Store, make: Make) -> None:
    """R1.2: due at `now` itself is due."""
    tasks = [make.task(run_at=at) for at in (NOW - 1, NOW, NOW + 1, LATER)]

    accepted = await store.submit(tasks, NOW)

    assert accepted == [Accepted(task.id) for task in tasks]
    states = [(await one(store, task.id)).state for task in tasks]
    assert states == [State.READY, State.READY, State.SCHEDULED, State.SCHEDULED]


@pytest.mark.parametrize("run_at", [NOW, LATER], ids=["ready", "scheduled"])
async def test_every_field_is_read_back_as_it_was_submitted(
    store: Store, make: Make, run_at: int
) -> None:
    """R1.1: also text that is not ASCII, numbers that no float holds, and quotes."""
    text = "Grüße an 学生 'quoted' \\ \"twice\" {nul: 0}"
    task = make.task(
        run_at=run_at,
        kind="mail.send-1",
        payload='{"n":9007199254740993,"text":"Gr\\u00fc\\u00dfe","nothing":null,"list":[1.5,true]}',
        queue="reports",
        tenant=text,
        priority=7,
        timeout=30_000_000,
        retry='{"max_attempts":3}',
        expires_at=LATER + 1,
        key=text,
        key_until=LATER,
        tags=("exam", text),
        headers='{"traceparent":"00-1"}',
    )

    await store.submit([task], NOW)

    assert await one(store, task.id) == Task(
        id=task.id,
        kind="mail.send-1",
        queue="reports",
        tenant=text,
        priority=7,
        state=State.READY if run_at == NOW else State.SCHEDULED,
        payload={"n": 9007199254740993, "text": "Grüße", "nothing": None, "list": [1.5, True]},
        created_at=NOW,
        run_at=run_at,
        expires_at=LATER + 1,
        timeout=30_000_000,
        retry={"max_attempts": 3},
        key=text,
        tags=("exam", text),
        headers={"traceparent": "00-1"},
    )


async def test_a_payload_may_be_any_json(store: Store, make: Make) -> None:
    """R1.1: an object is usual, but null is a payload too."""
    payloads = ["null", "[]", "0", '""', "false", '{"a":{"b":[{}]}}']
    tasks = [make.task(payload=payload) for payload in payloads]

    await store.submit(tasks, NOW)

    read = [(await one(store, task.id)).payload for task in tasks]
    assert read == [None, [], 0, "", False, {"a": {"b": [{}]}}]


async def test_nothing_to_submit_is_answered_with_nothing(store: Store) -> None:
    """R1.3."""
    assert await store.submit([], NOW) == []


async def test_what_was_answered_is_seen_by_every_other_process(
    store: Store, other: Store, make: Make
) -> None:
    """R1.2: the answer comes after the commit."""
    tasks = [make.task(), make.task(run_at=LATER)]

    await store.submit(tasks, NOW)

    assert [task and task.id for task in await other.get([t.id for t in tasks])] == [
        task.id for task in tasks
    ]


@pytest.mark.parametrize("state", list(State))
async def test_a_repeat_changes_nothing_whatever_became_of_the_task(
    store: Store, make: Make, state: State
) -> None:
    """R1.4: a caller that never saw its answer asks again with the same ids."""
    task = await bring(store, make, state)
    before = await one(store, task.id)

    assert await store.submit([task], LATER) == [Accepted(task.id)]

    assert await one(store, task.id) == before
    assert await counts(store) == {state: 1}


async def test_a_repeat_in_a_mixed_batch_is_told_apart_from_what_is_new(
    store: Store, make: Make
) -> None:
    """R1.4: answers come in the order of the tasks."""
    first = [make.task(), make.task(run_at=LATER), make.keyed("hold-17")]
    await store.submit(first, NOW)
    new = [make.task(), make.task(run_at=LATER), make.keyed("hold-18")]
    loser = make.keyed("hold-17")
    batch = [new[0], first[0], loser, new[1], first[1], new[2], first[2]]

    accepted = await store.submit(batch, NOW)

    expected = [Accepted(task.id) for task in batch]
    expected[2] = Accepted(first[2].id, created=False)
    assert accepted == expected
    assert await store.get([loser.id]) == [None]
    assert await counts(store) == {State.READY: 4, State.SCHEDULED: 2}


async def test_a_batch_of_ten_thousand_is_stored_whole_and_repeated_whole(
    store: Store, make: Make
) -> None:
    """R1.3, R1.5: beyond the bind values of one statement and the rows of one insert."""
    tasks = [
        make.task(tenant=f"school-{n % 20}", run_at=NOW if n % 2 else LATER) for n in range(10_000)
    ]
    expected = [Accepted(task.id) for task in tasks]

    assert await store.submit(tasks, NOW) == expected
    assert await store.submit(tasks, NOW) == expected

    assert await counts(store) == {State.READY: 5000, State.SCHEDULED: 5000}


async def test_a_batch_with_a_task_that_the_store_refuses_stores_nothing(
    store: Store, make: Make
) -> None:
    """R1.6: nothing is half stored, neither tasks nor keys."""
    nothing: Any = None
    good = [make.task(), make.keyed("hold-17"), make.task(run_at=LATER)]

    for bad in (make.task(kind=nothing), make.task(run_at=LATER, kind=nothing)):
        with pytest.raises(StoreError):
            await store.submit([*good, bad], NOW)

    assert await counts(store) == {}
    again = make.keyed("hold-17")
    assert await store.submit([again], NOW) == [Accepted(again.id)]


async def test_many_small_submits_at_once_are_all_stored(store: Store, make: Make) -> None:
    """R1.2: concurrent callers get their own answers."""
    batches = [make.tasks(3) for _ in range(40)]

    answers = await asyncio.gather(*(store.submit(batch, NOW) for batch in batches))

    assert answers == [[Accepted(task.id) for task in batch] for batch in batches]
    assert await counts(store) == {State.READY: 120}


async def test_the_same_batch_twice_at_once_is_stored_once(
    store: Store, other: Store, make: Make
) -> None:
    """R1.4, F5: the repeat may meet a first call that has not committed yet."""
    for n in range(6):
        batch = [*make.tasks(20), *make.tasks(20, run_at=LATER)]
        if n % 2:
            batch.append(make.keyed(f"round-{n}"))

        answers = await asyncio.gather(store.submit(batch, NOW), other.submit(batch, NOW))

        assert answers[0] == answers[1] == [Accepted(task.id) for task in batch]
        await take_all(store, await open_worker(store, make))
    assert await counts(store) == {State.RUNNING: 123, State.SCHEDULED: 120}


@pytest.mark.parametrize("size", [10, 100])
async def test_a_batch_is_repeated_safely_after_its_tasks_have_gone_their_ways(
    store: Store, make: Make, size: int
) -> None:
    """R1.4: however large it is, and however a store writes large ones."""
    batch = [make.task(run_at=LATER if n % 2 else NOW) for n in range(size)]
    await store.submit(batch, NOW)
    session = await open_worker(store, make)
    held = await take_all(store, session)
    ends = (completed, cancelled, failed, again, lost)
    await store.finish(session, [ends[n % 5](task) for n, task in enumerate(held)], NOW)
    await store.stage(LATER, size // 4)
    before = await store.get([task.id for task in batch])
    first = (State.READY, State.RUNNING), (State.SCHEDULED,)
    gone = [
        t for n, t in enumerate(batch) if (read := before[n]) and read.state not in first[n % 2]
    ]
    assert len(gone) > size // 3

    for part in (gone, batch, batch[::2], batch[1::2]):
        assert await store.submit(part, NOW) == [Accepted(task.id) for task in part]
        assert await store.submit(part, LATER) == [Accepted(task.id) for task in part]

    assert await store.get([task.id for task in batch]) == before
    assert sum((await counts(store)).values()) == size


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_a_large_batch_is_repeated_safely_beside_a_small_one(
    place: Place, store: Store, make: Make
) -> None:
    """R1.4: whichever way a batch is written, ids that are stored already are left alone."""
    tasks = make.tasks(5000)
    await store.submit(tasks[100:103], NOW)

    assert await store.submit(tasks, NOW) == [Accepted(task.id) for task in tasks]

    assert await place.value("select count(*) from ready") == 5000
