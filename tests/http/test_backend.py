"""The verbs of the seam over HTTP: roles, hostile values, and what errors mean (ADR 21, S8)."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import structs

from rota import Rota
from rota.actions import Changes
from rota.alerting import AlertRule, Webhook
from rota.clock import ManualClock
from rota.errors import (
    ConfigurationError,
    InvalidTask,
    Overloaded,
    RotaError,
    ScheduleExists,
    SessionGone,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TaskNotFound,
    UnknownKind,
)
from rota.figures import Figure
from rota.http.backend import HttpBackend
from rota.http.failures import failure
from rota.http.link import Address
from rota.http.verbs import ROLES
from rota.model import NewTask, TaskFilter, rank_of
from rota.shares import QueueSettings
from tests.support.factories import Make
from tests.support.serving import KEY, Served


@pytest.fixture
def backend(served: Served, runner: asyncio.Runner) -> Any:
    """A client that may do everything."""
    one = HttpBackend(served.url, KEY)
    runner.run(one.open())
    yield one
    runner.run(one.close())


def a_task(make: Make, backend: HttpBackend, **fields: Any) -> NewTask:
    """A task that is dated by the server's time."""
    now = backend.clock.now()
    task = make.task(run_at=now, created_at=now, rank=rank_of(now, 5))
    return structs.replace(task, **fields)


async def as_(served: Served, key: str) -> HttpBackend:
    """A client with another key."""
    other = HttpBackend(served.url, key)
    await other.open()
    return other


# -- what a client may send ---------------------------------------------------------------------

HOSTILE = [
    ({"kind": "no kind!"}, "kind"),
    ({"queue": "../etc"}, "queue"),
    ({"tenant": "a b"}, "tenant"),
    ({"priority": 11}, "priority"),
    ({"payload": "{"}, "payload"),
    ({"payload": "[1]"}, "payload"),
    ({"payload": '{"a":"\\u0000"}'}, "payload.a"),
    ({"payload": '{"a":' + "[" * 40 + "]" * 40 + "}"}, "payload"),
    ({"payload": '{"a":"' + "x" * 300_000 + '"}'}, "payload"),
    ({"id": "not an id"}, "id"),
    ({"run_at": -1}, "run_at"),
    ({"run_at": 2**62}, "run_at"),
    ({"created_at": 0}, "created_at"),
    ({"rank": 0}, "rank"),
    ({"timeout": -5}, "timeout"),
    ({"retry": '{"max_attempts":0}'}, "retry"),
    ({"key": "", "key_until": 0}, "key"),
    ({"tags": ("x",) * 17}, "tags"),
    ({"headers": '{"a":1}'}, "headers.a"),
    ({"max_concurrency": 5}, "max_concurrency"),
    ({"concurrency_key": "k", "max_concurrency": 0}, "max_concurrency"),
    ({"schedule": "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"}, "schedule"),
]


@pytest.mark.parametrize(("fields", "field"), HOSTILE, ids=[str(n) for n in range(len(HOSTILE))])
async def test_a_client_is_not_trusted_with_values(
    backend: HttpBackend, make: Make, fields: dict[str, Any], field: str
) -> None:
    """R1.6, S8: the field is named, and nothing of the call is stored."""
    good, bad = a_task(make, backend), a_task(make, backend, **fields)

    with pytest.raises(InvalidTask) as refused:
        await backend.call("submit", [good, bad])

    assert refused.value.field == f"tasks.1.{field}"
    assert await backend.call("get", [good.id]) == [None]


ODD = {
    "an address that is none": (
        "put_webhook",
        (Webhook(id="0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", url="file:///etc", created_at=1), 0),
        "url",
    ),
    "a rule that is always true": (
        "put_alert_rule",
        (AlertRule(name="r", figure=Figure.DEPTH, threshold=0), 0),
        "threshold",
    ),
    "a rule without a name": (
        "put_alert_rule",
        (AlertRule(name="", figure=Figure.DEPTH, threshold=1), 0),
        "name",
    ),
    "a priority that there is not": ("amend", ([], Changes(priority=11)), "priority"),
    "a queue that is none": ("amend", ([], Changes(queue="../etc")), "queue"),
    "a time before all": ("amend", ([], Changes(run_at=-1)), "run_at"),
    "many tags": ("amend", ([], Changes(tags=("x",) * 17)), "tags"),
}


@pytest.mark.parametrize(("name", "values", "field"), ODD.values(), ids=ODD)
async def test_what_faces_refuse_is_refused_here_as_well(
    backend: HttpBackend, name: str, values: Any, field: str
) -> None:
    """R1.6, S8: a client of somebody else's may have no such face."""
    with pytest.raises(InvalidTask) as refused:
        await backend.call(name, *values)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("get", b'{"ids":[1]}'),
        ("get", b'{"ids":[],"more":1}'),
        ("get", b"{"),
        ("get", b"[" * 100_000),
        ("get", b'{"ids":["\xff"]}'),
        ("find", b'{"where":{"queue":"a\\u0000b"},"before_id":null,"limit":5}'),
        ("find", b'{"where":{},"before_id":null,"limit":99999999}'),
        ("count", b'{"where":{"created_from":99999999999999999999},"cap":5}'),
        ("put_settings", b'{"new":{"what":"queue","value":{"name":"a b"}},"version":0}'),
        ("put_settings", b'{"new":{"what":"queue","value":[]},"version":0}'),
        ("create_schedule", b'{"schedule":{}}'),
        ("secret", b'{"name":"cursors"}'),
        ("__class__", b"{}"),
        ("claim_numbered", b"{}"),
    ],
    ids=[str(n) for n in range(14)],
)
async def test_what_does_not_fit_is_refused(backend: HttpBackend, name: str, body: bytes) -> None:
    """S8: never a 500."""
    with pytest.raises(RotaError) as refused:
        await backend._link.ask("POST", f"/v1/backend/{name}", body)

    assert "answered 5" not in str(refused.value)
    assert not isinstance(refused.value, StoreUnavailable)


