"""Tasks are changed, cancelled, retried and deleted over HTTP, by who may (R5)."""

from typing import Any

import pytest

from rota.config import HOUR
from rota.engine import Engine
from rota.model import NewTask, State
from rota.server.shapes import tasks as shapes
from tests.conformance.steps import bring
from tests.support.asking import Asker, KnownKeys
from tests.support.factories import NOW, Make
from tests.support.shapes import fits

LATER = "2027-01-15T09:00:00.000000Z"


@pytest.fixture
def make() -> Make:
    """Makes tasks; with ids of its own, which the engine does not make."""
    return Make(7)


CHANGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"priority": 0}, {"priority": 0, "class": "critical"}),
    ({"priority": None}, {"priority": 2, "class": "high"}),
    ({"queue": "mail"}, {"queue": "mail"}),
    ({"queue": None}, {"queue": "sms"}),
    ({"run_at": LATER}, {"run_at": LATER, "state": "scheduled"}),
    ({"run_at": "2027-01-15T10:00:00+01:00"}, {"run_at": LATER, "state": "scheduled"}),
    ({"run_at": None}, {"run_at": "2027-01-15T08:00:00.000000Z", "state": "ready"}),
    ({"timeout": "1h30m"}, {"timeout": 5400}),
    ({"timeout": None}, {"timeout": None}),
    ({"tags": ["a", "b"]}, {"tags": ["a", "b"]}),
    ({"tags": None}, {"tags": []}),
]


async def test_a_change_merges_and_null_is_the_default(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """http §2: absent leaves."""
    for body, shown in CHANGES:
        task = make.task(tags=("old",), timeout=7_000_000)
        await engine.store.submit([task], NOW)
        before = (await asker.ask("GET", f"/v1/tasks/{task.id}")).json

        told = await asker.ask("PATCH", f"/v1/tasks/{task.id}", body)

        assert told.status == 200
        fits(told.json, shapes.Task)
        assert told.json == before | shown
        again = await asker.ask("PATCH", f"/v1/tasks/{task.id}", body)
        assert (again.status, again.json) == (200, told.json)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "/set"),
    ({"colour": "red"}, "/colour"),
    ({"priority": 11}, "/priority"),
    ({"priority": "0"}, "/priority"),
    ({"priority": True}, "/priority"),
    ({"queue": "a b"}, "/queue"),
    ({"run_at": "soon"}, "/run_at"),
    ({"run_at": "2027-01-15T09:00:00"}, "/run_at"),
    ({"timeout": 0}, "/timeout"),
    ({"tags": ["x" * 65]}, "/tags/0"),
    ({"tags": "a"}, "/tags"),
]


