"""Submitting one task over HTTP (R1.1, R1.2, R1.4, B157)."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from rota import Rota
from rota.clock import Ids, ManualClock, new_rng
from rota.config import HOUR, SECOND
from rota.engine import Engine
from rota.errors import KeyBusy, Overloaded, StoreUnavailable
from rota.model import Accepted, NewTask, Session
from rota.server.front import Front
from rota.server.place import Place as ServerPlace
from rota.server.routes import table
from rota.server.submissions import ID_NEWEST, ID_OLDEST
from rota.server.table import Table
from rota.shares import QueueSettings
from tests.support.asking import Asker, KnownKeys, Told
from tests.support.factories import NOW

TASK = {"kind": "send_result", "payload": {"student_id": 1, "phone": "+91"}}


async def submit(asker: Asker, sent: dict[str, str] | None = None, **more: Any) -> Told:
    return await asker.ask("POST", "/v1/tasks", TASK | more, headers=sent)


async def test_a_task_is_stored_and_it_is_told_where_it_is(asker: Asker, engine: Engine) -> None:
    told = await submit(asker, delay="15m", tags=["results"], timeout=30)
    assert told.status == 201
    assert told.headers["location"] == f"/v1/tasks/{told.json['id']}"
    assert told.json == {
        "id": told.json["id"],
        "created": True,
        "matched_by": None,
        "state": "scheduled",
        "run_at": "2027-01-15T08:15:00.000000Z",
    }
    (task,) = await engine.get([told.json["id"]])
    assert task is not None
    assert (task.queue, task.priority, task.tags) == ("sms", 2, ("results",))
    assert (task.payload, task.timeout) == (TASK["payload"], 30 * SECOND)
    assert task.run_at == NOW + 900 * SECOND


async def test_every_option_of_a_task_can_be_given(asker: Asker, engine: Engine) -> None:
    options: dict[str, Any] = {
        "queue": "bulk", "tenant": "board", "priority": 7, "run_at": "2027-01-15T09:00:00+01:00",
        "timeout": "30s", "retry": {"type": "fixed", "base": 1, "max_attempts": 2}, "key": "k",
        "key_window": "1d", "expires_in": "2h", "tags": ["a", "b"], "headers": {"trace": "x"},
        "concurrency_key": "c", "max_concurrency": 2,
    }  # fmt: skip
    told = await submit(asker, **options)
    assert told.status == 201, told.json
    (task,) = await engine.get([told.json["id"]])
    assert task is not None
    assert (task.queue, task.tenant, task.priority, task.key) == ("bulk", "board", 7, "k")
    assert task.run_at == NOW
    assert task.retry is not None
    assert (task.retry["type"], task.retry["max_attempts"]) == ("fixed", 2)
    assert (task.expires_at, task.max_concurrency) == (NOW + 2 * HOUR, 2)
    assert task.headers == {"trace": "x", "rota-submitted-by": "admin"}


async def test_who_submitted_a_task_is_in_its_headers_and_cannot_be_made_up(
    asker: Asker, engine: Engine
) -> None:
    told = await submit(asker.using("submit"))
    (task,) = await engine.get([told.json["id"]])
    assert task is not None
    assert task.headers == {"rota-submitted-by": "submit"}
    told = await submit(asker, headers_=1)
    assert told.json["errors"][0]["pointer"] == "/headers_"
    told = await submit(asker, **{"headers": {"Rota-Submitted-By": "me"}})
    assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/headers/Rota-Submitted-By")


REFUSED = {
    "a payload that does not fit": ({"payload": {"student_id": "x"}}, "/payload/student_id"),
    "an argument that is missing": ({"payload": {}}, "/payload/student_id"),
    "an argument that is unknown": ({"payload": {"student_id": 1, "x": 2}}, "/payload/x"),
    "an option that is unknown": ({"prio": 1}, "/prio"),
    "a number as text": ({"priority": "1"}, "/priority"),
    "a priority beyond": ({"priority": 11}, "/priority"),
    "a queue with a slash": ({"queue": "a/b"}, "/queue"),
    "SQL in a queue": ({"queue": "'; drop table task; --"}, "/queue"),
    "a local time": ({"run_at": "2027-01-15T09:00:00"}, "/run_at"),
    "two times": ({"run_at": "2027-01-15T09:00:00Z", "delay": 5}, "/run_at"),
    "a delay in years": ({"delay": "P1Y"}, "/delay"),
    "a negative delay": ({"delay": -1}, "/delay"),
    "a timeout of nothing": ({"timeout": 0}, "/timeout"),
    "a null that means nothing": ({"queue": None}, "/queue"),
    "a retry that is none": ({"retry": {"max_attempts": 0}}, "/retry/max_attempts"),
    "a retry field that is unknown": ({"retry": {"maximum": 1}}, "/retry/maximum"),
    "too many tags": ({"tags": ["x"] * 17}, "/tags"),
    "an empty tag": ({"tags": ["a", ""]}, "/tags/1"),
    "a key that is too long": ({"key": "x" * 256}, "/key"),
    "a room without a gate": ({"max_concurrency": 2}, "/max_concurrency"),
    "NUL in a payload": ({"payload": {"student_id": 1, "phone": "\0"}}, "/payload/phone"),
    "NUL in a key": ({"key": "a\0"}, "/key"),
    "an id that is none": ({"id": "1"}, "/id"),
    "an id of another version": ({"id": "0193f2a1-7c5e-4d3a-9b1f-2f6f3c1e8a44"}, "/id"),
    "an id of long ago": ({"id": "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"}, "/id"),
}


@pytest.mark.parametrize(("given", "pointer"), REFUSED.values(), ids=REFUSED)
async def test_what_does_not_fit_is_refused_and_named(
    asker: Asker, engine: Engine, given: dict[str, Any], pointer: str
) -> None:
    told = await submit(asker, **given)
    assert (told.status, told.code) == (422, "validation_failed"), told.json
    assert [error["pointer"] for error in told.json["errors"]] == [pointer]
    assert "traceback" not in told.body.decode().lower()


async def test_a_kind_that_nobody_knows_is_refused_with_a_hint(asker: Asker) -> None:
    told = await submit(asker, kind="send_resul")
    assert (told.status, told.code) == (422, "unknown_kind")
    assert "send_result" in told.json["detail"]


async def test_a_kind_that_a_live_worker_runs_is_taken_with_its_payload_as_it_is(
    asker: Asker, engine: Engine, clock: ManualClock
) -> None:
    session = Session(
        id=Ids(new_rng(3)).new(NOW), name="w", host="h", pid=1, version="", queues=("q",),
        kinds=("elsewhere",), slots=1, started_at=NOW, lease_until=NOW + 30 * SECOND,
    )  # fmt: skip
    assert (await submit(asker, kind="elsewhere")).code == "unknown_kind"
    await engine.open_session(session)
    assert (await submit(asker, kind="elsewhere")).code == "unknown_kind", "it was just asked for"
    clock.advance(6)
    told = await submit(asker, kind="elsewhere", payload={"any": [1, {"x": None}]})
    assert told.status == 201
    (task,) = await engine.get([told.json["id"]])
    assert task is not None
    assert (task.payload, task.queue) == ({"any": [1, {"x": None}]}, "default")


async def test_any_kind_is_taken_if_the_server_is_told_to(
    app: Rota, engine: Engine, keys: KnownKeys
) -> None:
    place = ServerPlace(app, engine, rng=new_rng(2), any_kind=True)
    asker = Asker(Front(place, Table(table()), keys), "submit")
    assert (await submit(asker, kind="whatever", payload={"a": 1})).status == 201
    assert (await submit(asker, kind="no kind")).json["errors"][0]["pointer"] == "/kind"
    deep: Any = 1
    for _ in range(33):
        deep = [deep]
    told = await submit(asker, kind="whatever", payload={"a": deep})
    assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/payload")


# -- whose it is ----------------------------------------------------------------------------------


async def test_the_tenant_of_a_bound_key_is_that_of_its_tasks(asker: Asker, engine: Engine) -> None:
    told = await submit(asker.using("submit@board"))
    (task,) = await engine.get([told.json["id"]])
    assert task is not None
    assert task.tenant == "board"
    assert (await submit(asker.using("submit@board"), tenant="board")).status == 201
    told = await submit(asker.using("submit@board"), tenant="other")
    assert (told.status, told.code) == (403, "tenant_mismatch")
    told = await submit(asker.using("submit"), tenant="other")
    assert told.status == 201


@pytest.mark.parametrize(
    ("key", "status"),
    [("submit", 201), ("admin", 201), ("read", 403), ("operate", 403), ("worker", 403)],
)
async def test_only_who_may_submit_does(asker: Asker, key: str, status: int) -> None:
    assert (await submit(asker.using(key))).status == status


# -- again ----------------------------------------------------------------------------------------


async def test_a_key_returns_the_first_task(asker: Asker) -> None:
    first = await submit(asker, key="hold-17", delay=60)
    again = await submit(asker, key="hold-17")
    assert (first.status, again.status) == (201, 200)
    assert again.json == first.json | {"created": False, "matched_by": "key"}


async def test_an_id_of_the_callers_own_makes_a_repeat_safe(asker: Asker, engine: Engine) -> None:
    own = Ids(new_rng(4)).new(NOW)
    tolds = [await submit(asker, id=own) for _ in range(2)]
    assert [told.status for told in tolds] == [201, 201]
    assert {told.json["id"] for told in tolds} == {own}
    assert [task.id for task in await _all(engine)] == [own]


@pytest.mark.parametrize(
    ("born", "status"),
    [
        (NOW - ID_OLDEST + SECOND, 201),
        (NOW - ID_OLDEST - SECOND, 422),
        (NOW + ID_NEWEST - SECOND, 201),
        (NOW + ID_NEWEST + SECOND, 422),
    ],
)
async def test_an_id_must_be_young_enough_to_be_known(asker: Asker, born: int, status: int) -> None:
    assert (await submit(asker, id=Ids(new_rng(5)).new(born))).status == status


async def test_a_repeat_under_an_idempotency_key_is_answered_by_the_first(
    asker: Asker, engine: Engine
) -> None:
    once = {"Idempotency-Key": '"r-1"'}
    first = await submit(asker, once, delay=60)
    again = await submit(asker, once, delay=60)
    assert (first.status, again.status) == (201, 200)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json == first.json | {"created": False, "matched_by": "idempotency_key"}
    await engine.cancel([first.json["id"]])
    assert (await submit(asker, once, delay=60)).json["state"] == "cancelled"
    assert len(await _all(engine)) == 1


async def test_an_idempotency_key_is_good_for_one_content_one_tenant_and_a_day(
    asker: Asker, clock: ManualClock
) -> None:
    once = {"Idempotency-Key": "r-1"}
    first = await submit(asker, once)
    told = await submit(asker, once, delay=1)
    assert (told.status, told.code) == (422, "key_reused")
    other = await submit(asker.using("submit@board"), once)
    assert other.status == 201
    clock.advance(24 * 3600)
    assert (await submit(asker, once)).json["id"] != first.json["id"]


async def test_what_was_refused_is_not_remembered(asker: Asker) -> None:
    once = {"Idempotency-Key": "r-2"}
    assert (await submit(asker, once, priority=99)).status == 422
    assert (await submit(asker, once)).status == 201


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "é"])
async def test_an_idempotency_key_is_printable_and_short(asker: Asker, key: str) -> None:
    told = await submit(asker, {"Idempotency-Key": key})
    assert (told.status, told.json["errors"][0]["in"]) == (422, "header")


async def test_the_second_of_two_at_once_is_told_to_come_back(
    asker: Asker, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    once, go = {"Idempotency-Key": "r-3"}, asyncio.Event()
    store = engine.submit_each

    async def slowly(*values: Any) -> Any:
        await go.wait()
        return await store(*values)

    monkeypatch.setattr(engine, "submit_each", slowly)
    first = asyncio.ensure_future(submit(asker, once))
    while not asker_place(asker).intake.under_way:  # noqa: ASYNC110 - it is on its way
        await asyncio.sleep(0)
    second = await submit(asker, once)
    assert (second.status, second.code) == (409, "request_in_progress")
    assert second.headers["retry-after"] == "1"
    go.set()
    assert (await first).status == 201
    assert (await submit(asker, once)).status == 200


async def test_a_repeat_is_answered_whatever_is_true_by_now(
    asker: Asker, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R1.4: what the first one did stands, though the same request would be refused today."""
    once = {"Idempotency-Key": "r-4"}
    first = await submit(asker, once)
    await engine.put_settings(QueueSettings(name="sms", max_depth=1), 0)

    again = await submit(asker, once)
    other = await submit(asker, {"Idempotency-Key": "r-5"})

    assert (again.status, again.json["id"]) == (200, first.json["id"])
    assert (other.status, other.code) == (429, "overloaded")


