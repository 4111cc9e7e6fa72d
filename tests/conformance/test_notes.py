"""Progress and checkpoints: kept while a task runs, refused under an old fence (R3.2, R3.5)."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rota.config import CHECKPOINT_BYTES, LEASE
from rota.model import Claimed, Note, Progress, RetryOutcome, State, Transition
from rota.store.base import Store
from tests.conformance.steps import one, open_worker, reap, take
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
    lost,
)

THEN = NOW + 7


async def running(store: Store, make: Make, count: int = 1) -> tuple[str, list[Claimed]]:
    """A session and the tasks that it holds."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(count), NOW)
    return session, await take(store, session, count)


async def said(store: Store, task: Claimed) -> tuple[Progress | None, Any]:
    """What is kept of a task's notes."""
    read = await one(store, task.id)
    return read.progress, read.checkpoint


async def test_what_a_handler_says_can_be_read_while_it_runs(store: Store, make: Make) -> None:
    """R3.5, R9.1: each task its own, in one batch."""
    session, (first, second, third) = await running(store, make, 3)
    assert first.checkpoint is None

    notes = [Note(first.id, 1, 120, 500), Note(second.id, 1, checkpoint='{"last":7}')]
    assert await store.note(session, notes) == [True, True]

    assert await said(store, first) == (Progress(120, 500), None)
    assert await said(store, second) == (None, {"last": 7})
    assert await said(store, third) == (None, None)
    assert await store.note(session, []) == []


async def test_what_a_note_leaves_out_stays(store: Store, make: Make) -> None:
    """R3.5: progress is said often, a checkpoint now and then."""
    session, (task,) = await running(store, make)

    for note, progress, checkpoint in (
        (Note(task.id, 1, 1, 9), Progress(1, 9), None),
        (Note(task.id, 1, checkpoint="[1]"), Progress(1, 9), [1]),
        (Note(task.id, 1, 2), Progress(2, 9), [1]),
        (Note(task.id, 1, 0, 10), Progress(0, 10), [1]),
        (Note(task.id, 1, checkpoint="null"), Progress(0, 10), None),
    ):
        assert await store.note(session, [note]) == [True]
        assert await said(store, task) == (progress, checkpoint)


async def test_of_several_notes_in_a_batch_the_latest_word_counts(store: Store, make: Make) -> None:
    """R3.5: field by field."""
    session, (task, other) = await running(store, make, 2)

    notes = [
        Note(task.id, 1, 1, 9),
        Note(other.id, 1, 5),
        Note(task.id, 1, checkpoint='"a"'),
        Note(task.id, 1, 2),
        Note(task.id, 1, checkpoint='"b"'),
    ]
    assert await store.note(session, notes) == [True] * 5

    assert await said(store, task) == (Progress(2, 9), "b")
    assert await said(store, other) == (Progress(5), None)


async def test_an_old_fence_or_another_session_changes_nothing(store: Store, make: Make) -> None:
    """R3.2: a worker that was taken for dead speaks; its successor's words stay."""
    old, (task, kept) = await running(store, make, 2)
    await store.note(old, [Note(task.id, 1, 1, checkpoint="1")])
    await store.finish(old, [lost(task)], NOW)
    new = await open_worker(store, make)
    (again_,) = await take(store, new)
    await store.note(new, [Note(task.id, 2, 2)])

    notes = [Note(task.id, 1, 50, 50, "50"), Note(kept.id, 1, 7), Note(task.id, 2, 60)]
    assert await store.note(old, notes) == [False, True, False]
    assert await store.note(new, [Note(kept.id, 1, 70), Note(make.id(), 1, 1)]) == [False, False]

    assert again_.checkpoint == "1"
    assert await said(store, task) == (Progress(2), 1)
    assert await said(store, kept) == (Progress(7), None)


async def test_a_word_of_an_earlier_run_in_the_same_session_is_refused(
    store: Store, make: Make
) -> None:
    """R3.2: a handler that was given up speaks while the task runs again beside it."""
    session, (task,) = await running(store, make)
    await store.finish(session, [again(task, NOW)], NOW)
    await store.stage(NOW, 10)
    (second,) = await take(store, session)

    notes = [Note(task.id, 1, 9), Note(task.id, 2, 1), Note(task.id, 3, 5)]
    assert await store.note(session, notes) == [False, True, False]

    assert second.fence == 2
    assert await said(store, task) == (Progress(1), None)


