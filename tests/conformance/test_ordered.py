"""Lists in the orders that indexes give meet every task once, page by page (R9.1, B170)."""

from typing import Any

import pytest

from rota.config import MINUTE
from rota.errors import InvalidTask
from rota.model import State, TaskFilter
from rota.orders import Order, Spot, check_order
from rota.store.base import Store
from tests.conformance.steps import bring
from tests.support.factories import LATER, NOW, Make

LANE = {"queue": "sms", "tenant": "board"}
OF_STATE = {
    Order.RANK: State.READY,
    Order.RUN_AT: State.SCHEDULED,
    Order.STARTED_AT: State.RUNNING,
    Order.FINISHED_AT: State.FAILED,
}


def filtered(order: Order, **more: Any) -> TaskFilter:
    """The tasks that an order is for."""
    lane = LANE if order is Order.RANK else {}
    return TaskFilter(states=(OF_STATE[order],), **lane | more)


async def stored(store: Store, make: Make, order: Order) -> list[str]:
    """The ids of nine tasks in this order; among three at a time their ids decide."""
    state, tags = OF_STATE[order], ("rare",)
    made: list[tuple[int, str]] = []
    for n in range(9):
        later = (n * 5 % 3) * MINUTE
        fields: dict[str, Any] = {**LANE, "tags": tags if n % 2 else ()}
        if state in (State.SCHEDULED, State.READY):
            fields["run_at"] = (LATER if state is State.SCHEDULED else NOW - LATER) + later
        if state is State.READY:
            fields["priority"] = n % 4
        task = make.task(**fields)
        if state is State.READY:
            await store.submit([task], NOW)
            made.append((task.rank, task.id))
        elif state is State.SCHEDULED:
            await store.submit([task], NOW)
            made.append((task.run_at, task.id))
        else:
            task = await bring(store, make, state, task)
            (read,) = await store.get([task.id])
            assert read is not None
            at = read.started_at if state is State.RUNNING else read.finished_at
            assert at is not None
            made.append((at, task.id))
    return [id_ for _, id_ in sorted(made, reverse=order.startswith("-"))]


@pytest.mark.parametrize("order", OF_STATE)
async def test_every_order_meets_every_task_once(store: Store, make: Make, order: Order) -> None:
    """Pitfall 15: (column, id), exact, whatever the size of a page and of a look."""
    ids = await stored(store, make, order)
    await store.submit(make.tasks(3, queue="mail"), NOW)  # they belong to none of these lists

    for limit, most in ((2, 100), (50, 2), (1, 1), (50, 9), (50, 100)):
        met, after, looks = [], None, 0
        while True:
            found = await store.ordered(
                filtered(order), order=order, after=after, limit=limit, most=most
            )
            met += found.ids
            looks += 1
            if (after := found.next) is None:
                break
        assert met == ids, (limit, most)
        assert looks <= 9 // min(limit, most) + 1


@pytest.mark.parametrize("order", OF_STATE)
async def test_an_order_goes_with_every_filter(store: Store, make: Make, order: Order) -> None:
    """R9.1: what does not match is looked at and passed over."""
    ids = await stored(store, make, order)
    tagged = {task.id for task in await store.get(ids) if task and task.tags}

    found = await store.ordered(filtered(order, tag="rare"), order=order, limit=50, most=50)
    assert found.ids == [id_ for id_ in ids if id_ in tagged]
    none = await store.ordered(filtered(order, kind="none"), order=order, limit=50, most=5)
    assert (none.ids, none.next and none.next.id) == ([], ids[4])


def test_an_order_says_what_it_sorts() -> None:
    """No header offers a sort that would scan: what has no index is refused, and named."""
    check_order(Order.CREATED, TaskFilter())
    for order in OF_STATE:
        check_order(order, filtered(order))
    for order, where in (
        (Order.RUN_AT, TaskFilter()),
        (Order.RUN_AT, TaskFilter(states=(State.READY,))),
        (Order.FINISHED_AT, TaskFilter(states=(State.COMPLETED,))),
        (Order.FINISHED_AT, TaskFilter(states=(State.FAILED,), discarded=True)),
        (Order.STARTED_AT, TaskFilter(states=(State.RUNNING, State.READY))),
        (Order.RANK, TaskFilter(states=(State.READY,), queue="sms")),
        (Order.RANK, TaskFilter(states=(State.READY,), queues=("a", "b"), tenant="")),
    ):
        with pytest.raises(InvalidTask, match=f"^order: {order} |^order {order} "):
            check_order(order, where)


async def test_a_place_that_is_gone_is_a_place_still(store: Store, make: Make) -> None:
    """A cursor holds values, no row: what was there may have moved on."""
    ids = await stored(store, make, Order.RUN_AT)
    (task,) = await store.get(ids[3:4])
    assert task is not None
    await store.cancel([task.id], NOW)
    after = Spot(task.run_at, task.id)

    found = await store.ordered(
        filtered(Order.RUN_AT), order=Order.RUN_AT, after=after, limit=3, most=50
    )
    assert found.ids == ids[4:7]
