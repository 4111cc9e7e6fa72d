"""What is over is kept for as long as its state and its queue say, and no longer (R9.5)."""

import pytest

from rota.config import DAY, HOUR, KEEP_EFFECTS
from rota.model import Retention, State
from rota.store.base import Store
from tests.conformance.steps import bring, counts, one, open_worker, take
from tests.support.factories import (
    NOW,
    Make,
    cancelled,
    completed,
    error,
    failed,
    kept,
    lane_of,
)
from tests.support.places import Place

COMPLETED, CANCELLED, FAILED = State.COMPLETED, State.CANCELLED, State.FAILED


async def end(store: Store, make: Make, state: State, at: int, queue: str = "default") -> str:
    """Store a task that ends in `state` at `at`."""
    task = make.task(queue=queue)
    await store.submit([task], NOW)
    session = await open_worker(store, make, at=at)
    (claimed,) = await take(store, session, lane=lane_of(task), now=at)
    ends = {
        COMPLETED: completed(claimed),
        CANCELLED: cancelled(claimed),
        FAILED: failed(claimed, error()),
    }
    await store.finish(session, [ends[state]], at)
    return task.id


async def prune(store: Store, now: int, retention: Retention, limit: int = 100) -> int:
    """Prune until nothing goes any more, and return how many tasks went."""
    pruned = 0
    while went := await store.prune(now, retention, limit):
        pruned += went
    return pruned


async def left(store: Store, ids: list[str]) -> list[bool]:
    """Say of each whether it is still there."""
    return [task is not None for task in await store.get(ids)]


@pytest.mark.parametrize("state", [COMPLETED, CANCELLED, FAILED])
async def test_each_state_is_kept_for_a_time_of_its_own(
    store: Store, make: Make, state: State
) -> None:
    """R9.5: what ended just before goes, what ended just then stays; the others stay."""
    at = NOW + 5 * DAY
    span = dict.fromkeys([COMPLETED, CANCELLED, FAILED], 4 * DAY) | {state: 2 * DAY}
    ids = [await end(store, make, each, at - 3 * DAY) for each in (COMPLETED, CANCELLED, FAILED)]
    edge = [await end(store, make, state, at - 2 * DAY - n) for n in (1, 0)]

    retention = Retention(span[COMPLETED], span[CANCELLED], span[FAILED], discarded=4 * DAY)
    assert await prune(store, at, retention) == 2

    stays = [each is not state for each in (COMPLETED, CANCELLED, FAILED)]
    assert await left(store, ids + edge) == [*stays, False, True]


async def test_a_queue_can_be_kept_for_a_longer_or_a_shorter_time(store: Store, make: Make) -> None:
    """R9.5: completed and cancelled tasks alike; other queues go by the rule."""
    at = NOW + 10 * DAY
    ids = []
    for state in (COMPLETED, CANCELLED):
        for queue in ("audit", "mail", "otp"):
            ids += [await end(store, make, state, at - age, queue) for age in (8 * DAY, 2 * HOUR)]

    assert await prune(store, at, kept(DAY, audit=30 * DAY, otp=HOUR)) == 6

    assert await left(store, ids) == [True, True, False, True, False, False] * 2


async def test_a_queue_has_no_say_over_dead_letters(store: Store, make: Make) -> None:
    """Invariant 1: a queue that keeps its successes for an hour loses no failure by it."""
    letter = await end(store, make, FAILED, NOW, "otp")

    assert await prune(store, NOW + DAY, kept(DAY, otp=HOUR)) == 0

    assert await left(store, [letter]) == [True]


