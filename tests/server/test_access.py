"""Closed by default: who comes in, and who is turned away (R8.5, S1, S12, case B182)."""

from collections.abc import Callable
from typing import Any

import pytest

from rota import Rota
from rota.access import Role
from rota.clock import ManualClock
from rota.engine import Engine
from rota.errors import StoreUnavailable
from rota.server.access import FRESH_SECONDS
from rota.server.rates import Bounds, Rate
from rota.server.route import Answer, Call, In, Route, roles
from tests.server.doors import ON_SQLITE, Door
from tests.support.asking import Asker


class Hello(In, frozen=True):
    name: str = "you"


async def hello(call: Call) -> Answer:
    return Answer({"hello": call.caller.name})


def a_route(method: str, path: str, name: str, *who: Role, **more: Any) -> Route:
    return Route(
        method=method, path=path, name=name, summary="Say hello.", run=hello, tag="tests",
        roles=roles(*who) if who else None, **more,
    )  # fmt: skip


ROUTES = (
    a_route("GET", "/v1/hello", "hello_get", Role.READ),
    a_route("POST", "/v1/hello", "hello_create", Role.OPERATE, takes=Hello, audit="hello.create"),
    a_route("POST", "/v1/sessions/{id}/heartbeat", "session_heartbeat", Role.WORKER),
    a_route("GET", "/healthz", "health"),
)


@pytest.fixture
def door(app: Rota, engine: Engine) -> Door:
    return Door(app, engine, ROUTES, hosts=["tasks.example"], proxies=["10.0.0.0/8"])


async def test_a_key_opens_what_its_roles_allow(door: Door) -> None:
    """R8.5."""
    asker = await door.asker(Role.READ, name="reader")

    told = await asker.ask("GET", "/v1/hello")
    assert (told.status, told.json) == (200, {"hello": "reader"})
    refused = await asker.ask("POST", "/v1/hello", {})
    assert (refused.status, refused.code) == (403, "forbidden")


def _with(key: str, change: Callable[[str], str]) -> str:
    return f"Bearer {change(key)}"


BAD: dict[str, Callable[[str], str | None]] = {
    "missing": lambda _: None,
    "empty": lambda _: "",
    "of another scheme": lambda key: f"Basic {key}",
    "without a scheme": lambda key: key,
    "no key at all": lambda _: "Bearer let-me-in",
    "mistyped": lambda key: _with(key, lambda text: text[:-1] + ("0" if text[-1] != "0" else "1")),
    "cut": lambda key: _with(key, lambda text: text[:-1]),
    "longer": lambda key: _with(key, lambda text: text + "0"),
    "in another alphabet": lambda key: _with(key, lambda text: text.replace("rota", "röta")),
    "very long": lambda _: "Bearer " + "x" * 100_000,
}


@ON_SQLITE
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("path", ["/v1/hello", "/v1/nowhere", "/v1/hello/"])
async def test_without_a_valid_key_nothing_is_told(
    door: Door, bad: Callable[[str], str | None], path: str
) -> None:
    """S1, B182: not even which addresses there are; always in the same words."""
    key = (await door.make(Role.READ)).text
    shown = bad(key)
    headers = {} if shown is None else {"authorization": shown}

    told = await door.using(None).ask("GET", path, headers=headers)

    assert told.status == 401
    assert told.headers["www-authenticate"] == "Bearer"
    assert told.json | {"request_id": ""} == {
        "type": "urn:rota:problem:unauthorised",
        "title": "A key is needed",
        "status": 401,
        "code": "unauthorised",
        "detail": "give a valid key: Authorization: Bearer rota_…",
        "instance": path,
        "request_id": "",
    }


@ON_SQLITE
async def test_a_key_with_another_secret_opens_nothing(door: Door) -> None:
    """S12: who knows an id, for instance from the audit record, knows no key."""
    from rota import key_text

    key = (await door.make(Role.READ)).key
    forged = key_text.Written(key.id, "0" * 43)

    assert (await door.using(forged.text).ask("GET", "/v1/hello")).status == 401


