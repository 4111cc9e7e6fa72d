"""What can be seen of gates, and that nobody holds one up (R7.4)."""

import pytest

from rota.model import (
    Staged,
    State,
    TaskFilter,
)
from rota.schedule import GateUse
from rota.store.base import Store
from tests.conformance.gates import GATE, enter, waiting
from tests.conformance.steps import bring, one, open_worker, take
from tests.support.factories import (
    LATER,
    NOW,
    Make,
    completed,
)
from tests.support.places import Place


@pytest.mark.parametrize("state", list(State))
async def test_a_task_says_which_gate_and_which_slot_it_is_of(
    store: Store, make: Make, state: State
) -> None:
    """R6.5: wherever it lies, and it is found by its schedule and by its gate."""
    schedule = make.id()
    run_at = LATER if state is State.SCHEDULED else NOW
    task = make.task(run_at=run_at, schedule=schedule, slot=NOW - 1, max_concurrency=7)
    await bring(store, make, state, task)
    await bring(store, make, state)

    found = await one(store, task.id)

    assert (found.schedule, found.slot, found.max_concurrency) == (schedule, NOW - 1, 7)
    assert [t.id for t in await store.find(TaskFilter(schedule=schedule))] == [task.id]
    assert await store.count(TaskFilter(schedule=schedule), 10) == {state: 1}


async def test_tasks_are_found_by_their_gate(store: Store, make: Make) -> None:
    """R9.2: those inside and those that wait."""
    tasks = await enter(store, make, 3)
    await store.submit([*waiting(make, 1, gate="another"), *make.tasks(1)], NOW)

    found = await store.find_ids(TaskFilter(concurrency_key=GATE))

    assert sorted(found) == [task.id for task in tasks]
    for unknown in (make.id(), "nightly"):
        assert await store.find(TaskFilter(schedule=unknown)) == []
        assert await store.count(TaskFilter(schedule=unknown), 10) == {}


async def test_gates_with_a_task_waiting_are_paged(store: Store, make: Make) -> None:
    """R7.4: each gate once, in order, however many wait at it."""
    gates = [f"gate-{n:03}" for n in range(25)]
    tasks = [task for gate in gates for task in waiting(make, 2, gate=gate)]
    await store.submit([*tasks, *waiting(make, 1, gate="empty")], NOW)
    await store.stage(NOW, 1000)

    found, after = [], ""
    while page := await store.waiting_gates(after, 10):
        found.append(page)
        after = page[-1]

    assert found == [gates[:10], gates[10:20], gates[20:]]


async def test_a_gate_is_counted_no_further_than_asked(store: Store, make: Make) -> None:
    """R7.8."""
    await enter(store, make, 9, room=4)

    assert await store.gate_use(GATE, 3) == GateUse(3, 3)
    assert await store.gate_use(GATE, 100) == GateUse(4, 5)
    assert await store.gate_use("unknown", 100) == GateUse(0, 0)


async def test_nothing_goes_in_where_nothing_waits(store: Store, make: Make) -> None:
    """R7.4."""
    await store.submit(make.tasks(1), NOW)

    assert await store.admit([], NOW) == 0
    assert await store.admit(["unknown", "unknown", 'it\'s {odd}, \\ "quoted"'], NOW) == 0
    assert await store.waiting_gates("", 10) == []


async def test_many_gates_are_let_in_at_once(store: Store, make: Make) -> None:
    """R7.4: in one step, also more than one statement asks for."""
    tasks = [
        task for n in range(1200) for task in waiting(make, 2, gate=f"gate-{n}", room=1 + n % 2)
    ]
    await store.submit(tasks, NOW)

    assert await store.stage(NOW, 10_000) == Staged(1800, None)


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_a_client_that_stops_holds_nobody_up_at_the_gate(
    place: Place, store: Store, make: Make
) -> None:
    """R7.4: neither one that has prepared the statement, nor one whose open transaction is
    cancelling who comes next, nor one that completes who is inside.
    """
    first, second, third, _ = await enter(store, make, 4)
    session = await open_worker(store, make)
    (claimed,) = await take(store, session)
    async with place.connection() as stopped, place.connection() as caller:
        await stopped.prepare("select rota.admit($1::text[])")
        await caller.execute(f"begin; select * from rota.cancel('{{{second.id}}}')")
        await store.finish(session, [completed(claimed)], NOW)

        assert await store.admit([GATE], NOW) == 1
        assert (await one(store, third.id)).state is State.READY

        (inside_,) = await take(store, session)
        done = f"'{inside_.id}', '{session}', {inside_.fence}, null"
        await caller.execute(f"select rota.complete({done})")
        assert await store.admit([GATE], NOW) == 0
        await caller.execute("rollback")

    assert await store.gate_use(GATE, 10) == GateUse(1, 2)
    assert first.id == claimed.id


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_at_another_isolation_level_nobody_is_let_in(
    place: Place, store: Store, make: Make
) -> None:
    """R7.4: a transaction that does not see what others have just let in must not count."""
    await enter(store, make, 2)

    async with place.connection() as connection:
        with pytest.raises(Exception, match="read committed"):
            await connection.execute(
                "begin isolation level repeatable read; select rota.admit('{lms:school-13}')"
            )


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_the_default_of_a_database_changes_nothing(
    place: Place, store: Store, make: Make
) -> None:
    """R7.4: a store brings the isolation level that it needs."""
    setting = "do $$ begin execute format('alter database %I {}', current_database()); end $$"
    await place.run(setting.format("set default_transaction_isolation = serializable"))
    other = place.store()
    try:
        await other.open()
        await enter(other, make, 3, room=2)
    finally:
        await other.close()
        await place.run(setting.format("reset default_transaction_isolation"))

    assert await store.gate_use(GATE, 10) == GateUse(2, 1)
