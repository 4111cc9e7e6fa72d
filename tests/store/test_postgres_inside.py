"""What is done in a caller's own transaction, however long that stays open (R1.3, R3.5)."""

import asyncio
from collections.abc import Iterator

import asyncpg
import msgspec
import pytest

from rota.clock import Micros
from rota.config import DAY, HOUR, KEEP_EFFECTS, LEASE, MINUTE
from rota.contrib.embedded import EmbeddedPostgres
from rota.errors import KeyBusy
from rota.model import Accepted, CancelOutcome, Note, State
from rota.store.postgres import PostgresStore
from tests.conformance.steps import beat, bring, one, open_worker, take_all
from tests.support.factories import LATER, NOW, Make, completed, kept, lost
from tests.support.places import Place


@pytest.fixture(scope="module")
def migrated(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """The address of a migrated database, which the tests of this file use one after another."""
    url = postgres_server.create_database("inside")
    with asyncio.Runner() as runner:
        store = PostgresStore(url)
        runner.run(store.migrate())
        runner.run(store.close())
    yield url
    postgres_server.drop_database("inside")


@pytest.fixture
def place(migrated: str, runner: asyncio.Runner) -> Place:
    """A database in which there is nothing."""
    place = Place("postgres", migrated)
    runner.run(place.wipe())
    runner.run(place.run("delete from effect; delete from cancel_request"))
    return place


@pytest.fixture
def store(place: Place, runner: asyncio.Runner) -> Iterator[PostgresStore]:
    """An open store."""
    store = PostgresStore(place.address)
    runner.run(store.open())
    yield store
    runner.run(store.close())


@pytest.fixture
def caller(
    place: Place, store: PostgresStore, runner: asyncio.Runner
) -> Iterator[asyncpg.Connection]:
    """A connection of the caller's own, which knows nothing of Rota."""
    connection = runner.run(asyncpg.connect(place.address))
    yield connection
    runner.run(connection.close())


class TestCancel:
    async def cancel(
        self, caller: asyncpg.Connection, ids: list[str], deadline: Micros | None = None
    ) -> dict[str, str]:
        rows = await caller.fetch("select * from rota.cancel($1, $2)", ids, deadline)
        return {str(task_id): outcome for task_id, outcome in rows}

    @pytest.mark.parametrize(
        ("state", "outcome"),
        [
            (State.SCHEDULED, "completed"),
            (State.READY, "completed"),
            (State.RUNNING, "accepted"),
            (State.COMPLETED, "too_late"),
            (State.CANCELLED, "too_late"),
            (State.FAILED, "too_late"),
        ],
    )
    async def test_the_caller_is_told_what_became_of_each(
        self,
        store: PostgresStore,
        make: Make,
        caller: asyncpg.Connection,
        state: State,
        outcome: str,
    ) -> None:
        """R5.1."""
        task = await bring(store, make, state)
        before = await one(store, task.id)

        assert await self.cancel(caller, [make.id(), task.id, task.id]) == {task.id: outcome}

        after = await one(store, task.id)
        if outcome == "completed":
            assert (after.state, after.reason) == (State.CANCELLED, "cancelled by request")
            assert after.finished_at is not None
            assert list((await store.tallies(after.finished_at)).values()) == [1]
        else:
            assert after == before

    async def test_what_runs_is_asked_once_the_caller_has_committed(
        self, store: PostgresStore, make: Make, caller: asyncpg.Connection
    ) -> None:
        """R5.2: a node passes it on; the first request and the earliest deadline count."""
        task = await bring(store, make, State.RUNNING)
        transaction = caller.transaction()
        await transaction.start()
        await self.cancel(caller, [task.id], NOW)
        await store.expire(NOW, 10)
        await transaction.rollback()
        await store.expire(NOW, 10)
        assert (await one(store, task.id)).cancel_requested_at is None

        for deadline in (None, LATER, LATER + HOUR):
            await self.cancel(caller, [task.id], deadline)
        asked_before = await store.clock()
        assert await store.expire(NOW, 10) == 0

        requested_at = (await one(store, task.id)).cancel_requested_at
        assert requested_at is not None
        assert asked_before - MINUTE < requested_at <= asked_before
        assert await store.revoke_overdue(LATER - 1, 10) == []
        assert await store.revoke_overdue(LATER, 10) == [task.id]

    @pytest.mark.parametrize("moves_to", [State.READY, State.SCHEDULED, State.COMPLETED])
    async def test_a_request_finds_its_task_wherever_it_is_by_then(
        self,
        place: Place,
        store: PostgresStore,
        make: Make,
        caller: asyncpg.Connection,
        moves_to: State,
    ) -> None:
        """R5.1: handed back or tried again, it is cancelled; over, it stays as it ended."""
        await store.submit(make.tasks(1), NOW)
        session = await open_worker(store, make)
        (task,) = await take_all(store, session)
        assert await self.cancel(caller, [task.id]) == {task.id: "accepted"}
        move = msgspec.structs.replace(lost(task), to=moves_to)
        assert await store.finish(session, [move], NOW) == [True]

        cancelled = await store.expire(NOW, 10)

        ended = State.COMPLETED if moves_to is State.COMPLETED else State.CANCELLED
        assert (await one(store, task.id)).state is ended
        assert cancelled == (moves_to is not State.COMPLETED)
        assert await place.value("select count(*) from cancel_request") == 0


class TestEffects:
    async def test_the_first_time_only(
        self, place: Place, store: PostgresStore, caller: asyncpg.Connection
    ) -> None:
        """R3.5: the key is there if and only if the caller committed."""
        once = "select rota.once($1)"
        transaction = caller.transaction()
        await transaction.start()
        assert await caller.fetchval(once, "sms/17") is True
        assert await caller.fetchval(once, "sms/17") is False
        await transaction.rollback()

        assert await caller.fetchval(once, "sms/17") is True
        async with place.connection() as other:
            assert await other.fetchval(once, "sms/17") is False
            assert await other.fetchval(once, "sms/18") is True

    async def test_effects_of_long_ago_are_forgotten(
        self, place: Place, store: PostgresStore, caller: asyncpg.Connection
    ) -> None:
        now = await store.clock()
        for age in (KEEP_EFFECTS + DAY, KEEP_EFFECTS - DAY):
            await caller.execute("insert into rota.effect values ($1, $2)", str(age), now - age)

        await store.prune(now, kept(DAY), 10)

        assert await place.rows("select key from effect") == [(str(KEEP_EFFECTS - DAY),)]


class TestComplete:
    async def test_a_task_finishes_in_the_transaction_or_not_at_all(
        self, store: PostgresStore, make: Make, caller: asyncpg.Connection
    ) -> None:
        """R3.5."""
        await store.submit(make.tasks(1), NOW)
        session = await open_worker(store, make)
        (task,) = await take_all(store, session)
        complete = "select rota.complete($1, $2, $3, $4)"
        given = (task.id, session, task.fence, '{"sent": 500}')
        transaction = caller.transaction()
        await transaction.start()
        assert await caller.fetchval(complete, *given) is True
        await transaction.rollback()
        assert (await one(store, task.id)).state is State.RUNNING

        assert await caller.fetchval(complete, *given) is True

        done = await one(store, task.id)
        assert (done.state, done.result, done.session) == (
            State.COMPLETED,
            {"sent": 500},
            session,
        )
        assert done.finished_at
        assert await store.clock() - done.finished_at < MINUTE
        assert await store.tallies(done.finished_at) == {
            ("default", "send_result", State.COMPLETED): 1
        }
        assert await caller.fetchval(complete, *given) is False

    async def test_an_old_fence_completes_nothing(
        self, store: PostgresStore, make: Make, caller: asyncpg.Connection
    ) -> None:
        """R3.2: nor does the session of another."""
        await store.submit(make.tasks(1), NOW)
        session = await open_worker(store, make)
        (task,) = await take_all(store, session)
        complete = "select rota.complete($1, $2, $3, null)"
        assert await caller.fetchval(complete, task.id, session, task.fence - 1) is False
        assert await caller.fetchval(complete, task.id, make.id(), task.fence) is False
        assert (await one(store, task.id)).state is State.RUNNING


class TestLongTransactions:
    """A transaction that stays open blocks no other caller, no other tenant and no worker."""

    @pytest.fixture
    def under_way(
        self, caller: asyncpg.Connection, runner: asyncio.Runner
    ) -> Iterator[asyncpg.Connection]:
        """A transaction of a caller that stays open for the whole test."""
        transaction = caller.transaction()
        runner.run(transaction.start())
        yield caller
        runner.run(transaction.rollback())

    async def test_who_submits_is_waited_for_by_nobody(
        self, store: PostgresStore, make: Make, under_way: asyncpg.Connection
    ) -> None:
        """R1.3: neither without a key nor with one."""
        await under_way.fetch("select rota.submit('send_result', '{}')")
        await under_way.fetch("select rota.submit('send_result', '{}', '{\"key\":\"held\"}')")
        await under_way.fetch("select rota.submit('later', '{}', '{\"delay\":1}')")

        async with asyncio.timeout(SOON):
            await everybody_works(store, make)
            # The same key of another tenant and of another kind is another key.
            others = [make.keyed("held", tenant="other"), make.keyed("held", kind="other")]
            assert await store.submit(others, NOW) == [Accepted(task.id) for task in others]

    async def test_a_key_that_is_taken_is_not_waited_for_long(
        self, store: PostgresStore, make: Make, under_way: asyncpg.Connection
    ) -> None:
        """R1.4: who wants it is told so; whoever shares the batch and the lines goes on."""
        row = await under_way.fetchrow(
            "select * from rota.submit('send_result', '{}', '{\"key\":\"held\"}')"
        )
        wanted = make.keyed("held", until=2 * await store.clock())

        async with asyncio.timeout(SOON):
            answers = await asyncio.gather(
                *(store.submit([make.task(), wanted], NOW) for _ in range(4)),
                return_exceptions=True,
            )
            assert [type(answer) for answer in answers] == [KeyBusy] * 4
            await everybody_works(store, make)
        assert await store.get([wanted.id]) == [None]

        await under_way.execute("commit")
        assert await store.submit([wanted], NOW) == [Accepted(str(row["id"]), created=False)]
        await under_way.execute("begin")

    async def test_who_cancels_is_waited_for_by_nobody(
        self, store: PostgresStore, make: Make, under_way: asyncpg.Connection
    ) -> None:
        """R5.1: not even by the worker that runs what is asked to stop."""
        waits = await bring(store, make, State.READY, make.task(tenant="a"))
        comes = await bring(store, make, State.SCHEDULED)
        await store.submit(make.tasks(1), NOW)
        session = await open_worker(store, make)
        (runs,) = await take_all(store, session)
        ids = [waits.id, comes.id, runs.id]
        await under_way.fetch("select * from rota.cancel($1)", ids)

        async with asyncio.timeout(SOON):
            assert await store.finish(session, [completed(runs)], NOW) == [True]
            await everybody_works(store, make)
            assert (await store.stage(LATER, 100)).moved == 0

    async def test_who_completes_is_waited_for_by_nobody(
        self, store: PostgresStore, make: Make, under_way: asyncpg.Connection
    ) -> None:
        """R3.8: when its lease is lost, what else it held is taken back all the same."""
        await store.submit(make.tasks(3), NOW)
        session = await open_worker(store, make)
        done, *others = await take_all(store, session)
        complete = "select rota.complete($1, $2, $3, null)"
        assert await under_way.fetchval(complete, done.id, session, done.fence)

        async with asyncio.timeout(SOON):
            await everybody_works(store, make)
            at = NOW + 2 * LEASE
            assert session in await store.end_expired(at, 100)
            held = await store.held(session, 100, free=True)
            assert {task.id for task in held} == {task.id for task in others}
            assert all(await store.finish(session, [lost(task) for task in held], at))

    async def test_who_records_an_effect_is_waited_for_by_nobody(
        self, place: Place, store: PostgresStore, make: Make, under_way: asyncpg.Connection
    ) -> None:
        """R3.5: but by who would cause the same effect, for that must be known first."""
        await under_way.fetch("select rota.once('sms/17')")

        async with asyncio.timeout(SOON):
            await everybody_works(store, make)
            async with place.connection() as other:
                assert await other.fetchval("select rota.once('sms/18')") is True
                await other.execute("set lock_timeout = '50ms'")
                with pytest.raises(asyncpg.LockNotAvailableError):
                    await other.fetchval("select rota.once('sms/17')")


SOON = 8.0
"""Seconds in which all must be done; whoever waits for the transaction waits for ever."""


async def everybody_works(store: PostgresStore, make: Make) -> None:
    """Do what callers and workers of any tenant do all the time."""
    session = await open_worker(store, make)
    tasks = [make.task(), make.task(tenant="b"), make.keyed(f"k-{make.id()}")]
    assert await store.submit(tasks, NOW) == [Accepted(task.id) for task in tasks]
    many = make.tasks(50)
    assert await store.submit(many, NOW) == [Accepted(task.id) for task in many]
    held = await take_all(store, session)
    assert {task.id for task in [tasks[0], tasks[2], *many]} <= {task.id for task in held}
    assert await store.note(session, [Note(held[0].id, held[0].fence, done=1)]) == [True]
    assert await beat(store, session, NOW)
    assert all(await store.finish(session, [completed(task) for task in held], NOW))
    assert await store.cancel([tasks[1].id], NOW) == [CancelOutcome.COMPLETED]
    await store.stage(NOW, 100)
    await store.expire(NOW, 100)
    await store.revoke_overdue(NOW, 100)
    await store.prune(NOW, kept(DAY), 100)
