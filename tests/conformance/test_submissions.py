"""What a store keeps of requests that made tasks: once under a key, and which came in together."""

import asyncio
from typing import Any

import pytest

from rota.config import DAY, SECOND
from rota.errors import KeyBusy, StoreError
from rota.model import Accepted, State
from rota.requests import ANYBODY, Submission
from rota.retention import RETENTION
from rota.store.base import Store
from rota.store.sqlfiles import blocks, number
from tests.conformance.steps import counts
from tests.support.explain import literal
from tests.support.factories import LATER, NOW, Make
from tests.support.places import Place

SQLITE = pytest.mark.parametrize("place", ["sqlite"], indirect=True)
POSTGRES = pytest.mark.parametrize("place", ["postgres"], indirect=True)


def request(make: Make, key: str | None = "r-1", **fields: Any) -> Submission:
    """A request with a key that is good for a day, unless told otherwise."""
    defaults: dict[str, Any] = {
        "id": make.id(),
        "scope": ANYBODY,
        "operation": "batch",
        "key": key,
        "fingerprint": "f",
        "created_at": NOW,
        "key_until": None if key is None else NOW + DAY,
        "keep_until": NOW + 7 * DAY,
    }
    return Submission(**defaults | fields)


async def find(store: Store, asked: Submission, now: int = NOW) -> Submission | None:
    return await store.find_submission(asked.scope, asked.operation, asked.key or "", now)


async def test_tasks_are_stored_with_the_request_that_brought_them(
    store: Store, make: Make
) -> None:
    tasks, asked = make.tasks(3), request(make)

    assert await store.submit_once(tasks, asked, NOW) == [Accepted(task.id) for task in tasks]

    found = await find(store, asked)
    assert found is not None
    assert found.task_ids == tuple(task.id for task in tasks)
    assert await store.get_submission(asked.id) == found
    assert await counts(store) == {State.READY: 3}


async def test_a_second_request_with_the_key_stores_nothing_and_returns_the_first(
    store: Store, other: Store, make: Make
) -> None:
    tasks, first = make.tasks(2), request(make)
    await store.submit_once(tasks, first, NOW)

    again = await other.submit_once(make.tasks(2), request(make, fingerprint="g"), NOW)

    assert isinstance(again, Submission)
    assert (again.id, again.fingerprint) == (first.id, "f")
    assert again.task_ids == tuple(task.id for task in tasks)
    assert await counts(store) == {State.READY: 2}


@pytest.mark.parametrize(
    "other_request",
    [{"scope": "board"}, {"operation": "task"}, {"key": "R-1"}],
    ids=["scope", "operation", "key"],
)
async def test_a_key_belongs_to_its_scope_and_its_operation(
    store: Store, make: Make, other_request: dict[str, Any]
) -> None:
    await store.submit_once(make.tasks(1), request(make), NOW)

    done = await store.submit_once(make.tasks(1), request(make, **other_request), NOW)

    assert isinstance(done, list)
    assert await counts(store) == {State.READY: 2}


async def test_a_key_is_free_again_when_its_time_is_over(store: Store, make: Make) -> None:
    first, late = request(make), request(make)
    await store.submit_once(make.tasks(1), first, NOW)
    assert await find(store, first, NOW + DAY - 1) is not None
    assert await find(store, first, NOW + DAY) is None

    done = await store.submit_once(make.tasks(1), late, NOW + DAY)

    assert isinstance(done, list)
    assert await store.get_submission(first.id) is not None, "its batch is still known"


async def test_a_request_whose_tasks_are_refused_is_not_kept(store: Store, make: Make) -> None:
    """All or nothing: what is remembered was done."""
    broken = make.task(payload=None)

    with pytest.raises(StoreError):
        await store.submit_once([make.task(), broken], request(make), NOW)

    assert await find(store, request(make)) is None
    assert await counts(store) == {}


async def test_tasks_that_have_keys_are_matched_and_kept_with_the_request(
    store: Store, make: Make
) -> None:
    held = make.keyed("hold-17")
    await store.submit([held], NOW)
    later = make.task(run_at=LATER)

    for key in (None, "r-1"):
        asked = request(make, key)
        done = await store.submit_once([make.keyed("hold-17"), later], asked, NOW)
        assert done == [Accepted(held.id, created=False), Accepted(later.id)]
        found = await store.get_submission(asked.id)
        assert found is not None
        assert found.task_ids == (held.id, later.id)


async def test_a_batch_grows_run_by_run(store: Store, make: Make) -> None:
    asked, runs = request(make, None), [make.tasks(2), make.tasks(40), []]

    for run in runs:
        await store.submit_once(run, asked, NOW)

    found = await store.get_submission(asked.id)
    assert found is not None
    assert found.task_ids == tuple(task.id for run in runs for task in run)


async def test_two_at_once_store_their_tasks_once(store: Store, other: Store, make: Make) -> None:
    requests = [request(make) for _ in range(8)]
    tasks = [make.tasks(2) for _ in requests]

    done = await asyncio.gather(
        *(
            (store, other)[n % 2].submit_once(run, asked, NOW)
            for n, (run, asked) in enumerate(zip(tasks, requests, strict=True))
        ),
        return_exceptions=True,
    )

    assert sum(isinstance(one, list) for one in done) == 1
    assert all(isinstance(one, list | Submission | KeyBusy) for one in done)
    assert await counts(store) == {State.READY: 2}


