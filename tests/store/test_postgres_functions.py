"""The SQL functions, for any language: the checks are those that Python makes (R8.5, R1.6)."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import asyncpg
import msgspec
import pytest

from rota.clock import Micros
from rota.config import (
    CONCURRENCY_MOST,
    HEADERS,
    HEADERS_BYTES,
    HOUR,
    KEY_CHARS,
    KEY_WINDOW,
    LEVEL,
    LONGEST_DELAY,
    MINUTE,
    PAYLOAD_BYTES,
    PAYLOAD_DEPTH,
    SECOND,
    TAG_CHARS,
    TAGS,
)
from rota.contrib.embedded import EmbeddedPostgres
from rota.errors import InvalidTask
from rota.model import NewTask, State, Task, TaskFilter, rank_of
from rota.options import check_options
from rota.payload import encode
from rota.policy.retry import Backoff
from rota.store.postgres import PostgresStore
from tests.conformance.steps import bring, counts, one, open_worker, take_all
from tests.support.factories import NOW, Make
from tests.support.places import Place

EVERY = {
    "queue": "sms",
    "tenant": "board",
    "priority": 2,
    "delay": 90.5,
    "timeout": 30,
    "retry": {"type": "linear", "base": 1.5, "max_attempts": 7},
    "key": "hold-17",
    "key_window": 3600,
    "expires_at": "2099-01-01T10:00:00+05:30",
    "tags": ["results", "März"],
    "headers": {"traceparent": "00-ab"},
    "concurrency_key": "sms-gateway",
    "max_concurrency": 3,
}


@pytest.fixture(scope="module")
def migrated(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """The address of a migrated database, which the tests of this file use one after another."""
    url = postgres_server.create_database("functions")
    with asyncio.Runner() as runner:
        store = PostgresStore(url)
        runner.run(store.migrate())
        runner.run(store.close())
    yield url
    postgres_server.drop_database("functions")


@pytest.fixture
def place(migrated: str, runner: asyncio.Runner) -> Place:
    """A database in which there is nothing."""
    place = Place("postgres", migrated)
    runner.run(place.wipe())
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


async def submit(
    caller: asyncpg.Connection, kind: Any = "send_result", payload: Any = None, **options: Any
) -> tuple[str, bool]:
    """Call the function as a caller in another language would."""
    task_id, created = await caller.fetchrow(
        "select * from rota.submit($1, $2, $3)",
        kind,
        json.dumps({"student_id": 1} if payload is None else payload),
        json.dumps(options),
    )
    return str(task_id), created


async def refused(
    caller: asyncpg.Connection, kind: Any = "send_result", payload: Any = None, **options: Any
) -> str:
    """Submit what must be refused; return the message, which begins with the field."""
    with pytest.raises(asyncpg.PostgresError) as raised:
        await submit(caller, kind, payload, **options)
    assert raised.value.sqlstate == "RT001"
    message = str(raised.value.args[0])
    assert message.startswith(f"{raised.value.detail}: ")
    return message


def wait(task: Task) -> Micros:
    """How long after it was made a task is due."""
    return task.run_at - task.created_at


class TestSubmit:
    async def test_a_task_with_defaults_is_ready(
        self, store: PostgresStore, caller: asyncpg.Connection
    ) -> None:
        """R8.5: found by the workers like any other."""
        task_id, created = await submit(caller)

        task = await one(store, task_id)
        assert created
        assert (task.kind, task.payload, task.state) == (
            "send_result",
            {"student_id": 1},
            State.READY,
        )
        assert (task.queue, task.tenant, task.priority, wait(task)) == ("default", "", 5, 0)
        assert abs(task.created_at - await store.clock()) < MINUTE
        session = await open_worker(store, Make(), at=task.created_at)
        assert [held.id for held in await take_all(store, session, task.created_at)] == [task_id]

    async def test_every_option_arrives(
        self, store: PostgresStore, caller: asyncpg.Connection
    ) -> None:
        """R1.1: as if Python had checked it."""
        task_id, _ = await submit(caller, **EVERY)

        task = await one(store, task_id)
        python = check_options(
            {name: value for name, value in EVERY.items() if name not in ("retry", "key_window")}
        )
        assert task.state is State.SCHEDULED
        assert wait(task) == python.delay
        same = ("queue", "tenant", "priority", "timeout", "key", "expires_at", "tags")
        for name in (*same, "concurrency_key", "max_concurrency"):
            assert getattr(task, name) == getattr(python, name), name
        assert task.headers == EVERY["headers"]
        policy = Backoff.from_json(json.dumps(task.retry))
        assert policy == Backoff(type="linear", base=1.5, max_attempts=7)
        assert set(task.retry or ()) == set(msgspec.to_builtins(policy))

    async def test_rank_and_class_are_those_of_python(
        self, place: Place, store: PostgresStore, caller: asyncpg.Connection
    ) -> None:
        """R7.1, R7.2."""
        for priority in range(11):
            await submit(caller, priority=priority)

        rows = await place.rows("select run_at, priority, rank, class from ready order by priority")
        assert [rank for _, _, rank, _ in rows] == [rank_of(at, p) for at, p, _, _ in rows]
        assert [cls for *_, cls in rows] == [0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3]
        assert await place.value("select max(rank - run_at) from ready") == 10 * LEVEL

    async def test_ids_sort_by_the_time_of_their_birth(
        self, store: PostgresStore, caller: asyncpg.Connection
    ) -> None:
        await caller.execute("select rota.submit('a', '{}'); select pg_sleep(0.002)")
        await submit(caller, "b")

        newest, oldest = await store.find(TaskFilter())
        assert (newest.kind, oldest.kind) == ("b", "a")
        assert [task.id[14] for task in (newest, oldest)] == ["7", "7"]
        born = int(newest.id.replace("-", "")[:12], 16)
        assert newest.created_at // 1000 <= born <= await store.clock() // 1000

    async def test_it_exists_only_if_the_caller_commits(
        self, store: PostgresStore, caller: asyncpg.Connection
    ) -> None:
        """R1.3."""
        transaction = caller.transaction()
        await transaction.start()
        await submit(caller, key="hold-17")
        assert await counts(store) == {}
        await transaction.rollback()
        assert await counts(store) == {}

        async with caller.transaction():
            first = await submit(caller, key="hold-17")
        assert first[1]
        assert await counts(store) == {State.READY: 1}

    async def test_a_key_returns_the_first_task_again(
        self, store: PostgresStore, make: Make, caller: asyncpg.Connection
    ) -> None:
        """R1.4: whether Python or SQL came first; scoped to kind and tenant."""
        first, created = await submit(caller, key="hold-17")
        assert created
        assert await submit(caller, key="hold-17") == (first, False)
        assert (await submit(caller, key="hold-17", tenant="board"))[1]
        assert (await submit(caller, "other", key="hold-17"))[1]
        now = await store.clock()
        python = make.keyed("hold-18", until=now + HOUR, run_at=now)
        assert await store.submit([make.keyed("hold-17"), python], now) == [
            (await store.submit([make.keyed("hold-17")], now))[0],
            (await store.submit([python], now))[0],
        ]
        assert (await store.submit([make.keyed("hold-17")], now))[0].id == first
        assert await submit(caller, key="hold-18") == (python.id, False)

    async def test_a_key_is_held_for_its_window(
        self, place: Place, caller: asyncpg.Connection
    ) -> None:
        """R1.4: a day unless told otherwise."""
        await submit(caller, key="a")
        await submit(caller, key="b", key_window=60)

        spans = "select k.expires_at - created_at from task_key as k join ready on id = task_id"
        assert sorted(await place.rows(spans)) == [(MINUTE,), (KEY_WINDOW,)]

    async def test_a_search_path_leads_nowhere_else(
        self, store: PostgresStore, caller: asyncpg.Connection
    ) -> None:
        """Whatever the caller's schema has by the same names."""
        await caller.execute("""
            create schema own;
            set search_path = own;
            create table ready (id int);
            create function refuse(text, text) returns void language sql as 'select';
            create function clock() returns bigint language sql as 'select 0::bigint';
        """)
        await submit(caller)
        await refused(caller, tags=[""])
        assert await counts(store) == {State.READY: 1}


