"""How many stand before a task in its lane (R7.8)."""

from rota.model import State, TaskFilter
from rota.store.base import Store
from tests.conformance.steps import bring, open_worker, take
from tests.support.factories import LATER, NOW, Make

READY = TaskFilter(states=(State.READY,))


async def test_a_task_counts_what_is_before_it_in_its_own_lane(store: Store, make: Make) -> None:
    """R7.8: by rank, then id: the order in which they are handed out."""
    lane = make.tasks(3)
    early, late = make.task(run_at=NOW - 1), make.task(priority=6)
    elsewhere = [make.task(queue="sms"), make.task(tenant="board"), make.task(priority=0)]
    await store.submit([*lane, early, late, *elsewhere], NOW)

    order = [early, *lane, late]
    assert [await store.ahead(task.id, 100) for task in order] == [0, 1, 2, 3, 4]
    assert [await store.ahead(task.id, 100) for task in elsewhere] == [0, 0, 0]
    assert await store.ahead(late.id, 2) == 2
    taken = await take(store, await open_worker(store, make), count=2)
    assert [task.id for task in taken] == [task.id for task in order[:2]]
    assert [await store.ahead(task.id, 100) for task in order] == [0, 0, 0, 1, 2]


async def test_what_is_not_ready_has_nothing_before_it(store: Store, make: Make) -> None:
    """R7.8."""
    await store.submit(make.tasks(2, run_at=NOW - 1), NOW)
    await store.submit([later := make.task(run_at=LATER)], NOW)
    await store.cancel([(await store.find_ids(READY, limit=1))[0]], NOW)
    for state in (State.COMPLETED, State.FAILED):
        other = await bring(store, make, state, make.task(queue="sms"))
        assert await store.ahead(other.id, 100) == 0

    assert await store.ahead(later.id, 100) == 0
    assert await store.ahead(make.id(), 100) == 0
    assert await store.ahead("nonsense", 100) == 0
