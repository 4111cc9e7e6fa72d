"""A million finished tasks go, and nobody who claims or finishes meanwhile notices (R9.5, F56)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from rota.clock import SystemClock
from rota.config import DAY
from rota.model import Micros, Share
from rota.store.postgres import PostgresStore
from rota.store.postgres.history import Day
from tests.conformance.steps import counts, open_worker
from tests.support.factories import LANE, NOW, Make, completed, kept
from tests.support.places import Place

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(180)]

WEEK = kept(7 * DAY)
OLD = NOW - 9 * DAY
MILLION = 1_000_000
BATCHED = 20_000
"""So many lie in no day's partition and go by thousands."""
ROUNDS = 250
FLOOR = 0.01
"""Seconds; on a busy machine shorter times say nothing."""


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


async def finish_many(place: Place, rows: int, begin: Micros) -> None:
    """Make history of a day."""
    await place.run(f"""
        insert into finished (
            id, kind, queue, tenant, priority, class, run_at, rank, created_at, payload,
            state, finished_at
        )
        select
            gen_random_uuid(), 'send_result', 'default', '', 5, 2, 0, 0, 0, '{{"student_id":1}}',
            'completed', {begin} + n::bigint * {DAY // rows}
        from generate_series(0, {rows - 1}) as counter (n)
    """)
    await place.run("analyze finished; checkpoint")


class Load:
    """Claims and finishes, one after the other, and how long each took."""

    def __init__(self, store: PostgresStore, session: str) -> None:
        self._store = store
        self._session = session
        self._clock = SystemClock()
        self.claims: list[float] = []
        self.finishes: list[float] = []

    async def step(self) -> None:
        """Claim ten tasks and finish them."""
        began = self._clock.monotonic()
        held = (await self._store.take(self._session, [Share(LANE, 10)], [], NOW, 0)).tasks
        claimed = self._clock.monotonic()
        await self._store.finish(self._session, [completed(task) for task in held], NOW)
        self.claims.append(claimed - began)
        self.finishes.append(self._clock.monotonic() - claimed)

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """Go on with it beside what the block does."""

        async def go_on() -> None:
            while True:
                await self.step()

        task = asyncio.create_task(go_on())
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def p99(times: list[float]) -> float:
    """The time that one of a hundred exceeds, no less than what can be told apart."""
    return max(sorted(times)[len(times) * 99 // 100], FLOOR)


async def test_a_million_tasks_go_while_claims_take_no_longer(
    place: Place, store: PostgresStore, make: Make
) -> None:
    """F56: within twice of the p99 that they have alone; a day at once, strays by thousands."""
    await store.prune(OLD, WEEK, 1000)
    await finish_many(place, MILLION, Day.of(OLD).begin)
    await finish_many(place, BATCHED, Day.of(OLD).begin - 10 * DAY)
    for _ in range(30):
        await store.submit(make.tasks(1000), NOW)
    session = await open_worker(store, make)
    before, beside, after = (Load(store, session) for _ in range(3))
    for _ in range(ROUNDS):
        await before.step()

    pruned = []
    async with beside.going_on():
        while gone := await store.prune(NOW, WEEK, 1000):
            pruned.append(gone)
            # As the janitor does: a batch, and then others have their turn.
            for _ in range(10):
                await beside.step()

    assert abs(sum(pruned) - MILLION - BATCHED) < MILLION // 20, "days are counted by statistics"
    assert sum((await counts(store)).values()) < 40_000
    assert Day.of(OLD).partition not in await partitions(place)
    # Compared on both sides of it: a machine may become busier meanwhile.
    for _ in range(ROUNDS):
        await after.step()
    assert p99(beside.claims) <= 2 * max(p99(before.claims), p99(after.claims))
    assert p99(beside.finishes) <= 2 * max(p99(before.finishes), p99(after.finishes))


async def partitions(place: Place) -> list[str]:
    """The names of the parts of history."""
    rows = await place.rows("select inhrelid::regclass::text from pg_inherits")
    return [name for (name,) in rows]
