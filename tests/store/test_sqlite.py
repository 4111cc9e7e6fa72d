"""How writers of one file go together: in one process, in threads, in several processes."""

import asyncio
import fcntl
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import apsw
import pytest

from rota.errors import StoreError, StoreUnavailable
from rota.model import Accepted, NewTask, State
from rota.store.sqlite import SQLiteStore, turn
from rota.store.sqlite.connection import connect
from rota.store.sqlite.turn import Turn
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


@contextmanager
def write_lock(path: Path) -> Iterator[apsw.Connection]:
    """Write to the file, as another process may, until the block ends."""
    connection = connect(path)
    connection.execute("begin immediate")
    yield connection
    connection.execute("rollback")
    connection.close()


class TestGroupCommit:
    """Calls that wait together share a commit; each is answered after it."""

    @pytest.fixture
    def commits(self, monkeypatch: pytest.MonkeyPatch) -> list[None]:
        """Grows by one with each transaction that writes."""
        found: list[None] = []
        begin = Turn.begin

        def counted(self: Turn, connection: apsw.Connection) -> None:
            found.append(None)
            begin(self, connection)

        monkeypatch.setattr(Turn, "begin", counted)
        return found

    @asynccontextmanager
    async def together(
        self, store: SQLiteStore, batches: list[list[NewTask]]
    ) -> AsyncIterator[list[asyncio.Task[list[Accepted]]]]:
        """Submit while somebody else writes; the answers come after the block."""
        with write_lock(store.path):
            submits = [asyncio.create_task(store.submit(batch, NOW)) for batch in batches]
            await asyncio.sleep(0)
            assert not any(submit.done() for submit in submits)
            yield submits
        await asyncio.wait(submits)

    async def test_calls_that_wait_share_a_commit(
        self, store: SQLiteStore, make: Make, commits: list[None]
    ) -> None:
        async with self.together(store, [[make.task()] for _ in range(200)]) as submits:
            pass
        assert [submit.result()[0].created for submit in submits] == [True] * 200
        assert await counts(store) == {State.READY: 200}
        assert len(commits) <= 2

    async def test_one_that_fails_fails_alone(self, store: SQLiteStore, make: Make) -> None:
        batches = [[make.task(), make.task(rank=n if n != 7 else None)] for n in range(20)]
        async with self.together(store, batches) as submits:
            pass
        failures = [submit.exception() for submit in submits]
        assert [n for n, failure in enumerate(failures) if failure] == [7]
        assert isinstance(failures[7], StoreError)
        assert await counts(store) == {State.READY: 2 * 19}
        assert await store.get([batches[7][0].id]) == [None]

    async def test_a_caller_who_leaves_holds_up_nobody(
        self, store: SQLiteStore, make: Make
    ) -> None:
        async with self.together(store, [[make.task()] for _ in range(3)]) as submits:
            submits[1].cancel()
        assert submits[0].result()
        assert submits[2].result()
        assert submits[1].cancelled()

    async def test_threads_with_their_own_loops_share_the_writer(
        self, store: SQLiteStore, make: Make
    ) -> None:
        batches = [[make.tasks(5) for _ in range(10)] for _ in range(4)]

        async def submit(mine: list[list[NewTask]]) -> None:
            for batch in mine:
                await store.submit(batch, NOW)

        await asyncio.gather(*(asyncio.to_thread(asyncio.run, submit(mine)) for mine in batches))
        assert await counts(store) == {State.READY: 200}


SUBMIT = """
import asyncio, sys
from rota.store.sqlite import SQLiteStore
from tests.support.factories import NOW, Make

async def main(path, seed):
    store, make = SQLiteStore(path), Make(seed)
    await store.open()
    print("open", flush=True)
    for _ in range(100):
        await store.submit(make.tasks(3), NOW)
    await store.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""

WRITE_AND_WAIT = """
import sys
from rota.store.sqlite.connection import connect
from pathlib import Path

connection = connect(Path(sys.argv[1]))
connection.execute("begin immediate")
connection.execute("update session set slots = 99")
print("written", flush=True)
sys.stdin.read()
"""


@asynccontextmanager
async def process(script: str, *arguments: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process that has said its first word."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, *map(str, arguments), stdin=pipe, stdout=pipe
    )
    assert child.stdout is not None
    assert await child.stdout.readline()
    yield child
    if child.returncode is None:
        child.kill()
    await child.communicate()


class TestSeveralProcesses:
    """Several processes on one machine may use one file."""

    @pytest.mark.slow
    async def test_two_processes_write_to_one_file(self, store: SQLiteStore, make: Make) -> None:
        async with process(SUBMIT, store.path, 2) as child:
            for _ in range(100):
                await store.submit(make.tasks(3), NOW)
            assert await child.wait() == 0
        assert await counts(store) == {State.READY: 600}

    @pytest.mark.slow
    async def test_another_process_is_noticed(self, store: SQLiteStore) -> None:
        news: asyncio.Queue[int | None] = asyncio.Queue()
        listening = asyncio.create_task(store.listen(news.put_nowait))
        async with process(SUBMIT, store.path, 2):
            assert await news.get() is None
        listening.cancel()

    @pytest.mark.slow
    async def test_a_writer_that_is_killed_leaves_nothing_and_lets_others_go_on(
        self, store: SQLiteStore, make: Make
    ) -> None:
        session = make.session()
        await store.open_session(session)
        async with process(WRITE_AND_WAIT, store.path) as child:
            submit = asyncio.create_task(store.submit([make.task()], NOW))
            await asyncio.sleep(0)
            assert not submit.done()
            child.kill()
            assert await submit
        assert await store.sessions() == [session]
        assert await counts(store) == {State.READY: 1}

    async def test_a_writer_that_hangs_is_not_waited_for_without_end(
        self, store: SQLiteStore, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(turn, "_PAUSES", 3)
        with (
            write_lock(store.path),
            pytest.raises(StoreUnavailable, match=re.escape(str(store.path))),
        ):
            await store.submit([make.task()], NOW)
        await store.submit([make.task()], NOW)
        assert await counts(store) == {State.READY: 1}

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_a_forked_process_opens_the_store_anew(
        self, store: SQLiteStore, make: Make, runner: asyncio.Runner
    ) -> None:
        """Connections and threads do not survive a fork; nothing hangs because of it."""
        child = os.fork()
        if not child:
            try:
                with pytest.raises(StoreError, match="not open in this process"):
                    asyncio.run(store.submit([make.task()], NOW))
                asyncio.run(store.open())
                asyncio.run(store.submit([make.task()], NOW))
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert runner.run(counts(store)) == {State.READY: 1}

    async def test_reads_do_not_wait_for_a_writer(self, store: SQLiteStore, make: Make) -> None:
        await store.submit([make.task()], NOW)
        with write_lock(store.path) as connection:
            connection.execute("delete from ready")
            assert await counts(store) == {State.READY: 1}

    def test_who_has_just_written_lets_one_that_waits_go_before(self, store: SQLiteStore) -> None:
        """A busy writer cannot hold off a heartbeat."""
        busy, waiting = connect(store.path), connect(store.path)
        mine, other = Turn(store.path), Turn(store.path)
        mine.begin(busy)
        thread = threading.Thread(target=other.begin, args=(waiting,))
        thread.start()
        while mine._come_next():
            fcntl.flock(mine._lock, fcntl.LOCK_UN)
        busy.execute("commit")
        assert not mine._come_next() or waiting.in_transaction
        thread.join()
        assert waiting.in_transaction
        for closed in (busy, waiting, mine, other):
            closed.close()
