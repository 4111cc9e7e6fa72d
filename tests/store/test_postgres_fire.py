"""Firing on PostgreSQL is one statement that nobody waits for, and that waits for nobody long."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from rota.errors import StoreUnavailable
from rota.model import State, TaskFilter
from rota.schedule import Schedule
from rota.store.postgres import PostgresStore
from rota.store.postgres import schedules as verbs
from rota.store.postgres.address import Address
from rota.store.postgres.connections import HOT, Line
from rota.store.postgres.statements import Connection
from tests.conformance.steps import counts, one, open_worker, take_all
from tests.support.factories import NOW, Make
from tests.support.places import Place
from tests.support.proxy import Proxy
from tests.support.schedules import NO_GATE, edited, firing, read, runs_of, slot, states, stored

SOON = 5.0
"""Far less than any time limit of a connection, and far more than a statement takes."""


@pytest.fixture
def place(postgres_url: str) -> Place:
    """An empty database."""
    return Place("postgres", postgres_url)


@pytest.fixture
def store(postgres_url: str, runner: asyncio.Runner) -> Iterator[PostgresStore]:
    """A migrated, open store."""
    store = PostgresStore(postgres_url)
    runner.run(store.migrate())
    runner.run(store.open())
    yield store
    runner.run(store.close())


def fires(sql: str) -> bool:
    return "rota.fire(" in sql


async def test_a_firing_is_one_statement(postgres_url: str, place: Place, make: Make) -> None:
    """B104, F48: whatever it does, nothing of it is left to a client that may stop in between."""
    store = PostgresStore(postgres_url)
    await store.migrate()
    schedule = await stored(store, make)
    wanted = firing(make, schedule, slot(0), slot(1), cancel_previous=True)
    line = Line(Address(postgres_url), HOT)
    sent: list[str] = []

    async def fire(connection: Connection) -> list[bool]:
        connection.add_query_logger(lambda query: sent.append(query.query))
        return await verbs.fire(connection, [wanted], slot(1))

    assert await line.run(fire) == [True]
    await line.close()

    assert len(sent) == 1
    assert fires(sent[0])
    assert await counts(store) == {State.READY: 1, State.SCHEDULED: 1}
    await store.close()


@pytest.mark.parametrize("prepared", [False, True])
async def test_a_client_that_stops_while_it_fires_holds_nobody_up(
    postgres_url: str, store: PostgresStore, make: Make, prepared: bool
) -> None:
    """F49, ADR 14: it was stopped when the server had half of what it had to send."""
    warm, schedule = await stored(store, make, "warm"), await stored(store, make)
    loop, silent = asyncio.get_running_loop(), asyncio.Event()
    with Proxy(postgres_url) as proxy:
        stopped = PostgresStore(proxy.url)
        await stopped.open()
        if prepared:
            assert await stopped.fire([firing(make, warm, NOW)], NOW) == [True]

        def stop(sql: str) -> bool:
            if fires(sql):
                proxy.fall_silent()
                loop.call_soon_threadsafe(silent.set)
            return False

        proxy.cut_answers(stop)
        going = asyncio.create_task(stopped.fire([firing(make, schedule, NOW)], NOW))
        await asyncio.wait_for(silent.wait(), SOON)

        wanted = [firing(make, schedule, NOW)]
        assert await asyncio.wait_for(store.fire(wanted, NOW), SOON) == [True]
        seen = await read(store, schedule)
        assert await asyncio.wait_for(store.change_schedule(edited(seen), 1, NOW), SOON)
        assert await asyncio.wait_for(store.remove_schedule(schedule.id), SOON)

    # Its links are cut by now.
    await asyncio.gather(going, return_exceptions=True)
    await stopped.close()


async def test_a_firing_whose_answer_is_lost_has_happened_once(
    postgres_url: str, store: PostgresStore, make: Make
) -> None:
    """B095, B118: the link breaks after the commit; the repeat is told that nothing applied."""
    schedule = await stored(store, make)
    wanted = [firing(make, schedule, NOW)]
    with Proxy(postgres_url) as proxy:
        cut = PostgresStore(proxy.url)
        await cut.open()
        proxy.cut_answers(fires)

        with pytest.raises(StoreUnavailable):
            await cut.fire(wanted, NOW)
        proxy.heal()
        assert await cut.fire(wanted, NOW) == [False]
        await cut.close()

    assert (await read(store, schedule)).fired == 1
    assert await states(store, schedule) == {NOW: State.READY}


async def test_a_schedule_that_somebody_holds_is_skipped_not_waited_for(
    place: Place, store: PostgresStore, make: Make
) -> None:
    """ADR 14: by hand, in a transaction that stays open."""
    held, free = await stored(store, make, "held"), await stored(store, make, "free")
    wanted = [firing(make, each, NOW) for each in (held, free)]
    async with place.connection() as line, line.transaction():
        await line.execute("update schedule set pause_reason = 'wait' where name = 'held'")

        assert await asyncio.wait_for(store.fire(wanted, NOW), SOON) == [False, True]

    assert await store.fire(wanted, NOW) == [True, False]


async def test_a_run_that_a_transaction_holds_is_asked_to_stop_once_that_is_over(
    place: Place, store: PostgresStore, make: Make
) -> None:
    """R6.6, ADR 14: its caller completes it, in a transaction that stays open; or rolls back."""
    schedule = await stored(store, make)
    first = firing(make, schedule, slot(0), slot(1), slot(2), **NO_GATE, run_at=NOW)
    assert await store.fire([first], NOW) == [True]
    session = await open_worker(store, make)
    running, waiting, ended = sorted(run.task.id for run in first.runs)
    held = {task.id: task for task in await take_all(store, session)}
    rest = [held[waiting], held[ended]]
    await _back(place, waiting)
    async with place.connection() as line:
        transaction = line.transaction()
        await transaction.start()
        locked = await line.fetch("select id from ready for update")
        assert len(locked) == len(rest) + 1

        schedule = await read(store, schedule)
        last = [firing(make, schedule, slot(3), cancel_previous=True, **NO_GATE)]
        assert await asyncio.wait_for(store.fire(last, slot(3)), SOON) == [True]
        assert (await one(store, running)).cancel_requested_at is None
        assert (await one(store, waiting)).state is State.READY

        await line.execute("delete from ready where id = $1", ended)
        await transaction.commit()

    assert await store.expire(slot(3), 100) == 1
    assert (await one(store, running)).cancel_requested_at == slot(3)
    assert (await one(store, waiting)).state is State.CANCELLED
    assert await place.value("select count(*) from cancel_request") == 0


async def test_who_fires_into_a_gate_waits_for_whoever_is_at_it(
    place: Place, store: PostgresStore, make: Make
) -> None:
    """F48, R7.4: what the other has let in is seen by nobody until it has committed."""
    first, second = await stored(store, make, "first"), await stored(store, make, "second")
    shared: dict[str, Any] = {"concurrency_key": "provider", "max_concurrency": 1}
    async with place.connection() as line:
        transaction = line.transaction()
        await transaction.start()
        assert await verbs.fire(line, [firing(make, first, NOW, **shared)], NOW) == [True]
        going = asyncio.create_task(store.fire([firing(make, second, NOW, **shared)], NOW))

        waits = "select exists (select from pg_locks where locktype = 'advisory' and not granted)"
        while not going.done() and not await place.value(waits):
            await asyncio.wait([going], timeout=0)
        await transaction.commit()

    assert await going == [True]
    use = await store.gate_use("provider", 10)
    assert (use.inside, use.waiting) == (1, 1)


async def _back(place: Place, task_id: str) -> None:
    """Let a task be one that nobody has taken."""
    await place.run(f"update ready set session = null, started_at = null where id = '{task_id}'")


async def test_a_removal_and_a_backfill_leave_no_stray_record(
    place: Place, store: PostgresStore, make: Make
) -> None:
    """R6.8: whichever comes first, no slot is left of a schedule that is gone."""
    other = PostgresStore(place.address)
    for n in range(20):
        schedule = await stored(store, make, f"report-{n}")
        runs = runs_of(make, schedule, *(slot(-k) for k in range(1, 30)), **NO_GATE)

        made, removed = await asyncio.gather(
            other.fire_extra(schedule.id, runs, NOW, slots=True), store.remove_schedule(schedule.id)
        )

        assert removed
        assert len(set(made)) == 1
        assert len(await store.find(TaskFilter(schedule=schedule.id))) == made.count(True)
        assert await place.value("select count(*) from slot") == 0
    await other.close()


async def test_it_works_through_a_pooler(
    postgres_url: str, store: PostgresStore, make: Make
) -> None:
    """B155: no verb leans on a state of its connection."""
    pooled = PostgresStore(f"{postgres_url}?pgbouncer=1")
    await pooled.open()
    schedule: Schedule = await stored(pooled, make)
    due: list[Any] = await pooled.due_schedules(NOW, 10)
    assert [each.schedule for each in due] == [schedule]
    assert await pooled.fire([firing(make, schedule, NOW)], NOW) == [True]
    assert await pooled.fire_extra(
        schedule.id, runs_of(make, schedule, slot(-1)), NOW, slots=True
    ) == [True]
    assert await pooled.live([schedule.id], 10) == [2]
    assert len(await pooled.slots(schedule.id, None, 10)) == 2
    assert await pooled.next_firing() == slot(1)
    assert await pooled.change_schedule(edited(await read(pooled, schedule)), 1, NOW)
    assert await pooled.remove_schedule(schedule.id)
    await pooled.close()
