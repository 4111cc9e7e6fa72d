"""What is particular to the store on PostgreSQL; the contract is tested in tests/conformance."""

import asyncio
import re
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import asyncpg
import msgspec
import pytest

from rota.contrib.embedded import EmbeddedPostgres
from rota.errors import (
    ConfigurationError,
    RotaError,
    SchemaOutOfDate,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from rota.model import (
    Accepted,
    Claimed,
    Look,
    PriorityClass,
    Session,
    Share,
    State,
    TaskFilter,
)
from rota.store.postgres import PostgresStore, accept
from rota.store.postgres.address import Address
from rota.store.postgres.connections import HOT, TRIES, Line, Lines, Role
from rota.store.postgres.faults import translated
from rota.store.postgres.rows import TASK_COLUMNS
from rota.store.postgres.statements import Connection, statement
from tests.support.factories import LANE, LATER, NOW, Make, cancelled, completed
from tests.support.places import Place

LOOK = Look(LANE.queue, LANE.cls)


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
def session(store: PostgresStore, make: Make, runner: asyncio.Runner) -> Session:
    """A session that is alive now."""
    session = make.session()
    runner.run(store.open_session(session))
    return session


async def take(store: PostgresStore, session: Session, count: int) -> list[Claimed]:
    """Take from the lane of tasks that are made without a wish."""
    return (await store.take(session.id, [Share(LANE, count)], [], NOW, 0)).tasks


class TestAddress:
    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://rota:s3cret@127.0.0.1:1/rota",
            "postgresql://127.0.0.1:1/rota?user=rota&password=s3cret",
            "postgresql://rota:s3cret/x@127.0.0.1:1/rota",
            "postgresql://rota:s3cret@127.0.0.1:1/rota?sslmode=nonsense",
        ],
    )
    async def test_the_password_shows_nowhere(self, url: str) -> None:
        """Not in what the store says of itself, nor in what it says of its troubles."""
        shown = ""
        try:
            store = PostgresStore(url)
            shown = repr(store)
            await store.open()
        except RotaError as error:
            shown += f"{error!r} {error.__cause__!r}"
        assert "s3cret" not in shown

    def test_the_mark_of_a_pooler_is_not_passed_on(self) -> None:
        address = Address("postgresql://db/rota?pgbouncer=1&sslmode=disable")
        assert address.pooled
        assert address.dsn == "postgresql://db/rota?sslmode=disable"

    def test_without_the_mark_there_is_no_pooler(self) -> None:
        assert not Address("postgresql://db/rota").pooled
        assert not Address("postgresql://db/rota?pgbouncer=0").pooled

    @pytest.mark.parametrize("hosts", ["db1,db2", "db1:5432,db2:5433", "db1:5432,db2"])
    def test_it_may_name_several_hosts(self, hosts: str) -> None:
        address = Address(f"postgresql://rota:s3cret@{hosts}/rota?target_session_attrs=read-write")
        assert address.shown.startswith(f"postgresql://rota:…@{hosts}/rota?")
        assert hosts in address.dsn

    async def test_a_dead_host_is_passed_over(self, bare_postgres_url: str) -> None:
        """A server that is gone does not matter while another answers; nor to a heartbeat."""
        live = urlsplit(bare_postgres_url).netloc.rpartition("@")[2]
        several = bare_postgres_url.replace(live, f"127.0.0.1:1,{live}")
        store = PostgresStore(f"{several}?target_session_attrs=read-write")
        assert await store.migrate()
        await store.open()
        pulse = store.pulse()
        assert pulse.clock() > 0
        pulse.close()
        await store.close()

    async def test_a_host_that_only_reads_is_passed_over(
        self, postgres_server: EmbeddedPostgres, place: Place
    ) -> None:
        """It is the standby, after the roles changed; waiting may bring a primary."""
        name = place.address.rpartition("/")[2]
        await place.rows(f"alter database {name} set default_transaction_read_only = on")
        store = PostgresStore(f"{place.address}?target_session_attrs=read-write")
        with pytest.raises(StoreUnavailable, match="read-write"):
            await store.open()

    def test_a_missing_driver_is_named_with_its_cure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "asyncpg", None)
        with pytest.raises(ConfigurationError, match=r"pip install 'rota\[postgres\]'"):
            PostgresStore("postgresql://db/rota")