class TestRefusals:
    @pytest.mark.parametrize(
        ("field", "options"),
        [
            ("colour", {"colour": "red"}),
            ("queue", {"queue": "two words"}),
            ("queue", {"queue": ""}),
            ("queue", {"queue": None}),
            ("tenant", {"tenant": 5}),
            ("priority", {"priority": 11}),
            ("priority", {"priority": -1}),
            ("priority", {"priority": 2.5}),
            ("priority", {"priority": "2"}),
            ("priority", {"priority": True}),
            ("run_at", {"run_at": "2026-02-30T10:00:00Z"}),
            ("run_at", {"run_at": "2026-02-20T10:00:00"}),
            ("run_at", {"run_at": "2026-02-20T24:00:00Z"}),
            ("run_at", {"run_at": "2026-02-20T10:00:60Z"}),
            ("run_at", {"run_at": "2026-02-20T10:00:00.1234567Z"}),
            ("run_at", {"run_at": "1969-12-31T23:59:59Z"}),
            ("run_at", {"run_at": "tomorrow"}),
            ("run_at", {"run_at": 1800000000}),
            ("run_at", {"run_at": "2026-02-20T10:00:00Z", "delay": 1}),
            ("delay", {"delay": -1}),
            ("delay", {"delay": LONGEST_DELAY // SECOND + 1}),
            ("delay", {"delay": "15m"}),
            ("timeout", {"timeout": 0}),
            ("key", {"key": ""}),
            ("key", {"key": "k" * (KEY_CHARS + 1)}),
            ("key", {"key": 17}),
            ("key_window", {"key_window": 0}),
            ("concurrency_key", {"concurrency_key": ""}),
            ("concurrency_key", {"concurrency_key": "k" * (KEY_CHARS + 1)}),
            ("max_concurrency", {"max_concurrency": 1}),
            ("max_concurrency", {"concurrency_key": "sms", "max_concurrency": 0}),
            ("max_concurrency", {"concurrency_key": "sms", "max_concurrency": 1.5}),
            ("max_concurrency", {"concurrency_key": "sms", "max_concurrency": "2"}),
            (
                "max_concurrency",
                {"concurrency_key": "sms", "max_concurrency": CONCURRENCY_MOST + 1},
            ),
            ("expires_at", {"expires_at": "2026-02-20"}),
            ("expires_at", {"expires_at": "2026-02-20T10:00:00Z", "expires_in": 1}),
            ("tags", {"tags": ["t"] * (TAGS + 1)}),
            ("tags", {"tags": "results"}),
            ("tags[1]", {"tags": ["a", ""]}),
            ("tags[0]", {"tags": ["t" * (TAG_CHARS + 1)]}),
            ("headers", {"headers": {str(n): "" for n in range(HEADERS + 1)}}),
            ("headers", {"headers": {"a": "h" * HEADERS_BYTES}}),
            ("headers", {"headers": []}),
            ("headers.a", {"headers": {"a": 1}}),
            ("retry", {"retry": 3}),
            ("retry.tries", {"retry": {"tries": 3}}),
            ("retry.type", {"retry": {"type": "random"}}),
            ("retry.base", {"retry": {"base": -1}}),
            ("retry.base", {"retry": {"base": "2"}}),
            ("retry.cap", {"retry": {"cap": 1e9}}),
            ("retry.multiplier", {"retry": {"multiplier": 0.5}}),
            ("retry.jitter", {"retry": {"jitter": 1.1}}),
            ("retry.max_attempts", {"retry": {"max_attempts": 0}}),
            ("retry.max_attempts", {"retry": {"max_attempts": 2.5}}),
        ],
    )
    async def test_a_bad_option_is_named(
        self,
        store: PostgresStore,
        caller: asyncpg.Connection,
        field: str,
        options: dict[str, Any],
    ) -> None:
        """R1.6: and nothing is half stored."""
        message = await refused(caller, **options)

        assert message.startswith(f"{field}: ")
        assert await counts(store) == {}

    @pytest.mark.parametrize("kind", [None, "", "two words", "k" * 129, "-a", "a\n"])
    async def test_a_bad_kind_is_refused(
        self, caller: asyncpg.Connection, kind: str | None
    ) -> None:
        """R1.6."""
        assert (await refused(caller, kind)).startswith("kind: ")

    @pytest.mark.parametrize(
        "options",
        [
            {"queue": "k" * 128, "tenant": "", "priority": 10, "delay": 0, "timeout": None},
            {"delay": LONGEST_DELAY // SECOND, "timeout": 0.000001, "expires_in": 1},
            {"run_at": "1970-01-01T00:00:00.123456Z", "tags": [], "headers": {}, "retry": {}},
            {"run_at": "2026-02-20t10:00-03:30", "key": "ü" * KEY_CHARS},
            {"concurrency_key": "ü" * KEY_CHARS, "max_concurrency": CONCURRENCY_MOST},
            {"tags": ["t" * TAG_CHARS] * TAGS, "headers": {str(n): "" for n in range(HEADERS)}},
        ],
    )
    async def test_what_is_just_allowed_is_taken(
        self, caller: asyncpg.Connection, options: dict[str, Any]
    ) -> None:
        """The bounds are Python's."""
        assert (await submit(caller, **options))[1]

    @pytest.mark.parametrize(
        "payload",
        [
            {"a": "x" * (PAYLOAD_BYTES - 8)},
            {"a": "x" * (PAYLOAD_BYTES - 7)},
            {"a": [1, 'a, b: c"', 2.5, "ü", {"b": None}] * 8_000},
            {"a": [1, 'a, b: c"', 2.5, "ü", {"b": None}] * 9_000},
            {"a": ["\\", "\\\\ , : ", "\t"] * 14_000},
            {},
        ],
    )
    async def test_the_size_of_a_payload_is_measured_as_python_does(
        self, caller: asyncpg.Connection, payload: dict[str, Any]
    ) -> None:
        """R1.6: 256 KiB of JSON without spaces."""
        try:
            encode(payload, "payload")
        except InvalidTask:
            assert "bytes of JSON" in await refused(caller, payload=payload)
        else:
            assert (await submit(caller, payload=payload))[1]

    @pytest.mark.parametrize("inner", [{}, [], 1])
    @pytest.mark.parametrize("levels", [PAYLOAD_DEPTH - 1, PAYLOAD_DEPTH])
    @pytest.mark.parametrize("kind", [dict, list])
    async def test_the_depth_of_a_payload_is_measured_as_python_does(
        self, caller: asyncpg.Connection, inner: Any, levels: int, kind: type
    ) -> None:
        """R1.6: 32 levels, of objects and of lists."""
        payload = inner
        for _ in range(levels - 1):
            payload = [payload] if kind is list else {"a": payload}
        payload = {"a": payload}
        try:
            encode(payload, "payload")
        except InvalidTask:
            assert "nested" in await refused(caller, payload=payload)
        else:
            assert (await submit(caller, payload=payload))[1]

    @pytest.mark.parametrize("payload", [[], 1, "text", True])
    async def test_a_payload_is_an_object(self, caller: asyncpg.Connection, payload: Any) -> None:
        """R1.6: the handler's arguments by name."""
        assert (await refused(caller, payload=payload)).startswith("payload: ")

    @pytest.mark.parametrize("number", ["1e400", "-1e400", "[1e400]"])
    async def test_a_number_that_python_cannot_read_is_refused(
        self, caller: asyncpg.Connection, number: str
    ) -> None:
        """B157: it would spoil every page that the task is on."""
        with pytest.raises(asyncpg.PostgresError, match="payload: has a number"):
            await caller.fetch("select rota.submit('a', $1)", f'{{"a": {number}}}')


class TestSubmitMany:
    async def submit(
        self, caller: asyncpg.Connection, tasks: list[NewTask]
    ) -> list[tuple[str, bool]]:
        given = msgspec.json.encode(tasks).decode()
        rows = await caller.fetch("select * from rota.submit_many($1)", given)
        return [(str(task_id), created) for task_id, created in rows]

    async def test_tasks_are_stored_as_the_store_does(
        self, place: Place, store: PostgresStore, make: Make, caller: asyncpg.Connection
    ) -> None:
        """R1.3: every column of every task."""
        later = 2 * await store.clock()
        full: dict[str, Any] = {
            "tenant": "board", "timeout": MINUTE, "retry": '{"max_attempts":3}',
            "expires_at": later, "tags": ("a", "b"), "headers": '{"a":"b"}', "priority": 0,
        }  # fmt: skip
        tasks = [make.task(), make.task(**full), make.task(run_at=later, **full)]
        assert await self.submit(caller, tasks) == [(task.id, True) for task in tasks]
        inside = [await place.rows(f"select * from {t} order by id") for t in TWO]
        await place.wipe()

        await store.submit(tasks, await store.clock())

        assert [await place.rows(f"select * from {t} order by id") for t in TWO] == inside

    async def test_keys_admit_one_live_task(
        self, store: PostgresStore, make: Make, caller: asyncpg.Connection
    ) -> None:
        """R1.4: whether the first one is in the store or earlier in the list."""
        until = 2 * await store.clock()
        held = make.keyed("held", until=until)
        await store.submit([held], NOW)
        first, second, other = (make.keyed(key, until=until) for key in ("a", "a", "held"))
        plain = make.task()

        answers = await self.submit(caller, [plain, second, other, first])

        assert answers == [
            (plain.id, True), (second.id, True), (held.id, False), (second.id, False),
        ]  # fmt: skip
        assert sum((await counts(store)).values()) == 3

    async def test_a_key_whose_window_is_over_goes_to_the_next(
        self, store: PostgresStore, make: Make, caller: asyncpg.Connection
    ) -> None:
        """R1.4: unless its task is live still."""
        await bring(store, make, State.COMPLETED, make.keyed("over", until=1))
        live = await bring(store, make, State.READY, make.keyed("live", until=1))
        over = make.keyed("over")

        assert await self.submit(caller, [over]) == [(over.id, True)]
        assert await self.submit(caller, [make.keyed("live")]) == [(live.id, False)]

    async def test_what_is_stored_already_stays(
        self, store: PostgresStore, make: Make, caller: asyncpg.Connection
    ) -> None:
        tasks = make.tasks(2)
        await store.submit(tasks[:1], NOW)
        before = await one(store, tasks[0].id)
        assert await self.submit(caller, tasks) == [(task.id, True) for task in tasks]
        assert await one(store, tasks[0].id) == before
        assert sum((await counts(store)).values()) == 2


TWO = ("ready", "scheduled")