async def test_a_change_that_does_not_fit_is_named(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R1.6: 422, and nothing is changed."""
    task = make.task()
    await engine.store.submit([task], NOW)
    before = (await asker.ask("GET", f"/v1/tasks/{task.id}")).json
    for body, pointer in WRONG:
        told = await asker.ask("PATCH", f"/v1/tasks/{task.id}", body)

        assert (told.status, told.code) == (422, "validation_failed")
        assert told.json["errors"][0]["pointer"] == pointer
        assert (await asker.ask("GET", f"/v1/tasks/{task.id}")).json == before


ANSWERS: list[tuple[str, str, str, int, str | None]] = [
    # method, path, state before, status, code or outcome
    ("PATCH", "", "running", 409, "not_waiting"),
    ("PATCH", "", "completed", 409, "not_waiting"),
    ("PATCH", "", "failed", 409, "not_waiting"),
    ("POST", "/cancel", "scheduled", 200, "completed"),
    ("POST", "/cancel", "ready", 200, "completed"),
    ("POST", "/cancel", "running", 200, "accepted"),
    ("POST", "/cancel", "completed", 200, "too_late"),
    ("POST", "/cancel", "failed", 200, "too_late"),
    ("POST", "/retry", "failed", 200, None),
    ("POST", "/retry", "scheduled", 200, None),
    ("POST", "/retry", "running", 409, "not_retryable"),
    ("POST", "/retry", "cancelled", 409, "not_retryable"),
    ("DELETE", "", "completed", 204, None),
    ("DELETE", "", "cancelled", 204, None),
    ("DELETE", "", "failed", 204, None),
    ("DELETE", "", "ready", 409, "not_finished"),
    ("DELETE", "", "scheduled", 409, "not_finished"),
    ("DELETE", "", "running", 409, "not_finished"),
]


def in_queue(make: Make, n: int, state: str) -> NewTask:
    """A task with a queue to itself, so that nobody takes another one for it."""
    run_at = NOW + HOUR if state == "scheduled" else NOW
    return make.task(queue=f"q{n}", run_at=run_at)


async def test_what_can_be_done_follows_from_the_state(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """http §1: a conflict names the state that the task is in."""
    for n, (method, path, state, status, word) in enumerate(ANSWERS):
        task = await bring(engine.store, make, State(state), in_queue(make, n, state))
        body = (
            {"priority": 0}
            if method == "PATCH"
            else {"deadline": "1m"}
            if "cancel" in path
            else None
        )

        told = await asker.ask(method, f"/v1/tasks/{task.id}{path}", body)

        assert told.status == status, told.body
        if status == 409:
            assert told.code == word
            assert state in told.json["detail"]
        elif word is not None:
            fits(told.json, shapes.Cancelled)
            assert told.json == {"id": task.id, "outcome": word}
        elif status == 200:
            fits(told.json, shapes.Task)
            assert told.json["state"] == "ready"
        else:
            assert told.body == b""
            assert (await asker.ask("GET", f"/v1/tasks/{task.id}")).status == 404


async def test_a_deadline_is_a_duration(asker: Asker, engine: Engine, make: Make) -> None:
    """R5.2."""
    task = await bring(engine.store, make, State.RUNNING)
    told = await asker.ask("POST", f"/v1/tasks/{task.id}/cancel", {"deadline": "soon"})
    assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/deadline")


@pytest.mark.parametrize("key", ["operate@other", "read@board", "worker@board"])
@pytest.mark.parametrize("call", ["PATCH ", "POST /retry", "DELETE "])
async def test_nobody_changes_what_is_not_theirs(
    asker: Asker, engine: Engine, make: Make, key: str, call: str
) -> None:
    """S1, S2, B182: another tenant's task is as if it were not."""
    method, path = call.split(" ")
    task = make.task(tenant="board")
    await engine.store.submit([task], NOW)
    body = {"priority": 0} if method == "PATCH" else None

    told = await asker.using(key).ask(method, f"/v1/tasks/{task.id}{path}", body)

    foreign = key.startswith("operate") and method != "DELETE"
    assert (told.status, told.code) == ((404, "not_found") if foreign else (403, "forbidden"))
    (read,) = await engine.get([task.id])
    assert read is not None
    assert (read.priority, read.state) == (5, State.READY)


async def test_a_key_of_a_tenant_sees_its_own_tasks(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """S2: lists and counts too, whatever they ask for."""
    own, foreign = make.task(tenant="board"), make.task(tenant="other")
    await engine.store.submit([own, foreign], NOW)
    board = asker.using("read@board")
    for query in ("", "?tenant=board", "?queue=default"):
        told = await board.ask("GET", f"/v1/tasks{query}")
        assert [item["id"] for item in told.json["items"]] == [own.id]
        assert (await board.ask("GET", f"/v1/tasks/count{query}")).json["count"] == 1
    for query in ("?tenant=other", "?tenant=board,other", "?tenant="):
        told = await board.ask("GET", f"/v1/tasks{query}")
        assert (told.status, told.code) == (403, "tenant_mismatch")
    hidden = await board.ask("GET", f"/v1/tasks/{foreign.id}")
    absent = await board.ask("GET", f"/v1/tasks/{make.id()}")
    assert hidden.status == absent.status == 404
    assert hidden.json.keys() == absent.json.keys()


async def test_a_change_is_told_to_the_audit_record(
    asker: Asker, engine: Engine, make: Make, keys: KnownKeys
) -> None:
    """S17: before and after, never a payload."""
    task = make.task()
    await engine.store.submit([task], NOW)
    await asker.ask("PATCH", f"/v1/tasks/{task.id}", {"priority": 0})
    call, _, error = keys.left[-1]
    assert (call.route.audit, error) == ("task.update", None)
    assert call.audit["change"] == {"priority": [5, 0]}