class TestFaults:
    @pytest.mark.parametrize(
        ("code", "expected"),
        [
            ("08006", StoreUnavailable),
            ("25006", StoreUnavailable),
            ("25P03", StoreUnavailable),
            ("53100", StoreFull),
            ("53300", StoreUnavailable),
            ("57014", StoreUnavailable),
            ("57P01", StoreUnavailable),
            ("57P03", StoreUnavailable),
            ("3F000", SchemaOutOfDate),
            ("42P01", SchemaOutOfDate),
            ("22P02", StoreError),
            ("28P01", ConfigurationError),
        ],
    )
    def test_each_sqlstate_means_one_error(self, code: str, expected: type[RotaError]) -> None:
        error = asyncpg.PostgresError.new({"C": code, "M": "so it is", "S": "ERROR"})
        assert type(translated(error, reached=False)) is expected

    def test_a_login_that_worked_once_may_work_again(self) -> None:
        error = asyncpg.PostgresError.new({"C": "28P01", "M": "no", "S": "FATAL"})
        assert type(translated(error, reached=True)) is StoreUnavailable

    async def test_nobody_there_is_out_of_reach(self) -> None:
        store = PostgresStore("postgresql://postgres@127.0.0.1:1/rota")
        with pytest.raises(StoreUnavailable):
            await store.open()
        pulse = store.pulse()
        with pytest.raises(StoreUnavailable):
            pulse.clock()
        pulse.close()

    async def test_a_database_that_is_not_there_is_a_mistake(
        self, postgres_server: EmbeddedPostgres
    ) -> None:
        store = PostgresStore(postgres_server.database_url("nowhere"))
        with pytest.raises(ConfigurationError, match="nowhere"):
            await store.open()

    async def test_a_database_that_cannot_keep_every_text_is_refused(
        self, postgres_server: EmbeddedPostgres, place: Place
    ) -> None:
        await place.rows("create database ascii encoding 'SQL_ASCII' template template0")
        store = PostgresStore(postgres_server.database_url("ascii"))
        with pytest.raises(ConfigurationError, match="encoding 'UTF8'"):
            await store.migrate()
        postgres_server.drop_database("ascii")

    async def test_a_lost_table_asks_for_a_migration(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        await place.rows("drop table dead_letter cascade")
        with pytest.raises(SchemaOutOfDate, match="rota migrate"):
            await store.submit([make.task()], NOW)

    async def test_what_postgres_cannot_store_is_refused_whole(
        self, store: PostgresStore, make: Make
    ) -> None:
        """B157: the caller is told, the line goes on."""
        with pytest.raises(StoreError):
            await store.submit([make.task(), make.task(payload='"\\u0000"')], NOW)
        assert await store.count(TaskFilter(), 10) == {}

    async def test_a_deadlock_is_tried_again_and_not_for_ever(self, postgres_url: str) -> None:
        line = Line(Address(postgres_url), {})
        tries = 0

        async def clash(connection: Connection) -> None:
            nonlocal tries
            tries += 1
            if tries < TRIES or forever:
                await connection.execute("do $$ begin raise sqlstate '40P01'; end $$")

        forever = False
        await line.run(clash)
        assert tries == TRIES
        forever = True
        with pytest.raises(StoreError):
            await line.run(clash)
        assert tries == 2 * TRIES
        await line.close()

    async def test_a_changed_table_does_not_spoil_what_is_prepared(
        self, place: Place, store: PostgresStore, make: Make, session: Session
    ) -> None:
        """R8.6: an older process goes on while a newer one migrates."""
        await store.submit(make.tasks(2), NOW)
        for _ in range(2):
            tasks = await take(store, session, 1)
            assert await store.finish(session.id, [completed(t) for t in tasks], NOW) == [True]
            await place.rows("alter table ready add column if not exists newer int")


class TestFinish:
    async def test_rows_are_locked_in_the_order_of_their_ids(
        self, place: Place, store: PostgresStore, session: Session, make: Make
    ) -> None:
        """R8.3: two who report the same tasks in different orders cannot block each other."""
        await store.submit(make.tasks(5), NOW)
        tasks = await take(store, session, 5)
        reports = sorted(map(completed, tasks), key=lambda report: report.id, reverse=True)
        first, *others = (f"'{report.id}'" for report in reversed(reports))
        async with place.connection() as holder, holder.transaction():
            await holder.execute(f"select from ready where id = {first} for update")
            finishing = asyncio.create_task(store.finish(session.id, reports, NOW))
            async with asyncio.timeout(60):
                while not await place.value("select count(*) from pg_locks where not granted"):
                    pass

            free = f"select from ready where id in ({', '.join(others)}) for update skip locked"
            assert len(await holder.fetch(free)) == 4

        assert await finishing == [True] * 5

    async def test_each_report_has_its_own_answer(
        self, store: PostgresStore, session: Session, make: Make
    ) -> None:
        """R3.2: in the order in which they came, the second of two equal ones too late."""
        await store.submit(make.tasks(4), NOW)
        tasks = sorted(await take(store, session, 4), key=lambda task: task.id, reverse=True)
        reports = [completed(tasks[0]), cancelled(tasks[1]), completed(tasks[2])]
        unknown = msgspec.structs.replace(completed(tasks[3]), fence=7)

        answers = await store.finish(session.id, [unknown, *reports, reports[0]], NOW)

        assert answers == [False, True, True, True, False]


class TestPooler:
    async def test_every_verb_works_without_a_state_of_the_connection(
        self, postgres_url: str, store: PostgresStore, make: Make
    ) -> None:
        """B155: each is one transaction on unnamed statements, whatever connection it gets."""
        pooled = PostgresStore(f"{postgres_url}?pgbouncer=1")
        assert await pooled.migrate() == []
        await pooled.open()
        session = make.session()
        await pooled.open_session(session)
        await pooled.submit([*make.tasks(30), make.task(run_at=LATER)], NOW)
        await pooled.submit([make.keyed("one"), make.keyed("one"), make.task()], NOW)
        assert (await pooled.lanes([LOOK], 10)).lanes == [LANE]
        tasks = await take(pooled, session, 100)
        reports = [completed(task) for task in tasks]
        assert await pooled.finish(session.id, reports, NOW) == [True] * 32
        assert (await pooled.stage(LATER, 10)).moved == 1
        assert await pooled.count(TaskFilter(), 99) == {State.COMPLETED: 32, State.READY: 1}
        await pooled.notify(0)
        await pooled.close()

    async def test_listening_says_once_that_there_may_be_news_and_waits(
        self, postgres_url: str
    ) -> None:
        """A pooler passes no hints on: polling finds the work."""
        news: asyncio.Queue[int | None] = asyncio.Queue()
        pooled = PostgresStore(f"{postgres_url}?pgbouncer=1")
        listening = asyncio.create_task(pooled.listen(news.put_nowait))
        assert await news.get() is None
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening


class TestPlans:
    """The hot statements keep their one plan, whatever the statistics were when it was made."""

    NAMES = (
        "insert_ready",
        "insert_scheduled",
        "hold_keys",
        "key_holders",
        "known_ids",
        "next_lanes",
        "take",
        "to_completed",
        "to_cancelled",
        "to_scheduled",
        "to_ready",
        "to_failed",
        "to_nothing",
        "note",
    )
    READS_TOO_MUCH = re.compile(
        r"(Seq Scan|Bitmap Heap Scan) on (?!report|wanted|share|look)|Hash Join|Merge Join|Sort Key"
    )

    @pytest.mark.parametrize("analyzed", ["empty", "full"])
    async def test_no_statement_reads_a_table_from_end_to_end(
        self, place: Place, store: PostgresStore, make: Make, analyzed: str
    ) -> None:
        tables = "rota.ready, rota.scheduled, rota.dead_letter, rota.finished, rota.task_key"
        if analyzed == "full":
            await store.submit(make.tasks(3000), NOW)
        connection = await asyncpg.connect(place.address, server_settings=HOT)
        await connection.execute(f"vacuum analyze {tables}, rota.session")
        plans = {name: await self.plan(connection, name) for name in self.NAMES}
        await connection.close()

        bad = {name: plan for name, plan in plans.items() if self.READS_TOO_MUCH.search(plan)}
        assert not bad, "\n".join(bad.values())
        # An index that is read without a condition is read whole.
        for name, plan in plans.items():
            scans = re.findall(r"Index (?:Only )?Scan using (\w+).*\n\s+(\w+)", plan)
            assert [index for index, below in scans if below != "Index"] == [], (name, plan)

    async def plan(self, connection: Connection, name: str) -> str:
        sql, names = statement(name)
        await connection.execute(f"prepare {name} as {sql}")
        nulls = ", ".join(["null"] * len(names))
        rows = await connection.fetch(f"explain execute {name}({nulls})")
        return "\n".join(row[0] for row in rows)

    async def test_the_class_is_that_of_the_priority(
        self, place: Place, store: PostgresStore, make: Make
    ) -> None:
        """It is a column of its own, written along with the priority by every way in."""
        tasks = [make.task(priority=p, run_at=at) for p in range(11) for at in (NOW, LATER)]
        await store.submit(tasks, NOW)
        await store.submit([make.task(priority=p) for p in range(11)], NOW)
        await store.stage(LATER, 5)
        for table in ("ready", "scheduled"):
            rows = await place.rows(f"select distinct priority, class from {table}")
            assert rows
            assert all(PriorityClass.of(priority) == cls for priority, cls in rows)


class TestSubmit:
    def test_rows_are_what_the_inserts_expect(self) -> None:
        assert statement("insert_ready").names == TASK_COLUMNS
        assert statement("insert_scheduled").names == TASK_COLUMNS

    @pytest.mark.parametrize("size", [accept.COPY_FROM - 1, accept.COPY_FROM + 1])
    async def test_a_repeat_finds_tasks_wherever_they_went(
        self, store: PostgresStore, make: Make, session: Session, size: int
    ) -> None:
        """R1.4, B111: inserted or copied; one new task among old ones is stored."""
        batch = [*make.tasks(size - 2), make.task(run_at=LATER), make.task(run_at=LATER)]
        await store.submit(batch, NOW)
        held = await take(store, session, 3)
        await store.finish(session.id, [completed(task) for task in held], NOW)
        await store.cancel([batch[3].id, batch[-1].id], NOW)
        before = await store.find(TaskFilter(), limit=100)
        new = make.task()

        accepted = await store.submit([*batch, new], LATER)

        assert accepted == [Accepted(task.id) for task in [*batch, new]]
        after = await store.find(TaskFilter(), limit=100)
        assert [task for task in after if task.id != new.id] == before
        assert len(after) == size + 1

    @pytest.mark.parametrize("size", [accept.COPY_FROM - 1, accept.COPY_FROM + 1])
    async def test_a_repeat_finds_tasks_that_are_all_over(
        self, store: PostgresStore, make: Make, session: Session, size: int
    ) -> None:
        """F5: nothing of them is left where they would be stored."""
        batch = make.tasks(size)
        await store.submit(batch, NOW)
        held = await take(store, session, size)
        await store.finish(session.id, [completed(task) for task in held], NOW)

        assert await store.submit(batch, LATER) == [Accepted(task.id) for task in batch]
        assert await store.count(TaskFilter(), 1000) == {State.COMPLETED: size}

    async def test_a_copy_waits_for_the_same_batch_and_then_adds_nothing(
        self, store: PostgresStore, make: Make
    ) -> None:
        """F5: a caller that lost its line repeats while the first call is still on its way."""
        batch = make.tasks(200)
        await asyncio.gather(*(store.submit(batch, NOW) for _ in range(4)))
        assert await store.count(TaskFilter(), 1000) == {State.READY: 200}


class TestHints:
    async def test_hints_that_come_together_go_as_one_with_the_earliest_instant(
        self, place: Place, store: PostgresStore
    ) -> None:
        """B154: at most one for a moment, however many submits."""
        heard: list[str] = []
        async with place.connection() as listener:
            await listener.add_listener("rota", lambda *news: heard.append(news[-1]))
            for at in (*range(100, 0, -1), *range(2, 100)):
                await store.notify(at)
            await store.close()  # which sends what is waiting
            await listener.fetch("select 1")
        assert heard == ["1"]

    async def test_a_hint_does_not_wait_for_the_disk_and_all_else_does(
        self, postgres_url: str
    ) -> None:
        """R1.2, B154."""
        lines = Lines(Address(postgres_url))
        waits = {role: await lines.run(role, self.synchronous_commit) for role in Role}
        await lines.close()
        assert waits == {role: "off" if role is Role.HINT else "on" for role in Role}

    async def synchronous_commit(self, connection: Connection) -> str:
        return str(await connection.fetchval("show synchronous_commit"))


class TestForPeople:
    async def test_the_view_shows_every_task_with_times_and_states(
        self, place: Place, store: PostgresStore, make: Make, session: Session
    ) -> None:
        tasks = [make.task(run_at=LATER), *make.tasks(3)]
        await store.submit(tasks, NOW)
        held = await take(store, session, 2)
        await store.finish(session.id, [completed(held[0])], NOW + 1)

        rows = await place.rows(
            "select state, run_at::text, finished_at::text from task order by id"
        )

        assert rows == [
            ("scheduled", "2027-01-15 09:00:00+00", None),
            ("completed", "2027-01-15 08:00:00+00", "2027-01-15 08:00:00.000001+00"),
            ("running", "2027-01-15 08:00:00+00", None),
            ("ready", "2027-01-15 08:00:00+00", None),
        ]
        assert [task.id for task in await store.find(TaskFilter())] == sorted(
            (task.id for task in tasks), reverse=True
        )

    async def test_a_process_needs_few_connections(
        self, place: Place, store: PostgresStore, make: Make, session: Session
    ) -> None:
        await asyncio.gather(*(store.submit([make.task()], NOW) for _ in range(20)))
        await asyncio.gather(*(store.get([session.id]) for _ in range(20)))
        await asyncio.gather(*(take(store, session, 1) for _ in range(20)))
        rows = await place.rows(
            "select count(*) from pg_stat_activity "
            "where datname = current_database() and application_name = 'rota'"
        )
        assert rows[0][0] <= 6
