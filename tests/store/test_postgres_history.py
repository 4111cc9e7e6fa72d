"""History on PostgreSQL lies by the day: made ahead, dropped whole, never in anybody's way."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from rota.clock import instant
from rota.config import DAY, HOUR, MINUTE
from rota.model import Claimed, Lane, Micros, Share, State
from rota.store.postgres import PostgresStore, history
from rota.store.postgres.connections import HOT
from rota.store.postgres.history import AHEAD, Day
from rota.store.sqlfiles import blocks, number
from tests.conformance.steps import counts, one, open_worker, take_all
from tests.support.factories import LANE, NOW, Make, cancelled, completed, kept
from tests.support.places import Place

TODAY = Day.of(NOW)
WEEK = kept(7 * DAY)


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


async def hold(store: PostgresStore, make: Make, count: int, at: Micros = NOW) -> list[Claimed]:
    """Store tasks and have a worker hold them."""
    await store.submit(make.tasks(count), NOW)
    return await take_all(store, await open_worker(store, make, at=at), now=at)


async def end(
    store: PostgresStore, make: Make, count: int, at: Micros, **fields: Any
) -> list[Claimed]:
    """Have tasks completed at an instant."""
    await store.submit(make.tasks(count, **fields), NOW)
    session = await open_worker(store, make, at=at)
    lane = Lane(fields.get("queue", LANE.queue), LANE.cls, LANE.tenant)
    held = (await store.take(session, [Share(lane, count)], [], at, 0)).tasks
    assert await store.finish(session, [completed(task) for task in held], at) == [True] * count
    return held


async def partitions(place: Place) -> list[str]:
    """The days that have a partition."""
    return [name for (name,) in await place.rows(blocks("postgres")["history_days"])]


async def lying(place: Place) -> dict[str, int]:
    """How many tasks lie in each partition, apart from the empty ones."""
    return dict(
        await place.rows("select tableoid::regclass::text, count(*) from finished group by 1")
    )


class TestDays:
    def test_a_day_is_that_of_utc(self) -> None:
        day = Day.of(NOW)
        assert instant(day.begin).isoformat() == "2027-01-15T00:00:00+00:00"
        assert day.partition == "finished_20270115"
        assert Day.named(day.partition) == day
        assert Day.of(day.end) == Day.named("finished_20270116")
        assert Day.of(day.end - 1) == day

    async def test_they_are_made_ahead(self, place: Place, store: PostgresStore) -> None:
        """R9.5: today's and the next ones, so that no finish waits for one to be made."""
        await store.prune(NOW, WEEK, 100)
        made = ["finished_20270115", "finished_20270116", "finished_20270117", "finished_20270118"]
        assert await partitions(place) == made
        assert len(made) == AHEAD + 1

        await store.prune(NOW + DAY, WEEK, 100)
        assert await partitions(place) == [*made, "finished_20270119"]

    async def test_what_ends_lies_in_its_day(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        await store.prune(NOW, WEEK, 100)
        await end(store, make, 3, TODAY.end - 1)
        await end(store, make, 2, TODAY.end)

        assert await lying(place) == {"finished_20270115": 3, "finished_20270116": 2}

    async def test_a_day_is_made_like_the_others(self, place: Place, store: PostgresStore) -> None:
        """With the same indexes and checks, whichever way it came to be."""
        await store.prune(NOW, WEEK, 100)
        shape = """
            select string_agg(replace(indexdef, tablename, 'it'), '; ' order by indexdef)
            from pg_indexes
            where schemaname = 'rota' and tablename = '{}'
        """
        day, default = [
            await place.value(shape.format(name)) for name in (TODAY.partition, "finished_default")
        ]
        assert day == default

    async def test_any_number_of_nodes_make_them_at_once(
        self, place: Place, store: PostgresStore
    ) -> None:
        """R8.3: each is made once, and nobody fails."""
        others = [PostgresStore(place.address) for _ in range(4)]
        await asyncio.gather(*(other.prune(NOW, WEEK, 100) for other in others))
        await asyncio.gather(*(other.close() for other in others))
        await store.prune(NOW, WEEK, 100)

        assert len(await partitions(place)) == AHEAD + 1


class TestStrays:
    async def test_nothing_fails_for_the_lack_of_a_day(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        """R9.5: and when the day is made, what lies in its way moves there."""
        held = await end(store, make, 5, NOW)
        await end(store, make, 1, NOW - DAY)
        assert await lying(place) == {"finished_default": 6}
        before = [await one(store, task.id) for task in held]

        await store.prune(NOW, WEEK, 100)

        assert await lying(place) == {TODAY.partition: 5, "finished_default": 1}
        assert [await one(store, task.id) for task in held] == before

    async def test_too_many_stay_where_they_are(
        self,
        place: Place,
        store: PostgresStore,
        make: Make,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Moving them would hold up the finishes; the days to come are made all the same."""
        monkeypatch.setattr(history, "MOVED_MOST", 4)
        await end(store, make, 5, NOW)

        await store.prune(NOW, WEEK, 100)

        assert await lying(place) == {"finished_default": 5}
        assert await partitions(place) == [
            "finished_20270116",
            "finished_20270117",
            "finished_20270118",
        ]

    async def test_a_finish_that_is_under_way_is_done_again(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        """PostgreSQL refuses a row for the default partition whose day was made meanwhile."""
        (task,) = await hold(store, make, 1)
        session = (await one(store, task.id)).session
        assert session
        async with place.connection() as holder:
            transaction = holder.transaction()
            await transaction.start()
            await holder.execute("select from ready for update")
            finishing = asyncio.create_task(store.finish(session, [completed(task)], NOW))
            await until_somebody_waits(place)
            await store.prune(NOW, WEEK, 100)
            await transaction.rollback()

        assert await finishing == [True]
        assert await lying(place) == {TODAY.partition: 1}


class TestDrops:
    async def test_a_day_goes_whole_when_its_time_is_over(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        """R9.5: with all that ended on it, and not before; a day late at the most."""
        await store.prune(NOW, WEEK, 100)
        first = await end(store, make, 3, NOW)
        second = await end(store, make, 2, TODAY.end)

        assert await store.prune(TODAY.end + 7 * DAY - 1, WEEK, 100) == 0
        assert await store.prune(TODAY.end + 7 * DAY, WEEK, 100) == 3

        assert await store.get([task.id for task in first]) == [None] * 3
        assert await counts(store) == {State.COMPLETED: 2}
        assert TODAY.partition not in await partitions(place)
        assert await store.prune(TODAY.end + 8 * DAY, WEEK, 100) == 2
        assert await store.get([task.id for task in second]) == [None] * 2

    async def test_the_longest_time_that_applies_counts(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        """R9.5: what is kept for less goes before its day, in batches."""
        retention = kept(DAY, cancelled=30 * DAY)
        await store.prune(NOW, retention, 100)
        await end(store, make, 7, NOW)
        session = await open_worker(store, make, at=NOW)
        await store.submit(make.tasks(1), NOW)
        (unwanted,) = await take_all(store, session)
        await store.finish(session, [cancelled(unwanted)], NOW)

        gone = [await store.prune(NOW + 2 * DAY, retention, 3) for _ in range(4)]

        assert gone == [3, 3, 1, 0]
        assert await counts(store) == {State.CANCELLED: 1}
        assert TODAY.partition in await partitions(place)
        assert await store.prune(TODAY.end + 30 * DAY, retention, 3) == 1
        assert TODAY.partition not in await partitions(place)

    async def test_a_queue_may_be_kept_for_a_shorter_time(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        """R9.5: its tasks go from among the others, minute by minute."""
        retention = kept(7 * DAY, otp=10 * MINUTE)
        await store.prune(NOW, retention, 100)
        await end(store, make, 2, NOW)
        early = await end(store, make, 2, NOW, queue="otp")
        await end(store, make, 1, NOW + HOUR, queue="otp")

        gone = [
            await store.prune(at, retention, 100)
            for at in (NOW + 10 * MINUTE, NOW + 11 * MINUTE, NOW + HOUR, NOW + 2 * HOUR)
        ]

        assert gone == [0, 2, 0, 1]
        assert await store.get([task.id for task in early]) == [None] * 2
        assert await lying(place) == {TODAY.partition: 2}

    async def test_a_queue_may_be_kept_for_a_longer_time(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        """R9.5."""
        retention = kept(DAY, audit=100 * DAY)
        await store.prune(NOW, retention, 100)
        await end(store, make, 2, NOW)
        (proof,) = await end(store, make, 1, NOW, queue="audit")

        assert await store.prune(NOW + 2 * DAY, retention, 100) == 2
        assert await store.prune(NOW + 99 * DAY, retention, 100) == 0
        assert (await one(store, proof.id)).state is State.COMPLETED
        assert await store.prune(TODAY.end + 100 * DAY, retention, 100) == 1

    async def test_what_was_searched_already_is_not_read_again(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        """F56: nor is what became visible late, up to five minutes, overlooked."""
        retention = kept(7 * DAY, otp=HOUR)
        await store.prune(NOW, retention, 100)
        await store.prune(NOW + 2 * HOUR, retention, 100)
        await end(store, make, 1, NOW + HOUR - MINUTE, queue="otp")

        assert await store.prune(NOW + 2 * HOUR + MINUTE, retention, 100) == 1

    async def test_a_reader_is_not_waited_for_and_holds_nobody_up(
        self,
        place: Place,
        store: PostgresStore,
        make: Make,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """F24: whoever drops a day gives way; it goes as soon as nobody reads it."""
        monkeypatch.setattr(history, "PAUSE_SECONDS", 0.0)
        await store.prune(NOW, WEEK, 100)
        await end(store, make, 3, NOW)
        at = TODAY.end + 7 * DAY
        held = await hold(store, make, 1, at)
        session = (await one(store, held[0].id)).session
        assert session
        async with place.connection() as reader:
            transaction = reader.transaction(isolation="repeatable_read", readonly=True)
            await transaction.start()
            await reader.fetch("select count(*) from finished")
            dropping = asyncio.create_task(store.prune(at, WEEK, 100))
            async with asyncio.timeout(60):
                done = await store.finish(session, [completed(task) for task in held], at)
                assert await dropping == 0
            await transaction.rollback()

        assert done == [True]
        assert TODAY.partition in await partitions(place)
        assert await store.prune(at, WEEK, 100) == 3

    async def test_what_lies_in_no_day_goes_in_batches(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        """F56: exactly when its time is over."""
        await end(store, make, 5, NOW)
        at = NOW + 7 * DAY

        gone = [await store.prune(at + after, WEEK, 2) for after in (0, 1, 1, 1, 1)]

        assert gone == [0, 2, 2, 1, 0]
        assert await lying(place) == {}


class TestReading:
    async def fill(self, place: Place, store: PostgresStore) -> None:
        """Make nine days of history, 2,000 tasks each."""
        for n in range(6):
            await store.prune(NOW + n * DAY, WEEK, 100)
        assert len(await partitions(place)) == 9
        await place.run(f"""
            insert into finished (
                id, kind, queue, tenant, priority, class, run_at, rank, created_at, payload,
                state, finished_at
            )
            select
                gen_random_uuid(), 'send_result', 'default', '', 5, 2, 0, 0, 0, '{{}}',
                'completed', {TODAY.begin} + n::bigint * {DAY // 2000}
            from generate_series(0, 9 * 2000 - 1) as counter (n)
        """)
        await place.run("vacuum analyze finished")

    async def plan(self, place: Place, block: str, **values: str) -> dict[str, Any]:
        """The plan of a block on one of the lines that keep their plans."""
        sql, names = number(blocks("postgres")[block])
        line = await asyncpg.connect(place.address, server_settings=HOT)
        await line.execute(f"prepare tried as {sql}")
        call = f"execute tried({', '.join(values[name] for name in names)})"
        rows = await line.fetch(f"explain (analyze, buffers, format json) {call}")
        await line.close()
        plan: dict[str, Any] = json.loads(rows[0][0])[0]["Plan"]
        return plan

    async def test_a_look_up_costs_little_over_nine_days(
        self, place: Place, store: PostgresStore
    ) -> None:
        """R9.1: a few pages of each day's index."""
        await self.fill(place, store)
        task_id = await place.value("select id from finished limit 1")

        plan = await self.plan(place, "get", ids=f"'{{{task_id}}}'")

        assert '"Seq Scan"' not in json.dumps(plan)
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 9 * 3 + 6

    async def test_a_repeat_is_looked_for_in_the_days_since_it_was_made(
        self, place: Place, store: PostgresStore
    ) -> None:
        """R1.4: the cost of a submit does not grow with the days that are kept."""
        await self.fill(place, store)
        ids = await place.rows("select id from finished limit 100")
        listed = "'{" + ",".join(str(task_id) for (task_id,) in ids) + "}'"

        since = str(NOW + 7 * DAY)
        plan = await self.plan(place, "known_ids", due=listed, later=listed, made_since=since)

        text = json.dumps(plan)
        assert "finished_20270121_pkey" in text
        assert "finished_20270120_pkey" not in text


async def until_somebody_waits(place: Place) -> None:
    """Return as soon as a statement waits for a lock."""
    async with asyncio.timeout(60):
        while not await place.value("select count(*) from pg_locks where not granted"):
            pass
