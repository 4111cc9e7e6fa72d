"""However many nodes let tasks in and finish them at once, a gate is exact (R7.4, B127)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from msgspec import Struct

from rota.model import Claimed, State, TaskFilter, Transition
from rota.store.base import Store
from tests.conformance.steps import counts, open_worker, take
from tests.support.factories import NOW, Make, again, completed, lost
from tests.support.places import Place

GATE = "sms-gateway"
TASKS = 60
NODES = 3
READY = TaskFilter(states=(State.READY,))

pytestmark = pytest.mark.slow


class Room(Struct):
    """What is known of those who are inside."""

    running: int = 0
    most: int = 0
    done: int = 0

    def came(self, count: int) -> None:
        self.running += count
        self.most = max(self.most, self.running)

    def left(self) -> None:
        self.running -= 1


@asynccontextmanager
async def nodes(place: Place, first: Store) -> AsyncIterator[list[Store]]:
    """Several stores on one place, each with connections of its own."""
    async with AsyncExitStack() as stack:
        stores = [first]
        for _ in range(NODES - 1):
            store = place.store()
            await store.open()
            stack.push_async_callback(store.close)
            stores.append(store)
        yield stores


async def work(store: Store, session: str, room: Room, order: list[str]) -> None:
    """Run what there is, and after each end ask the gate, as the engine does."""
    while room.done < TASKS:
        claimed = await take(store, session, 2)
        room.came(len(claimed))
        order += [task.id for task in claimed]
        for task in claimed:
            # Whoever has reported may be followed before the answer is here.
            room.left()
            await store.finish(session, [completed(task)], NOW)
            await store.admit([GATE], NOW)
            room.done += 1


async def stumble(store: Store, session: str, room: Room) -> None:
    """The same, but the first attempts of every task end in all the ways that are no end."""
    while room.done < TASKS:
        for task in await take(store, session, 2):
            await store.finish(session, [_ending(task)], NOW)
            room.done += task.attempt + task.lost > 2
        await asyncio.gather(store.admit([GATE], NOW), store.stage(NOW, 3))


def _ending(task: Claimed) -> Transition:
    if task.attempt + task.lost > 2:
        return completed(task)
    return lost(task, NOW) if task.id[-1] in "02468ace" else again(task, NOW)


async def look(place: Place, room: Room) -> int:
    """Look again and again how many are inside; return the most."""
    most = 0
    while room.done < TASKS:
        count = f"select count(*) from ready where concurrency_key = '{GATE}'"
        most = max(most, await place.value(count))
        await asyncio.sleep(0)
    return most


async def ask(store: Store, room: Room) -> None:
    """Let in whoever may go in, all the time."""
    while room.done < TASKS:
        await store.admit([GATE], NOW)


@pytest.mark.parametrize("size", [1, 4])
async def test_no_more_are_inside_than_there_is_room_for(
    place: Place, store: Store, make: Make, size: int
) -> None:
    """R7.4, B127: three nodes finish, lose, retry, stage and let in at once."""
    room = Room()
    await store.submit(
        make.tasks(TASKS, concurrency_key=GATE, max_concurrency=size, run_at=NOW), NOW
    )
    async with nodes(place, store) as stores, asyncio.timeout(60), asyncio.TaskGroup() as group:
        observer = group.create_task(look(place, room))
        for node in stores:
            session = await open_worker(node, make)
            group.create_task(stumble(node, session, room))
            group.create_task(ask(node, room))

    assert 1 <= observer.result() <= size
    assert await counts(store) == {State.COMPLETED: TASKS}


@pytest.mark.parametrize("size", [1, 3])
async def test_the_last_to_leave_lets_in_the_next(
    place: Place, store: Store, make: Make, size: int
) -> None:
    """R7.4: no wake-up is lost if all who leave ask once, and nobody else; in order of rank."""
    room, order = Room(), list[str]()
    tasks = make.tasks(TASKS, concurrency_key=GATE, max_concurrency=size)
    await store.submit(tasks, NOW)
    assert (await store.stage(NOW, 1000)).moved == size

    async with nodes(place, store) as stores, asyncio.timeout(60), asyncio.TaskGroup() as group:
        for node in stores * 2:
            group.create_task(work(node, await open_worker(node, make), room, order))

    assert room.most <= size
    assert await counts(store) == {State.COMPLETED: TASKS}
    assert sorted(order) == [task.id for task in tasks]
    if size == 1:
        assert order == [task.id for task in tasks]


async def test_two_gates_at_once_in_any_order_do_not_block_each_other(
    place: Place, store: Store, make: Make
) -> None:
    """R7.4: whoever needs several gates takes them in one order."""
    gates = [f"gate-{n}" for n in range(40)]
    tasks = [make.task(concurrency_key=gate, max_concurrency=2) for gate in gates for _ in range(6)]
    await store.submit(tasks, NOW)
    moved = 0
    async with nodes(place, store) as stores:
        await asyncio.gather(*(node.stage(NOW, 50) for node in stores * 4))
        for _ in range(3):
            asked = [
                node.admit(gates if n % 2 else gates[::-1], NOW) for n, node in enumerate(stores)
            ]
            await asyncio.gather(*asked, *(node.stage(NOW, 30) for node in stores))
            uses = [await store.gate_use(gate, 10) for gate in gates]
            moved += sum(use.inside for use in uses)
            assert [use.inside for use in uses] == [2] * 40
            ready = [t.id for t in await store.find(READY, limit=1000)]
            await store.cancel(ready, NOW)
    assert moved == len(tasks)
