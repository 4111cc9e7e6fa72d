"""History goes when its time is over; nothing that is still needed goes with it (R9.5, B148)."""

import pytest

from rota.config import DAY, HOUR, KEEP_SESSIONS, LEASE, SECOND
from rota.model import Accepted, State
from rota.store.base import Store
from tests.conformance.steps import beat, bring, counts, one, open_worker, take, take_all
from tests.support.factories import NOW, Make, completed, error, failed, kept
from tests.support.places import Place


async def complete(store: Store, make: Make, count: int, at: int) -> list[str]:
    """Store tasks that were completed at `at`."""
    await store.submit(make.tasks(count), NOW)
    session = await open_worker(store, make, at=at)
    held = await take_all(store, session, now=at)
    await store.finish(session, [completed(task) for task in held], at)
    await store.close_session(session, at)
    return [task.id for task in held]


async def test_history_goes_when_its_time_is_over(store: Store, make: Make) -> None:
    """R9.5: what was finished before the instant goes, what was finished after it stays."""
    old = await complete(store, make, 3, at=NOW)
    new = await complete(store, make, 2, at=NOW + DAY)

    assert await store.prune(NOW + 2 * DAY, kept(2 * DAY - HOUR), 100) == 3

    assert await store.get(old) == [None] * 3
    assert [task and task.state for task in await store.get(new)] == [State.COMPLETED] * 2
    assert await store.prune(NOW + 2 * DAY, kept(2 * DAY - HOUR), 100) == 0


@pytest.mark.parametrize("state", list(State))
async def test_only_what_is_over_can_go(store: Store, make: Make, state: State) -> None:
    """Invariant 1: what lives stays, however old; a dead letter stays for as long as is said."""
    task = await bring(store, make, state)

    pruned = await store.prune(NOW + 1000 * DAY, kept(DAY), 100)

    assert pruned == (1 if state.final else 0)
    assert [read is None for read in await store.get([task.id])] == [state.final]


async def test_history_goes_in_small_steps(store: Store, make: Make) -> None:
    """F56: no step holds up the live tasks for long; the steps come to an end."""
    await complete(store, make, 500, at=NOW)

    steps = []
    while pruned := await store.prune(NOW + DAY, kept(23 * HOUR), 60):
        steps.append(pruned)

    assert sum(steps) == 500
    assert max(steps) <= 120
    assert await counts(store) == {}


async def test_a_key_goes_when_its_window_and_its_task_are_over(
    place: Place, store: Store, make: Make
) -> None:
    """B148: keys do not pile up."""
    (done,) = [await bring(store, make, State.COMPLETED, make.keyed("done"))]
    await bring(store, make, State.COMPLETED, make.keyed("window open", until=NOW + 30 * DAY))
    await bring(store, make, State.READY, make.keyed("live"))
    await bring(store, make, State.SCHEDULED, make.keyed("waits", run_at=NOW + 90 * DAY))

    for _ in range(3):
        await store.prune(NOW + 10 * DAY, kept(9 * DAY), 100)

    keys = await place.rows("select key from task_key order by key")
    assert keys == [("live",), ("waits",), ("window open",)]
    assert await store.get([done.id]) == [None]


async def test_a_key_outlives_the_history_of_its_task(store: Store, make: Make) -> None:
    """R1.4: until its window is over, also when history is kept for a shorter time."""
    task = await bring(store, make, State.COMPLETED, make.keyed("hold-17", until=NOW + 30 * DAY))
    assert await store.prune(NOW + 10 * DAY, kept(9 * DAY), 100) == 1

    again = make.keyed("hold-17")

    assert await store.submit([again], NOW + 10 * DAY) == [Accepted(task.id, created=False)]


async def test_many_keys_go_though_others_stay(place: Place, store: Store, make: Make) -> None:
    """B148: keys of live tasks in front do not keep the others from going."""
    await store.submit([make.keyed(f"live-{n:03}") for n in range(200)], NOW)
    session = await open_worker(store, make)
    await store.submit([make.keyed(f"done-{n:03}", tenant="a", queue="q") for n in range(50)], NOW)
    from rota.model import Lane, PriorityClass

    held = await take(store, session, 50, lane=Lane("q", PriorityClass.NORMAL, "a"))
    await store.finish(session, [completed(task) for task in held], NOW)

    for n in range(10):
        await store.prune(NOW + DAY + n, kept(23 * HOUR), 40)

    assert await place.value("select count(*) from task_key") == 200


async def test_sessions_go_when_they_have_been_over_for_long(store: Store, make: Make) -> None:
    """B148: but not the live ones, nor those that still hold a task."""
    await store.submit(make.tasks(1), NOW)
    holder = await open_worker(store, make)
    (orphan,) = await take(store, holder)
    await store.close_session(holder, NOW)
    gone = await open_worker(store, make)
    await store.close_session(gone, NOW)
    at = NOW + KEEP_SESSIONS + DAY
    recent = await open_worker(store, make, at=at - LEASE)
    await store.close_session(recent, at - SECOND)
    live = await open_worker(store, make)
    await beat(store, live, at - SECOND)

    await store.prune(at, kept(at - NOW), 100)

    assert {session.id for session in await store.sessions()} == {holder, recent, live}
    assert await store.end_expired(at, 10) == [holder]
    await store.finish(holder, [failed(orphan, error())], at)
    await store.prune(at, kept(at - NOW), 100)
    assert {session.id for session in await store.sessions()} == {recent, live}
    assert (await one(store, orphan.id)).session == holder