async def test_of_requests_with_a_task_each_those_are_stored_whose_keys_are_free(
    store: Store, other: Store, make: Make
) -> None:
    """R1.4: in one transaction, and for each it is said whether it was."""
    tasks = [*make.tasks(3), make.task(run_at=LATER)]
    asked = [request(make, f"r-{n}", task_ids=(task.id,)) for n, task in enumerate(tasks)]
    await store.submit_each(tasks[1:2], asked[1:2], NOW)

    again = [*make.tasks(3), make.task(run_at=LATER)]
    twice = [request(make, f"r-{n}", task_ids=(task.id,)) for n, task in enumerate(again)]
    stored = await other.submit_each(tasks[::2] + again[1:2], asked[::2] + twice[1:2], NOW)
    last = await store.submit_each([*again, tasks[3]], [*twice, asked[3]], NOW)

    assert (stored, last) == ([True, True, False], [False, False, False, True, False])
    assert await counts(store) == {State.READY: 3, State.SCHEDULED: 1}
    held = [await find(store, one) for one in asked]
    assert [one and one.task_ids for one in held[:3]] == [(task.id,) for task in tasks[:3]]


async def test_a_key_whose_time_is_over_is_for_another_verb_to_let_go_of(
    store: Store, make: Make
) -> None:
    """`submit_once` looks who holds it; what shares a commit never waits to find out."""
    (task,) = make.tasks(1)
    await store.submit_each([task], [request(make, task_ids=(task.id,))], NOW)
    (later,) = make.tasks(1)
    asked = request(make, task_ids=(later.id,), key_until=NOW + 2 * DAY)

    assert await store.submit_each([later], [asked], NOW + DAY) == [False]
    assert await store.submit_once([later], asked, NOW + DAY) == [Accepted(later.id)]


@POSTGRES
async def test_a_key_that_an_open_transaction_holds_is_not_waited_for(
    store: Store, place: Place, make: Make
) -> None:
    """A process that stopped in between holds up nobody else, and the repeat is told at once."""
    async with place.connection() as line:
        await line.execute("begin")
        await line.execute(
            "insert into submission values ($1, '*', 'batch', 'r-1', 'f', '{}', 0, $2, $2)",
            make.id(),
            NOW + DAY,
        )
        with pytest.raises(KeyBusy):
            await store.submit_once(make.tasks(1), request(make), NOW)
        assert isinstance(await store.submit_once(make.tasks(1), request(make, "r-2"), NOW), list)
        tasks = make.tasks(2)
        asked = [request(make, f"r-{1 + 2 * n}", task_ids=(t.id,)) for n, t in enumerate(tasks)]
        with pytest.raises(KeyBusy):
            await store.submit_each(tasks, asked, NOW)
        assert await store.submit_each(tasks[1:], asked[1:], NOW) == [True]
        await line.execute("rollback")
    assert isinstance(await store.submit_once(make.tasks(1), request(make), NOW), list)


async def test_what_nobody_can_ask_for_any_more_is_dropped(store: Store, make: Make) -> None:
    kept, gone = request(make), request(make, None, keep_until=NOW + SECOND)
    for asked in (kept, gone):
        await store.submit_once(make.tasks(1), asked, NOW)

    await store.prune(NOW + SECOND, RETENTION, 100)

    assert await store.get_submission(gone.id) is None
    assert await store.get_submission(kept.id) is not None


async def test_states_tell_where_each_task_is(store: Store, make: Make) -> None:
    ready, later, gone = make.task(), make.task(run_at=LATER), make.id()
    await store.submit([ready, later], NOW)
    await store.cancel([later.id], NOW, None)

    found = await store.states([ready.id, later.id, gone, "no id"])

    assert found == {ready.id: State.READY, later.id: State.CANCELLED}


async def test_what_is_no_id_is_no_submission(store: Store) -> None:
    for text in ("", "x", "' or 1 = 1", "0193F2A1-7C5E-7D3A-9B1F-2F6F3C1E8A44"):
        assert await store.get_submission(text) is None


GIVEN = {"scope": "*", "operation": "batch", "key": "k-7", "now": NOW, "limit": 10}
BY_INDEX = {
    "free_submission_key": "submission_key",
    "find_submission": "submission_key",
    "prune_submissions": "submission_age",
}


@POSTGRES
@pytest.mark.parametrize("block", BY_INDEX)
async def test_postgresql_finds_submissions_by_index(
    store: Store, place: Place, block: str
) -> None:
    async with place.connection() as line:
        await line.execute(
            "insert into submission select gen_random_uuid(), '*', 'batch', 'k-' || n, 'f', '{}',"
            f" 0, {NOW + DAY} + n, {NOW + DAY} + n from generate_series(1, 5000) as n"
        )
        await line.execute("analyze submission")
        sql, names = number(blocks("postgres")[block])
        values = ", ".join(literal(GIVEN[name]) for name in names)
        await line.execute(f"prepare asked as {sql}")
        plan = await line.fetch(f"explain execute asked ({values})")
    assert BY_INDEX[block] in "\n".join(row[0] for row in plan)


@SQLITE
@pytest.mark.parametrize("block", BY_INDEX)
async def test_sqlite_finds_submissions_by_index(store: Store, place: Place, block: str) -> None:
    sql = blocks("sqlite")[block]
    for name, value in GIVEN.items():
        sql = sql.replace(f":{name}", repr(value))
    plan = await place.rows(f"explain query plan {sql}")
    assert any(BY_INDEX[block] in str(row[3]) for row in plan), plan
