"""A day's partition made amid a caller's own transaction is not that caller's concern (R3.5)."""

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from rota import effects
from rota.model import CancelOutcome, NewTask
from rota.store.postgres import PostgresStore
from rota.store.postgres.history import Day
from rota.transactions import ado, work
from tests.conformance.steps import open_worker, take_all
from tests.store.test_postgres_history import lying, until_somebody_waits
from tests.support.factories import NOW, Make
from tests.support.places import Place

MAKE = "select rota.make_day($1, $2, $3, 100)"


@pytest.fixture
def place(postgres_url: str) -> Place:
    """An empty database."""
    return Place("postgres", postgres_url)


@pytest.fixture
def store(place: Place, runner: asyncio.Runner) -> Iterator[PostgresStore]:
    """A migrated, open store whose days have no partitions."""
    store = PostgresStore(place.address)
    runner.run(store.migrate())
    runner.run(store.open())
    yield store
    runner.run(store.close())


@pytest.fixture
def today(store: PostgresStore, runner: asyncio.Runner) -> Day:
    """The day by the server's clock, at which a caller's transaction ends tasks."""
    return Day.of(runner.run(store.clock()))


@pytest.mark.parametrize("isolation", ["read_committed", "repeatable_read"])
async def test_a_task_completed_in_a_transaction_goes_to_the_day_made_meanwhile(
    place: Place, store: PostgresStore, make: Make, today: Day, isolation: str
) -> None:
    """R3.5: PostgreSQL refuses a row whose place changed while it waited; the caller sees none."""
    await store.submit(make.tasks(1), NOW)
    session = await open_worker(store, make)
    (task,) = await take_all(store, session)
    async with place.connection() as maker, place.connection() as caller:
        making, own = maker.transaction(), caller.transaction(isolation=isolation)
        await making.start()
        assert await maker.fetchval(MAKE, today.partition, today.begin, today.end)
        await own.start()
        completing = asyncio.create_task(effects.acomplete(caller, task, session, {"sent": 1}))
        await until_somebody_waits(place)
        await making.commit()
        await completing
        await own.commit()

    assert await lying(place) == {today.partition: 1}


async def test_tasks_cancelled_in_a_transaction_go_to_the_day_made_meanwhile(
    place: Place, store: PostgresStore, make: Make, today: Day
) -> None:
    """R5.1: as for one that is completed."""
    ids = [task.id for task in await _submitted(store, make)]
    async with place.connection() as maker, place.connection() as caller:
        making, own = maker.transaction(), caller.transaction()
        await making.start()
        assert await maker.fetchval(MAKE, today.partition, today.begin, today.end)
        await own.start()
        cancelling = asyncio.create_task(ado(caller, work.cancel(ids, NOW, None)))
        await until_somebody_waits(place)
        await making.commit()
        assert await cancelling == [CancelOutcome.COMPLETED] * 3
        await own.commit()

    assert await lying(place) == {today.partition: 3}


async def test_another_broken_rule_is_told_as_it_is(
    place: Place, store: PostgresStore, make: Make
) -> None:
    """Only the day's rule is a matter of trying again."""
    ids = [task.id for task in await _submitted(store, make)]
    await place.run("alter table finished add constraint no_more check (kind <> 'send_result')")
    async with place.connection() as caller:
        with pytest.raises(asyncpg.CheckViolationError, match="no_more"):
            await ado(caller, work.cancel(ids, NOW, None))


async def _submitted(store: PostgresStore, make: Make) -> list[NewTask]:
    tasks = make.tasks(3)
    await store.submit(tasks, NOW)
    return tasks
