"""The file that a SQLite store lies in: its version, its schema, its disk."""

import asyncio
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from rota.errors import ConfigurationError, SchemaOutOfDate, StoreError, StoreFull
from rota.model import State
from rota.store.sqlfiles import blocks
from rota.store.sqlite import SQLiteStore
from rota.store.sqlite.connection import OLDEST_SQLITE, connect, sqlite_version
from tests.conformance.steps import counts
from tests.support.factories import NOW, Make


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file of this test lies."""
    return tmp_path / "rota.db"


@pytest.fixture
def store(path: Path, runner: asyncio.Runner) -> Iterator[SQLiteStore]:
    """A migrated, open store."""
    store = SQLiteStore(path)
    runner.run(store.migrate())
    runner.run(store.open())
    yield store
    runner.run(store.close())


class TestVersion:
    """SQLite before 3.51.3 can damage a database when its log is reset while others write."""

    def test_the_one_in_use_is_new_enough(self) -> None:
        print("SQLite", sqlite_version())
        assert tuple(int(part) for part in sqlite_version().split(".")) >= OLDEST_SQLITE

    @pytest.mark.parametrize("version", ["3.51.2", "3.9.0"])
    async def test_an_older_one_is_refused(
        self, version: str, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
        with pytest.raises(ConfigurationError, match=re.escape(version)):
            await SQLiteStore(path).migrate()
        with pytest.raises(ConfigurationError, match=re.escape(version)):
            await SQLiteStore(path).open()


class TestFile:
    """What `open` finds, and what it says about it."""

    async def test_a_commit_is_on_the_disk_before_it_is_answered(self, store: SQLiteStore) -> None:
        connection = connect(store.path)
        assert connection.pragma("synchronous") == 2
        assert connection.pragma("journal_mode") == "wal"
        connection.close()

    def test_a_missing_file_is_not_made_by_opening_it(
        self, path: Path, runner: asyncio.Runner
    ) -> None:
        with pytest.raises(SchemaOutOfDate, match="rota migrate"):
            runner.run(SQLiteStore(path).open())
        assert not path.exists()

    def test_an_empty_file_lacks_the_schema(self, path: Path, runner: asyncio.Runner) -> None:
        path.touch()
        with pytest.raises(SchemaOutOfDate, match="rota migrate"):
            runner.run(SQLiteStore(path).open())

    async def test_a_newer_schema_is_accepted(self, store: SQLiteStore) -> None:
        """R8.6: an older process works beside a newer one."""
        connection = connect(store.path)
        connection.execute("insert into migration values (9999, 'later', 0)")
        connection.execute("alter table ready add column later text")
        connection.close()
        older = SQLiteStore(store.path)
        await older.open()
        await older.submit([Make().task()], NOW)
        assert await counts(older) == {State.READY: 1}
        await older.close()

    def test_another_kind_of_file_is_left_alone(self, path: Path, runner: asyncio.Runner) -> None:
        path.write_text("minutes of the meeting\n" * 100)
        for verb in (SQLiteStore(path).migrate, SQLiteStore(path).open):
            with pytest.raises(StoreError, match="not a SQLite database"):
                runner.run(verb())
        assert path.read_text().startswith("minutes")

    async def test_a_missing_folder_is_named(self, path: Path) -> None:
        with pytest.raises(StoreError, match="folder"):
            await SQLiteStore(path.parent / "none" / "rota.db").migrate()

    async def test_a_closed_store_says_so(self, path: Path, make: Make) -> None:
        store = SQLiteStore(path)
        await store.migrate()
        with pytest.raises(StoreError, match="not open"):
            await store.submit([make.task()], NOW)
        await store.open()
        await store.close()
        await store.close()
        with pytest.raises(StoreError, match="not open"):
            await store.get([make.id()])

    async def test_what_waits_is_done_before_the_store_closes(
        self, store: SQLiteStore, make: Make
    ) -> None:
        submits = [asyncio.create_task(store.submit([make.task()], NOW)) for _ in range(50)]
        await asyncio.sleep(0)
        await store.close()
        assert all(answer[0].created for answer in await asyncio.gather(*submits))
        await store.open()
        assert await counts(store) == {State.READY: 50}


class TestDiskFull:
    """No room: nothing of the call is stored, what was stored stays, and it goes on afterwards."""

    @contextmanager
    def room_for(self, size: int) -> Iterator[None]:
        """Let no file of this process grow beyond `size` bytes."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    async def test_a_full_disk_stores_all_or_nothing(self, store: SQLiteStore, make: Make) -> None:
        batches = [make.tasks(20, payload=f'"{"x" * 5000}"') for _ in range(100)]
        stored = 0

        async def fill() -> None:
            nonlocal stored
            for batch in batches:
                await store.submit(batch, NOW)
                stored += 20

        with self.room_for(1_000_000):
            with pytest.raises(StoreFull, match="free some space"):
                await fill()
            assert await counts(store) == {State.READY: stored}
            assert stored > 0
        await store.submit(batches[-1], NOW)
        assert await counts(store) == {State.READY: stored + 20}

    async def test_a_full_database_stores_all_or_nothing(
        self, store: SQLiteStore, make: Make
    ) -> None:
        def bound(connection: apsw.Connection) -> None:
            connection.pragma("max_page_count", connection.pragma("page_count") + 20)

        await store._write.do(bound)
        with pytest.raises(StoreFull):
            await store.submit(make.tasks(2000), NOW)
        assert await counts(store) == {}
        await store.submit(make.tasks(10), NOW)
        assert await counts(store) == {State.READY: 10}

    async def test_the_heartbeat_says_so_too(self, store: SQLiteStore, make: Make) -> None:
        session = make.session()
        await store.open_session(session)
        pulse = store.pulse()
        with self.room_for(0), pytest.raises(StoreFull):
            pulse.beat(session.id, NOW, NOW + 1)
        assert pulse.beat(session.id, NOW, NOW + 1).alive
        pulse.close()


WHOLE_TABLES = {
    "next_due",  # the end of an index
    "end_expired_sessions",
    "ended_sessions_holding",
    "list_sessions",
    "prune_sessions",  # sessions are few
}


@pytest.mark.parametrize("name", sorted(set(blocks("sqlite")) - WHOLE_TABLES))
def test_no_statement_reads_a_whole_table(name: str, store: SQLiteStore) -> None:
    """R7.3: what a call costs follows what it touches, not what is stored."""
    connection = connect(store.path)
    sql = blocks("sqlite")[name]
    nothing = dict.fromkeys(re.findall(r":(\w+)", sql))
    plan = [row[3] for row in connection.execute(f"explain query plan {sql}", nothing)]
    connection.close()
    tables = "scheduled|ready|dead_letter|finished|task_key|session|last|next|held"
    if name == "open_dead_letters":
        tables = tables.replace("dead_letter|", "")  # in the order of its index, up to its limit
    assert [step for step in plan if re.match(rf"SCAN ({tables})\b", step)] == []
