"""Tasks with a gate that are made in a transaction of somebody else's (R1.3, R7.4)."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import apsw
import msgspec

from rota.model import Claimed, Micros, NewTask, Staged, State
from rota.schedule import GateUse
from rota.store.base import Store
from rota.store.sqlite import gates
from rota.transactions import ado, do, work
from tests.conformance.steps import counts, one, open_worker, take
from tests.support.factories import LATER, NOW, Make
from tests.support.places import Place

GATE = "sms-gateway"
AHEAD: Micros = 10**17
"""Long after the server's own clock, which is that of a caller's transaction."""


@asynccontextmanager
async def transaction(place: Place) -> AsyncIterator[Any]:
    """A connection in a transaction, which is committed at the end."""
    if place.dialect == "postgres":
        async with place.connection() as connection, connection.transaction():
            yield connection
        return
    connection = apsw.Connection(place.address)
    with connection:
        yield connection
    connection.close()


async def inside(connection: Any, what: work.Work[Any]) -> Any:
    """Do the work on a caller's connection."""
    blocking = isinstance(connection, apsw.Connection)
    return do(connection, what) if blocking else await ado(connection, what)


async def enter(place: Place, tasks: Sequence[NewTask], now: Micros) -> None:
    """Make tasks and let them in at once, as a schedule does."""
    async with transaction(place) as connection:
        if place.dialect == "sqlite":
            gates.enter(connection, tasks, now)
        else:
            batch = msgspec.json.encode(tasks).decode()
            await connection.execute("select rota.enter($1::text::jsonb, $2, true)", batch, now)


async def test_a_task_made_in_a_caller_s_transaction_waits_for_staging(
    place: Place, store: Store, make: Make
) -> None:
    """R1.3: its commit tells nobody, and nobody waits for a transaction that stays open."""
    tasks = make.tasks(3, concurrency_key=GATE, max_concurrency=2)
    async with transaction(place) as connection:
        await inside(connection, work.submit(tasks, NOW))

    assert await counts(store) == {State.SCHEDULED: 3}
    assert await store.stage(AHEAD, 10) == Staged(2, None)
    assert (await one(store, tasks[2].id)).at_gate


async def test_completing_in_a_caller_s_transaction_frees_the_place(
    place: Place, store: Store, make: Make
) -> None:
    """R3.5, R7.4: found by whoever looks for gates where something waits."""
    await store.submit(make.tasks(2, concurrency_key=GATE, max_concurrency=1), NOW)
    await store.stage(NOW, 10)
    session = await open_worker(store, make)
    claimed: Claimed
    (claimed,) = await take(store, session)

    async with transaction(place) as connection:
        assert await inside(connection, work.complete(claimed, session, None))

    assert await store.waiting_gates("", 10) == [GATE]
    assert await store.admit([GATE], NOW) == 1


async def test_tasks_of_a_schedule_go_in_with_the_transaction_that_makes_them(
    place: Place, store: Store, make: Make
) -> None:
    """R6.4, R7.4: as far as there is room; what is due later, or has no gate, as ever."""
    due = make.tasks(3, concurrency_key=GATE, max_concurrency=2, schedule=make.id(), slot=NOW)
    later = make.task(run_at=LATER, concurrency_key="another", max_concurrency=1)
    free = [make.task(), make.task(run_at=LATER)]

    await enter(place, [*due, later, *free], NOW)

    assert await store.gate_use(GATE, 10) == GateUse(2, 1)
    assert await counts(store) == {State.READY: 3, State.SCHEDULED: 3}
    found = await one(store, due[0].id)
    assert (found.state, found.schedule, found.slot) == (State.READY, due[0].schedule, NOW)
    assert [(await one(store, task.id)).at_gate for task in (due[2], later)] == [True, False]


async def test_nobody_waits_before_a_task_of_a_schedule_in_vain(
    place: Place, store: Store, make: Make
) -> None:
    """R7.4: what waits already goes in first, and a repeat changes nothing."""
    first, second = make.tasks(2, concurrency_key=GATE, max_concurrency=1, run_at=NOW - 1)
    await store.submit([first, second], NOW)
    await store.stage(NOW, 10)
    third = make.task(concurrency_key=GATE, max_concurrency=2)

    await enter(place, [third], NOW)
    await enter(place, [third], NOW)

    assert await store.gate_use(GATE, 10) == GateUse(1, 2)
    assert (await one(store, second.id)).at_gate