async def test_an_expired_key_opens_nothing(door: Door, clock: ManualClock) -> None:
    """S12: on the very second, whatever is remembered of it."""
    asker = await door.asker(Role.READ, expires="90d")
    clock.advance(90 * 86_400 - 1)
    assert (await asker.ask("GET", "/v1/hello")).status == 200

    clock.advance(1)
    assert (await asker.ask("GET", "/v1/hello")).code == "unauthorised"


async def test_a_revocation_bites_within_five_seconds(
    door: Door, app: Rota, engine: Engine, clock: ManualClock
) -> None:
    """S12: also on a server that knew the key, when another one revoked it."""
    made = await door.make(Role.READ)
    await door.make(Role.ADMIN)
    other = Door(app, engine, ROUTES)
    askers = [door.using(made.text), other.using(made.text)]
    assert [(await asker.ask("GET", "/v1/hello")).status for asker in askers] == [200, 200]

    await engine.revoke_key(made.key.id)
    clock.advance(5)

    assert [(await asker.ask("GET", "/v1/hello")).status for asker in askers] == [401, 401]


async def test_a_known_key_costs_the_store_nothing(
    door: Door, engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8.5: one look every few seconds, whatever the number of calls."""
    looks: list[str] = []
    find = engine.find_key

    async def counting(key_id: str) -> object:
        looks.append(key_id)
        return await find(key_id)

    monkeypatch.setattr(engine, "find_key", counting)
    asker = await door.asker(Role.READ)
    for _ in range(50):
        assert (await asker.ask("GET", "/v1/hello")).status == 200
    assert len(looks) == 1

    clock.advance(FRESH_SECONDS)
    for _ in range(50):
        assert (await asker.ask("GET", "/v1/hello")).status == 200
    assert len(looks) == 2


async def test_a_store_that_is_away_opens_and_counts_nothing(
    door: Door, engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3.7: 503, and nobody is taken for a stranger because of it."""
    asker = await door.asker(Role.READ)

    async def away(_: str) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(engine, "find_key", away)
        for _ in range(200):
            told = await asker.ask("GET", "/v1/hello")
            assert (told.status, told.headers["retry-after"]) == (503, "2")

    assert (await asker.ask("GET", "/v1/hello")).status == 200


HOSTS = {
    "localhost": 200,
    "localhost:8300": 200,
    "127.0.0.1:8300": 200,
    "[::1]:8300": 200,
    "10.1.2.3": 200,
    "tasks.example": 200,
    "TASKS.example.:443": 200,
    "evil.example": 421,
    "tasks.example.evil.example": 421,
    "tasks.example@evil.example": 421,
    "localhost.evil.example": 421,
    "": 421,
    "[::1": 421,
}


@ON_SQLITE
@pytest.mark.parametrize(("host", "status"), HOSTS.items(), ids=HOSTS)
async def test_a_server_answers_for_its_own_names_only(door: Door, host: str, status: int) -> None:
    """S7: a stranger's name that points here (DNS rebinding) leads nowhere, on loopback too."""
    asker = await door.asker(Role.READ)

    told = await asker.ask("GET", "/v1/hello", headers={"host": host})

    assert told.status == status
    assert told.code == (None if status == 200 else "misdirected")


@ON_SQLITE
async def test_what_is_open_is_open_to_probes_that_know_no_name(door: Door) -> None:
    """R9.3."""
    told = await door.using(None).ask("GET", "/healthz", headers={"host": "10.9.9.9.internal"})
    assert told.status == 200


@ON_SQLITE
async def test_a_key_that_calls_too_often_is_told_when_to_come_back(
    app: Rota, engine: Engine, clock: ManualClock
) -> None:
    """S8: each key for itself; heartbeats are never held up."""
    door = Door(app, engine, ROUTES, bounds=Bounds(calls=Rate(0.5, 3)))
    eager, other = await door.asker(Role.READ, Role.WORKER), await door.asker(Role.READ)
    assert [(await eager.ask("GET", "/v1/hello")).status for _ in range(4)] == [200] * 3 + [429]

    told = await eager.ask("GET", "/v1/hello")
    assert (told.code, told.headers["retry-after"]) == ("rate_limited", "2")
    assert told.json["retry_after_s"] == 2.0
    assert told.headers["ratelimit-policy"] == '"key";q=3;w=6'
    assert told.headers["ratelimit"] == '"key";r=0;t=2'
    assert (await other.ask("GET", "/v1/hello")).status == 200
    assert (await eager.ask("POST", "/v1/sessions/1/heartbeat")).status == 200

    clock.advance(2)
    assert (await eager.ask("GET", "/v1/hello")).status == 200


@ON_SQLITE
async def test_who_has_little_left_is_told_so_in_time(app: Rota, engine: Engine) -> None:
    """http §6: under 20 % of the calls are left; until then an answer carries nothing more."""
    door = Door(app, engine, ROUTES, bounds=Bounds(calls=Rate(2, 10)))
    asker = await door.asker(Role.READ)
    told = [(await asker.ask("GET", "/v1/hello")).headers.get("ratelimit") for _ in range(10)]
    assert told == [None] * 8 + ['"key";r=1;t=5', '"key";r=0;t=5']


async def guess(asker: Asker, times: int, **headers: str) -> list[int]:
    given = {k.replace("_", "-"): v for k, v in headers.items()}
    return [
        (
            await asker.ask("GET", "/v1/hello", headers=given | {"authorization": f"Bearer {n}"})
        ).status
        for n in range(times)
    ]


@ON_SQLITE
async def test_guessing_counts_against_the_address_and_not_the_key(
    app: Rota, engine: Engine, clock: ManualClock
) -> None:
    """S12: whoever has a key that is known here goes on."""
    door = Door(app, engine, ROUTES, bounds=Bounds(unknown=Rate(0.1, 5)))
    asker = await door.asker(Role.READ)
    assert (await asker.ask("GET", "/v1/hello")).status == 200

    assert await guess(door.using(None), 7) == [401] * 5 + [429] * 2
    assert (await asker.ask("GET", "/v1/hello")).status == 200
    clock.advance(FRESH_SECONDS)
    assert (await asker.ask("GET", "/v1/hello")).status == 200
    clock.advance(10)
    assert await guess(door.using(None), 2) == [401, 429]


@ON_SQLITE
@pytest.mark.parametrize(
    ("proxies", "statuses"),
    [(["127.0.0.1"], [401, 401]), ([], [401, 429])],
    ids=["a listed proxy is believed", "a stranger is not"],
)
async def test_where_a_call_comes_from(
    app: Rota, engine: Engine, proxies: list[str], statuses: list[int]
) -> None:
    """S7: anybody can write X-Forwarded-For."""
    door = Door(app, engine, ROUTES, proxies=proxies, bounds=Bounds(unknown=Rate(0.001, 1)))
    given = [
        await guess(door.using(None), 1, x_forwarded_for=f"9.9.9.9, 8.8.8.{n}") for n in (1, 2)
    ]

    assert [status for (status,) in given] == statuses


async def test_the_last_use_of_a_key_is_written_down_by_the_minute(
    door: Door, engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S12: in batches, not with each call."""

    async def away(*_: Any) -> None:
        raise StoreUnavailable("away")

    made = await door.make(Role.READ)
    clock.advance(90)
    for _ in range(5):
        await door.using(made.text).ask("GET", "/v1/hello")
    found = await engine.find_key(made.key.id)
    assert found is not None
    assert found.last_used_at is None

    with monkeypatch.context() as patch:
        patch.setattr(engine, "touch_used", away)
        await door.access.flush()  # what could not be written is written with the next
    await door.access.flush()

    found = await engine.find_key(made.key.id)
    assert found is not None
    assert found.last_used_at == clock.now() // 60_000_000 * 60_000_000