@pytest.mark.parametrize("end", [completed, cancelled, failed, again, handed_back])
async def test_a_task_that_has_ended_takes_no_notes(
    store: Store, make: Make, end: Callable[[Claimed], Transition]
) -> None:
    """R3.2: wherever it went."""
    session, (task,) = await running(store, make)
    await store.finish(session, [end(task)], THEN)

    assert await store.note(session, [Note(task.id, 1, 1, 2, "3")]) == [False]

    assert await said(store, task) == (None, None)


@pytest.mark.parametrize("back", [lost, handed_back, again])
async def test_the_next_run_begins_from_the_checkpoint(
    store: Store, make: Make, back: Callable[[Claimed], Transition]
) -> None:
    """R3.5: whether it was lost, handed back or tried again; the newest checkpoint counts."""
    session, (task,) = await running(store, make)
    await store.note(session, [Note(task.id, 1, 3, 5, '{"done":[1,2,3]}')])

    await store.finish(session, [back(task)], NOW)
    assert await said(store, task) == (Progress(3, 5), {"done": [1, 2, 3]})
    await store.stage(LATER, 10)
    worker = await open_worker(store, make, at=LATER)
    (second,) = await take(store, worker, now=LATER)

    assert second.fence == 2
    assert msgspec.json.decode(second.checkpoint or "") == {"done": [1, 2, 3]}
    assert await store.held(worker, 10) == [second]
    await store.note(worker, [Note(task.id, 2, checkpoint="[4]")])
    (held,) = await store.held(worker, 10)
    assert held.checkpoint == "[4]"


async def test_a_task_that_is_brought_forward_keeps_its_checkpoint(
    store: Store, make: Make
) -> None:
    """R3.5: `retry` of one that waits."""
    session, (task,) = await running(store, make)
    await store.note(session, [Note(task.id, 1, 3, 5, "[3]")])
    await store.finish(session, [again(task, LATER)], NOW)

    assert await store.retry([task.id], NOW) == [RetryOutcome.COMPLETED]

    (claimed,) = await take(store, session)
    assert claimed.checkpoint == "[3]"
    assert await said(store, task) == (Progress(3, 5), [3])


async def test_a_dead_letter_keeps_its_checkpoint_for_whoever_retries_it(
    store: Store, make: Make
) -> None:
    """R3.5, R4.4: what was done before it failed is not done again."""
    session, (task,) = await running(store, make)
    await store.note(session, [Note(task.id, 1, 3, 5, "[3]")])
    await store.finish(session, [failed(task, error())], NOW)
    assert (await one(store, task.id)).checkpoint == [3]

    await store.retry([task.id], NOW)

    (claimed,) = await take(store, session)
    assert claimed.checkpoint == "[3]"


async def test_history_keeps_the_progress(store: Store, make: Make) -> None:
    """R9.1: how far it came; a checkpoint is of no use any more."""
    session, (done, stopped) = await running(store, make, 2)
    await store.note(session, [Note(done.id, 1, 5, 5, "[5]"), Note(stopped.id, 1, 2, 5)])

    await store.finish(session, [completed(done), cancelled(stopped)], NOW)

    assert await said(store, done) == (Progress(5, 5), None)
    assert await said(store, stopped) == (Progress(2, 5), None)


async def test_a_large_checkpoint_comes_back_as_it_went(store: Store, make: Make) -> None:
    """R3.5: up to its bound."""
    session, (task,) = await running(store, make)
    text = f'"{"ü" * (CHECKPOINT_BYTES // 2 - 1)}"'

    assert await store.note(session, [Note(task.id, 1, checkpoint=text)]) == [True]

    (held,) = await store.held(session, 10)
    assert held.checkpoint == text


async def test_a_worker_whose_lease_is_over_may_speak_until_its_tasks_are_taken_back(
    store: Store, make: Make
) -> None:
    """R3.2: the fence decides, as for a report."""
    session, (task,) = await running(store, make)

    assert await store.note(session, [Note(task.id, 1, 1)]) == [True]
    await store.end_expired(NOW + LEASE, 10)
    assert await store.note(session, [Note(task.id, 1, 2)]) == [True]
    await reap(store, NOW + LEASE)
    assert await store.note(session, [Note(task.id, 1, 3)]) == [False]

    read = await one(store, task.id)
    assert (read.state, read.progress) == (State.READY, Progress(2))