# -- who may call what --------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["submit", "read", "operate", "admin", "worker"])
async def test_a_verb_takes_one_of_its_roles(served: Served, role: str) -> None:
    """S1: the matrix of verbs and roles."""
    other = await as_(served, f"{role}@")
    implied = {"operate": {"read"}, "admin": {"operate", "read", "submit"}}.get(role, set())

    for name, any_of in ROLES.items():
        with pytest.raises(RotaError) as told:
            await other._link.ask("POST", f"/v1/backend/{name}", b'{"nothing":1}')
        may = bool(any_of & {role, *implied})
        assert ("with the role" not in str(told.value)) == may, (name, told.value)

    await other.close()


async def test_an_operator_may_pause_and_an_administrator_may_do_the_rest(served: Served) -> None:
    """http-and-cli.md §1: the seam has one verb for both."""
    operator = await as_(served, "operate@")
    paused = QueueSettings(name="sms", paused_at=1, pause_reason="provider down")

    assert await operator.call("put_settings", paused, 0)
    with pytest.raises(ConfigurationError, match="admin"):
        await operator.call("put_settings", structs.replace(paused, max_depth=5), 1)
    await operator.close()


async def test_a_tenants_key_sees_its_own_tasks_alone(
    served: Served, backend: HttpBackend, make: Make
) -> None:
    """S2: what is another's looks as if it were not."""
    own, other = (a_task(make, backend, tenant=tenant) for tenant in ("board", "college"))
    await backend.call("submit", [own, other])
    board = await as_(served, "admin@board")

    found = await board.call("get", [own.id, other.id])
    facts = await board.facts(own.id)

    assert [task and task.tenant for task in found] == ["board", None]
    assert facts.task.id == own.id
    with pytest.raises(TaskNotFound):
        await board.facts(other.id)
    assert b"college" not in msgspec.json.encode(facts)
    await board.close()


# -- what goes wrong ----------------------------------------------------------------------------


async def test_a_submit_may_be_repeated(backend: HttpBackend, make: Make) -> None:
    """R1.2: the ids are the client's, so that a repeat finds the first."""
    tasks = [a_task(make, backend) for _ in range(3)]

    first = await backend.call("submit", tasks)
    again = await backend.call("submit", tasks)

    assert first == again
    assert sum((await backend.call("count", TaskFilter(), 100)).values()) == 3


def _problem(code: str, **more: Any) -> bytes:
    return msgspec.json.encode({"code": code, "detail": "said", **more})


MEANT = [
    (422, _problem("validation_failed", errors=[{"pointer": "/tags/0"}]), InvalidTask),
    (422, _problem("unknown_kind"), UnknownKind),
    (429, _problem("overloaded"), Overloaded),
    (429, _problem("rate_limited"), StoreUnavailable),
    (401, _problem("unauthorised"), ConfigurationError),
    (403, _problem("forbidden"), ConfigurationError),
    (404, _problem("not_found"), TaskNotFound),
    (404, b"<html>", ConfigurationError),
    (409, _problem("schedule_exists"), ScheduleExists),
    (410, _problem("session_gone"), SessionGone),
    (400, _problem("protocol_unsupported"), ConfigurationError),
    (500, _problem("internal"), StoreError),
    (502, b"<html>bad gateway", StoreUnavailable),
    (503, _problem("store_unavailable"), StoreUnavailable),
    (507, _problem("store_full"), StoreFull),
]


@pytest.mark.parametrize(("status", "body", "kind"), MEANT, ids=[str(n) for n in range(len(MEANT))])
def test_a_problem_is_the_error_that_a_store_would_raise(
    status: int, body: bytes, kind: type[Exception]
) -> None:
    """R3.7: outcome unknown is never taken for refused, nor the other way round."""
    assert isinstance(failure(status, body, {}, "the server"), kind)
    assert str(failure(status, body, {}, "the server"))


def test_a_refusal_names_its_field() -> None:
    """R1.6."""
    body = _problem(
        "validation_failed", errors=[{"pointer": "/payload/a/0", "detail": "is no name"}]
    )
    error = failure(422, body, {}, "the server")

    assert isinstance(error, InvalidTask)
    assert (error.field, error.problem) == ("payload.a.0", "is no name")


async def test_a_server_that_is_away_is_a_store_that_is_away() -> None:
    """R3.7."""
    backend = HttpBackend("http://127.0.0.1:9", "key", ManualClock())

    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await backend.open()
    await backend.close()


async def test_without_a_key_it_is_said_what_to_do(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1."""
    monkeypatch.delenv("ROTA_TOKEN")
    backend = HttpBackend(served.url, None)

    with pytest.raises(ConfigurationError, match=r"ROTA_TOKEN.*rota keys create"):
        await backend.open()
    await backend.close()


@pytest.mark.parametrize("url", ["http://", "http://a:b@host", "http://host?x=1", "ftp://host"])
def test_an_address_is_an_address_and_nothing_more(url: str) -> None:
    """S12: no secret is in an address."""
    with pytest.raises(ConfigurationError):
        Address(url, "key")


def test_a_token_is_not_taken_to_another_address() -> None:
    """http-and-cli.md §9: a strange setting can redirect a command, never a token."""
    app = Rota("http://one:8300", token="secret")

    assert app.at("http://two:8300").token is None
    assert app.at("http://one:8300").token == "secret"
    assert "secret" not in repr(app)