async def test_many_queues_are_all_pruned(store: Store, make: Make) -> None:
    """R9.5: each by its own time, in steps of one queue's size and of many queues'."""
    at = NOW + 10 * DAY
    ids = [
        await end(store, make, COMPLETED, NOW, f"queue-{n}") for n in range(12) for _ in range(2)
    ]
    spans = {f"queue-{n}": 20 * DAY for n in range(0, 12, 3)}

    assert await prune(store, at, kept(DAY, **spans), limit=3) == 16

    assert await left(store, ids) == [n // 2 % 3 == 0 for n in range(24)]


async def test_history_that_is_kept_for_long_does_not_hide_what_goes(
    store: Store, make: Make
) -> None:
    """F56: the oldest may stay for years; the step after it still finds its work."""
    for _ in range(30):
        await end(store, make, COMPLETED, NOW, "audit")
    gone = [await end(store, make, COMPLETED, NOW + HOUR, "zoo") for _ in range(3)]

    assert await store.prune(NOW + 5 * DAY, kept(DAY, audit=3650 * DAY), 10) == 3

    assert await left(store, gone) == [False] * 3
    assert await counts(store) == {COMPLETED: 30}


async def test_a_discarded_dead_letter_goes_by_when_it_was_discarded(
    store: Store, make: Make
) -> None:
    """R4.4: the undo is possible for a stated time, however old the failure is."""
    old, young, open_ = [await end(store, make, FAILED, NOW) for _ in range(3)]
    await store.discard([old], "old", NOW + DAY)
    await store.discard([young], "old", NOW + 3 * DAY)
    retention = kept(DAY, failed=30 * DAY, discarded=2 * DAY)

    assert await prune(store, NOW + 3 * DAY, retention) == 0
    assert await prune(store, NOW + 3 * DAY + 1, retention) == 1

    assert await left(store, [old, young, open_]) == [False, True, True]
    await store.restore([young])
    assert await prune(store, NOW + 20 * DAY, retention) == 0
    assert await prune(store, NOW + 31 * DAY, retention) == 2


async def test_a_discarded_dead_letter_outlives_the_time_of_the_others(
    store: Store, make: Make
) -> None:
    """R4.4: a discard on the last day does not take the time for an undo away."""
    letter = await end(store, make, FAILED, NOW)
    await store.discard([letter], "old", NOW + 29 * DAY)

    retention = kept(DAY, failed=30 * DAY, discarded=7 * DAY)
    assert await prune(store, NOW + 31 * DAY, retention) == 0
    assert await prune(store, NOW + 37 * DAY, retention) == 1


async def test_a_copy_outlives_its_original(store: Store, make: Make) -> None:
    """R4.4: the original goes by when it failed; the copy lives on and still names it."""
    letter = await end(store, make, FAILED, NOW)
    copy = make.id()
    await store.replay([letter], [copy], NOW + 29 * DAY)

    assert await prune(store, NOW + 31 * DAY, kept(DAY, failed=30 * DAY)) == 1

    assert await store.get([letter]) == [None]
    assert (await one(store, copy)).replay_of == letter
    assert await store.replay([letter], [make.id()], NOW + 31 * DAY) == [None]


@pytest.mark.parametrize("state", [State.SCHEDULED, State.READY, State.RUNNING])
async def test_what_lives_stays_whatever_is_kept(store: Store, make: Make, state: State) -> None:
    """Invariant 1."""
    await bring(store, make, state)

    assert await prune(store, NOW + 9999 * DAY, kept(0, failed=0, discarded=0, default=0)) == 0

    assert await counts(store) == {state: 1}


async def test_effects_are_remembered_for_a_stated_time(place: Place, store: Store) -> None:
    """B148: at most `limit` go in a call, the oldest or others that are as old."""
    for n in range(5):
        at = NOW if n < 4 else NOW + 1
        await place.run(f"insert into effect (key, at) values ('send-{n}', {at})")

    await prune(store, NOW + KEEP_EFFECTS, kept(DAY))
    assert await place.value("select count(*) from effect") == 5
    await store.prune(NOW + KEEP_EFFECTS + 1, kept(DAY), 3)
    assert await place.value("select count(*) from effect") == 2
    await store.prune(NOW + KEEP_EFFECTS + 1, kept(DAY), 3)

    assert await place.rows("select key from effect") == [("send-4",)]