# -- together -------------------------------------------------------------------------------------


async def test_submits_with_idempotency_keys_share_commits_as_well(
    asker: Asker, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R1.4: those that were there are found, and hold up none of the others."""
    sizes: list[int] = []
    store = engine.store.submit_each

    async def counted(tasks: Sequence[NewTask], *more: Any) -> list[bool]:
        sizes.append(len(tasks))
        return await store(tasks, *more)

    first = [(await submit(asker, {"Idempotency-Key": f"s-{n}"})).json["id"] for n in range(3)]
    monkeypatch.setattr(engine.store, "submit_each", counted)
    keys = [{"Idempotency-Key": f"s-{n}"} for n in range(40)]
    tolds = await asyncio.gather(*(submit(asker, key) for key in keys))

    assert [told.status for told in tolds] == [200] * 3 + [201] * 37
    assert [told.json["id"] for told in tolds[:3]] == first
    assert sum(sizes) == 40
    assert len(sizes) < 10
    assert {task.id for task in await _all(engine)} == {told.json["id"] for told in tolds}


async def test_submits_that_come_at_once_share_a_commit(
    asker: Asker, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    store = engine.store.submit

    async def counted(tasks: Sequence[NewTask], now: int) -> list[Accepted]:
        sizes.append(len(tasks))
        return await store(tasks, now)

    monkeypatch.setattr(engine.store, "submit", counted)
    tolds = await asyncio.gather(*(submit(asker) for _ in range(40)))
    assert {told.status for told in tolds} == {201}
    assert sum(sizes) == 40
    assert len(sizes) < 10
    assert {task.id for task in await _all(engine)} == {told.json["id"] for told in tolds}


async def test_a_task_without_a_key_does_not_wait_for_one_with_a_key(
    asker: Asker, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = asyncio.Event()
    store = engine.submit

    async def held(tasks: Sequence[NewTask]) -> list[Accepted]:
        if tasks[0].key is not None:
            await go.wait()
        return await store(tasks)

    monkeypatch.setattr(engine, "submit", held)
    keyed = asyncio.ensure_future(submit(asker, key="k"))
    assert (await submit(asker)).status == 201
    assert not keyed.done()
    go.set()
    assert (await keyed).status == 201


FAILED: dict[str, tuple[Exception, int, str, str | None]] = {
    "the store is away": (StoreUnavailable("db-7 is gone"), 503, "store_unavailable", "2"),
    "too much waits": (Overloaded("queue sms", 10, 5, 1.2), 429, "overloaded", "2"),
    "a stranger's transaction has the key": (KeyBusy(), 409, "request_in_progress", "1"),
    "something is wrong inside": (RuntimeError("db-7"), 500, "internal", None),
}


@pytest.mark.parametrize("what", FAILED)
async def test_a_task_that_may_not_be_stored_is_never_answered_with_success(
    asker: Asker, engine: Engine, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    error, status, code, after = FAILED[what]

    async def fails(tasks: Sequence[NewTask]) -> list[Accepted]:
        raise error

    monkeypatch.setattr(engine, "submit", fails)
    told = await submit(asker)
    assert (told.status, told.code) == (status, code)
    assert told.headers.get("retry-after") == after
    assert "db-7" not in told.body.decode()
    monkeypatch.undo()
    assert (await submit(asker)).status == 201


def asker_place(asker: Asker) -> ServerPlace:
    place = asker._application.place
    assert isinstance(place, ServerPlace)
    return place


async def _all(engine: Engine) -> list[Any]:
    from rota.model import TaskFilter

    return await engine.find(TaskFilter(), before_id=None, limit=100)
