"""Processes that are stopped in the middle of what they do to PostgreSQL hold nobody up."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from rota.config import DAY
from rota.model import Micros, Share
from rota.shares import Held, Limit
from rota.store.postgres import PostgresStore, cancel, claim, history, schema
from rota.store.postgres.address import Address
from rota.store.postgres.connections import COMMON, HOT, MIGRATION, PRUNE, Line, Lines, Role
from rota.store.postgres.history import AHEAD, Day
from rota.store.sqlfiles import Migration
from tests.conformance.steps import open_worker
from tests.support.factories import LANE, NOW, Make, completed, kept
from tests.support.places import Place
from tests.support.proxy import Proxy

TODAY = Day.of(NOW)
OTHERS = [Day(TODAY.begin + n * DAY) for n in range(1, AHEAD + 1)]

ENOUGH = 15.0
"""Seconds. Well above the second after which a silent transaction is ended, well below the thirty
after which a statement is."""

Work = Callable[[], Awaitable[object]]


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


@pytest.fixture
def proxy(place: Place, store: PostgresStore) -> Iterator[Proxy]:
    """Another way to the database, on which clients fall silent."""
    with Proxy(place.address) as proxy:
        yield proxy


@pytest.fixture(params=["", "?pgbouncer=1"], ids=["direct", "pooled"])
def address(request: pytest.FixtureRequest, proxy: Proxy) -> Address:
    """That way, with each call one statement, or a transaction as behind a pooler."""
    return Address(proxy.url + request.param)


async def end_one(store: PostgresStore, make: Make) -> None:
    """Have a task submitted, taken and completed."""
    await store.submit(make.tasks(1), NOW)
    session = await open_worker(store, make, at=NOW)
    held = (await store.take(session, [Share(LANE, 1)], [], NOW, 0)).tasks
    assert await store.finish(session, [completed(task) for task in held], NOW) == [True]


async def stopped_everywhere(proxy: Proxy, line: Line, work: Work, others: Work) -> int:
    """Have `others` succeed while `work` stands still after each of its words; return how many."""
    words = 0
    while await _stopped_after(words, proxy, line, work, others):
        words += 1
    return words


async def _stopped_after(words: int, proxy: Proxy, line: Line, work: Work, others: Work) -> bool:
    """Say whether there was another word, so that it came to a stop."""
    # Connected before: only what it says from here on counts.
    await history.days(line)
    proxy.fall_silent_after(words)
    working = asyncio.ensure_future(work())
    while not proxy.silent and not working.done():
        await asyncio.wait([working], timeout=0.001)
    stopped = proxy.silent
    try:
        async with asyncio.timeout(ENOUGH):
            await others()
    finally:
        if stopped:
            line.drop()
        await asyncio.gather(working, return_exceptions=stopped)
        proxy.heal()
    return stopped


async def test_who_makes_a_day_holds_nobody_up(
    place: Place, store: PostgresStore, make: Make, proxy: Proxy, address: Address
) -> None:
    """F24: although everybody waits for a day to be attached, and for what lies there to move."""
    await end_one(store, make)
    line = Line(address, PRUNE)

    words = await stopped_everywhere(
        proxy,
        line,
        lambda: history.make_ahead(line, OTHERS, NOW),
        lambda: end_one(store, make),
    )

    await line.close()
    assert words >= 2
    assert await place.value(f"select count(*) from {TODAY.partition}") == words + 2
    assert await place.value("select count(*) from finished_default") == 0


async def test_who_drops_a_day_holds_nobody_up(
    place: Place, store: PostgresStore, make: Make, proxy: Proxy, address: Address
) -> None:
    """F24."""
    await store.prune(NOW, kept(7 * DAY), 100)
    await end_one(store, make)
    line = Line(address, PRUNE)

    words = await stopped_everywhere(
        proxy, line, lambda: history.drop(line, TODAY), lambda: end_one(store, make)
    )

    await line.close()
    assert words >= 2
    assert await place.value("select to_regclass($$finished_20270115$$)") is None


async def test_who_migrates_holds_nobody_up(
    place: Place, store: PostgresStore, make: Make, proxy: Proxy, address: Address
) -> None:
    """R8.6: a deploy is stopped, and all that runs goes on."""
    change = "alter table rota.ready add column newer int;"
    line = Line(address, MIGRATION)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "migrations", lambda _: [Migration(9000, "newer", change)])
        patch.setattr(schema, "_SILENT_SECONDS", 1)
        words = await stopped_everywhere(
            proxy, line, lambda: schema.migrate(line), lambda: end_one(store, make)
        )

    await line.close()
    assert words >= 2
    assert await place.value("select count(*) from migration where number = 9000") == 1


class Worker:
    """Holds one task, and another one once it has reported that."""

    def __init__(self, store: PostgresStore, make: Make, deadline: Micros | None) -> None:
        self._store, self._make, self._deadline = store, make, deadline
        self.reported: list[bool] = []

    async def hold(self) -> None:
        """Hold a task, which is asked to stop by the deadline if there is one."""
        self._session = await open_worker(self._store, self._make, at=NOW)
        await self._store.submit(self._make.tasks(1), NOW)
        (self.task,) = (await self._store.take(self._session, [Share(LANE, 1)], [], NOW, 0)).tasks
        if self._deadline is not None:
            await self._store.cancel([self.task.id], NOW, self._deadline)

    async def report(self) -> None:
        """Report that the task is completed."""
        self.reported += await self._store.finish(self._session, [completed(self.task)], NOW)
        await self.hold()


class OneLine(Lines):
    """All roles on one line."""

    def __init__(self, line: Line) -> None:
        self._lines = {role: [line] for role in Role}


async def test_who_cancels_holds_no_worker_up(
    store: PostgresStore, make: Make, proxy: Proxy
) -> None:
    """R5.1: the worker reports, though its task is being asked to stop."""
    worker = Worker(store, make, None)
    await worker.hold()
    line = Line(Address(proxy.url), COMMON)

    def cancel_it() -> Awaitable[object]:
        return cancel.cancel(OneLine(line), [worker.task.id, make.id()], NOW, None)

    words = await stopped_everywhere(proxy, line, cancel_it, worker.report)

    await line.close()
    assert words >= 4
    assert worker.reported == [True] * (words + 1)


async def test_who_ends_what_is_overdue_holds_no_worker_up(
    store: PostgresStore, make: Make, proxy: Proxy
) -> None:
    """R5.2: the report of its worker is in time, or is too late at once."""
    worker = Worker(store, make, NOW)
    await worker.hold()
    line = Line(Address(proxy.url), COMMON)

    def revoke() -> Awaitable[object]:
        return line.run(lambda connection: cancel.revoke_overdue(connection, NOW, 10))

    words = await stopped_everywhere(proxy, line, revoke, worker.report)

    await line.close()
    assert words >= 4
    assert worker.reported == [True] * words + [False]


async def test_who_takes_under_a_limit_holds_no_claimer_up(
    place: Place, store: PostgresStore, make: Make, proxy: Proxy
) -> None:
    """R7.4, R7.5: wherever it stops, the limit is free for others, and no more is handed out."""
    cap = Limit(id="cap", queue=LANE.queue, max_running=40, rate=1.0, burst=50)
    assert await store.put_limit(cap, 0)
    await store.submit(make.tasks(60), NOW)
    session, stopped = await open_worker(store, make), await open_worker(store, make)
    shares = [Share(LANE, 1, ("cap",))]
    line = Line(Address(proxy.url), HOT)
    given: dict[str, Any] = {"now": NOW, "version": 1}

    def take_one() -> Awaitable[object]:
        return line.run(lambda one: claim.take(one, stopped, shares, [], **given))

    async def others() -> None:
        taken = await store.take(session, shares, [], **given)
        while not taken.tasks and taken.blocked[0].why is Held.BUSY:
            taken = await store.take(session, shares, [], **given)
        assert len(taken.tasks) == 1

    words = await stopped_everywhere(proxy, line, take_one, others)

    await line.close()
    assert words >= 2
    (use,) = await store.limit_use(["cap"], NOW)
    assert words + 1 <= use.running <= 2 * (words + 1)
    assert use.tokens == 50 - use.running
