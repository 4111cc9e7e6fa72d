"""Every route against everybody who may come (S1, S2, B174, B181, B182); made from the table.

What others add to the table is tried by itself. Nothing is left out without being named here.
"""

import re
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec import UNSET, structs

from rota import Rota, key_text
from rota.access import IMPLIED, Role
from rota.clock import ManualClock
from rota.engine import Engine
from rota.model import TaskFilter
from rota.server.login import SAFE
from rota.server.route import Answer, Call, Route
from rota.server.routes import table
from rota.server.routes.home import FILES, PAGES
from tests.server.doors import NEVER_TOO_OFTEN, ON_SQLITE, Door
from tests.server.two_tenants import CANARY, World, two_tenants
from tests.support.asking import Asker, Told

OPEN = {
    "GET /healthz",
    "GET /readyz",
    "POST /v1/login",
    *(f"GET {path}" for path in (*PAGES, *FILES)),
}
"""What is open to all: probes, the page that asks for a key, and the way to show one."""

UNCHANGING = {
    "POST /v1/schedules/preview",
    "POST /v1/sessions/{id}/heartbeat",
    "POST /v1/backend/{verb}",
    "POST /v1/backend/facts",
}
"""What is sent with POST and changes nothing that belongs on record."""

STREAMS = {"GET /v1/events", "GET /v1/hints"}
"""What has no end to be read to; what they tell is tried in their own tests."""


async def let_in(call: Call) -> Answer:
    return Answer({"in": True})


def doors_only(routes: Iterable[Route]) -> list[Route]:
    """The routes with nothing behind their doors."""
    return [
        structs.replace(route, run=let_in, takes=None, query=None, raw=False, stream=False)
        for route in routes
    ]


def address(route: Route, value: str = "x") -> str:
    return re.sub(r"\{\w+\}", value, route.path)


def named(routes: Iterable[Route]) -> list[str]:
    return [f"{route.method} {route.path}" for route in routes]


def endless(route: Route) -> bool:
    return named([route])[0] in STREAMS


@pytest.fixture
def closed(app: Rota, engine: Engine) -> Door:
    """A server whose routes do nothing."""
    return Door(app, engine, doors_only(table()), bounds=NEVER_TOO_OFTEN)


async def statuses(asker: Asker, **headers: str) -> dict[str, int]:
    """What every route answers."""
    return {
        route.name: (await asker.ask(route.method, address(route), headers=headers)).status
        for route in table()
    }


def expected(status: int, *, open_: int = 200) -> dict[str, int]:
    """One status for all routes but the open ones."""
    return {route.name: open_ if route.roles is None else status for route in table()}


# -- the table ------------------------------------------------------------------------------------


def test_only_what_is_named_is_open_to_all() -> None:
    """S1, B182."""
    assert set(named(route for route in table() if route.roles is None)) == OPEN


def test_only_what_is_named_has_no_end() -> None:
    """What streams is left out below, so it has to be tried in its own tests."""
    assert set(named(route for route in table() if route.stream)) == STREAMS


def test_no_route_has_roles_that_nobody_can_have() -> None:
    """A route without any role would be open to nobody, and look closed by intent."""
    assert named(route for route in table() if route.roles is not None and not route.roles) == []


def test_the_names_of_routes_are_theirs_alone() -> None:
    """They are operation ids, and the matrix tells routes apart by them."""
    names = [route.name for route in table()]
    assert sorted(names) == sorted(set(names))


def test_every_change_is_on_record() -> None:
    """S17."""
    silent = [route for route in table() if route.method not in SAFE and route.audit is None]
    assert set(named(silent)) - UNCHANGING == set()


def test_the_work_of_workers_is_for_workers() -> None:
    """S13: no other role implies theirs, and theirs opens nothing that reads or changes tasks."""
    for role in Role:
        assert (Role.WORKER in IMPLIED[role]) == (role is Role.WORKER)
    for route in table():
        if re.fullmatch(r"/v1/sessions/\{id\}/(claim|heartbeat|finish|progress)", route.path):
            assert route.roles == frozenset({Role.WORKER}), route.path
        if route.path.startswith(("/v1/tasks", "/v1/dead-letters", "/v1/keys", "/v1/audit")):
            assert Role.WORKER not in (route.roles or ()), route.path


# -- every route x every caller -------------------------------------------------------------------

BAD = {
    "no key": None,
    "a malformed one": "let-me-in",
    "one that nobody made": key_text.write(bytes(range(key_text.ENTROPY_BYTES))).text,
}


@ON_SQLITE
@pytest.mark.parametrize("key", BAD.values(), ids=BAD)
async def test_without_a_key_every_route_is_closed(closed: Door, key: str | None) -> None:
    """S1, B182: also with one that is none."""
    assert await statuses(closed.using(key)) == expected(401)


@ON_SQLITE
async def test_with_an_expired_key_every_route_is_closed(closed: Door, clock: ManualClock) -> None:
    """S12."""
    asker = await closed.asker(Role.ADMIN, Role.WORKER, expires="1m")
    clock.advance(60)
    assert await statuses(asker) == expected(401)


@ON_SQLITE
async def test_with_a_revoked_key_every_route_is_closed(closed: Door) -> None:
    """S12."""
    made = await closed.make(Role.ADMIN, Role.WORKER)
    await closed.make(Role.ADMIN)
    await closed.engine.revoke_key(made.key.id)
    assert await statuses(closed.using(made.text)) == expected(401)


@ON_SQLITE
@pytest.mark.parametrize("tenant", [None, "board"], ids=["unbound", "bound"])
@pytest.mark.parametrize("role", Role)
async def test_each_role_opens_what_it_says(closed: Door, role: Role, tenant: str | None) -> None:
    """R8.5: no more and no less."""
    asker = await closed.asker(role, tenant=tenant)

    may = {
        route.name: 200 if route.roles is None or not route.roles.isdisjoint(IMPLIED[role]) else 403
        for route in table()
    }
    assert await statuses(asker) == may


@ON_SQLITE
async def test_a_cookie_without_its_word_changes_nothing(closed: Door, app: Rota) -> None:
    """B172, S7: whatever the route."""
    door = Door(app, closed.engine, bounds=NEVER_TOO_OFTEN)
    page = await door.logged_in((await door.make(Role.ADMIN)).text)
    wordless = {name: value for name, value in page.items() if name != "rota-csrf"}

    found = await statuses(closed.using(None), **wordless)

    for route in table():
        if route.roles is None:
            assert found[route.name] == 200
        elif route.method not in SAFE:
            assert found[route.name] == 403, route.path
        else:
            allowed = not route.roles.isdisjoint(IMPLIED[Role.ADMIN])
            assert found[route.name] == (200 if allowed else 403), route.path


# -- two tenants ----------------------------------------------------------------------------------


@pytest.fixture
def door(app: Rota, engine: Engine) -> Door:
    """A server that does all that it does."""
    return Door(app, engine, bounds=NEVER_TOO_OFTEN)


async def try_it(asker: Asker, route: Route, value: str) -> Told:
    body = None
    if route.takes is not None or route.raw:
        body = {} if route.example is UNSET else route.example
    raw = None
    if route.raw and isinstance(body, bytes | str):
        raw, body = body if isinstance(body, bytes) else body.encode(), None
    media = {"content-type": route.media[0]} if body is not None or raw is not None else {}
    return await asker.ask(route.method, address(route, value), body, raw=raw, headers=media)


def noun(route: Route) -> str | None:
    """The noun before the first parameter of a path."""
    match = re.search(r"([\w-]+)/\{", route.path)
    return match[1] if match else None


def rubbed_out(told: Told, value: str) -> tuple[int, dict[str, str], bytes]:
    """An answer without what is its own in every answer."""
    headers = {k: v for k, v in told.headers.items() if k != "rota-request-id"}
    body = re.sub(rb'"request_id":"[^"]*"', b"", told.body).replace(value.encode(), b"VALUE")
    headers.pop("content-length", None)
    return told.status, headers, body


BOUND: dict[str, dict[str, Any]] = {
    "a tenant": {"tenant": "board"},
    "a tenant and a queue": {"tenant": "board", "queues": ["sms"]},
}
SHARED_NAMES = {"queues", "kinds"}
"""Names that belong to no tenant: what is told of them is looked through for what does."""


@ON_SQLITE
@pytest.mark.parametrize("scope", BOUND.values(), ids=BOUND)
@pytest.mark.parametrize("role", Role)
async def test_what_is_foreign_looks_like_what_is_not_there(
    door: Door, role: Role, scope: dict[str, Any]
) -> None:
    """S2, B174: byte by byte, on every route, for every role; and nothing of it is changed."""
    world = await two_tenants(door)
    asker = await door.asker(role, **scope)
    before = await foreign_tasks(door, world)

    for route in table():
        word = noun(route)
        if word is None or word == "backend" or endless(route):
            continue
        a_page = route.roles is None  # the same for everybody, before it asks for anything
        assert a_page or word in world.nouns, f"say in two_tenants.py what {route.path} stands for"
        pair = world.nouns.get(word, world.nouns["tasks"])
        foreign = rubbed_out(await try_it(asker, route, pair.foreign), pair.foreign)
        absent = rubbed_out(await try_it(asker, route, pair.absent), pair.absent)
        assert foreign == absent, f"{route.method} {route.path}"
        assert foreign[0] >= 400 or a_page or word in {*SHARED_NAMES, "tenants"}, route.path

    assert await foreign_tasks(door, world) == before


@ON_SQLITE
@pytest.mark.parametrize("scope", BOUND.values(), ids=BOUND)
@pytest.mark.parametrize("role", Role)
async def test_no_answer_shows_what_belongs_to_others(
    door: Door, role: Role, scope: dict[str, Any]
) -> None:
    """S2, B174: lists, counts, figures, errors; of every route."""
    world = await two_tenants(door)
    asker = await door.asker(role, **scope)

    for route in table():
        if endless(route):
            continue
        for path in queried(route, world):
            told = await asker.ask(route.method, path, body_of(route))
            asked_for = world.nouns[word].foreign if (word := noun(route)) in world.nouns else path
            text = told.body.replace(path.encode(), b"").replace(asked_for.encode(), b"")
            assert CANARY.encode() not in text, f"{route.method} {path}: {told.body!r}"
            assert not [id_ for id_ in world.tasks if id_.encode() in text], path
            assert told.status < 500 or told.status == 503, f"{route.method} {path}: {told.body!r}"


def queried(route: Route, world: World) -> list[str]:
    """The ways in which a route is asked for what belongs to others."""
    word = noun(route)
    value = world.nouns[word].foreign if word in world.nouns else "keys"
    path = address(route, value)
    known = () if route.query is None else route.query.__struct_encode_fields__
    tenants = [f"{path}?tenant=school"] if "tenant" in known else []
    return [path, *tenants, *([f"{path}?state=failed"] if "state" in known else [])]


def body_of(route: Route) -> Any:
    if route.takes is None and not route.raw:
        return None
    return {} if route.example is UNSET else route.example


async def foreign_tasks(door: Door, world: World) -> list[Any]:
    return [
        *await door.engine.get(world.tasks),
        *await door.engine.get_schedules([world.nouns["schedules"].foreign]),
        await door.engine.action(world.nouns["actions"].foreign),
        (await door.engine.settings()).limits,
        (await door.engine.settings()).tenants["school"],
    ]


@ON_SQLITE
@pytest.mark.parametrize("role", [Role.SUBMIT, Role.OPERATE, Role.ADMIN])
async def test_the_tenant_in_a_body_is_the_key_s_or_refused(door: Door, role: Role) -> None:
    """B181: whole, with nothing stored; also one item of a batch, and a filter."""
    world = await two_tenants(door)
    asker = await door.asker(role, tenant="board")
    item = {"kind": "report", "payload": {"day": "1"}, "tenant": "school"}
    own = item | {"tenant": "board"}
    tries: list[tuple[str, Any]] = [
        ("/v1/tasks", item),
        ("/v1/tasks/batch", [own, item]),
        ("/v1/tasks/batch?mode=per_item", [own, item]),
        ("/v1/actions", {"do": "cancel", "on": "tasks", "filter": {"tenant": "school"}}),
        ("/v1/schedules", {"name": "n", "kind": "report", "payload": {"day": "1"},
                           "expression": "0 9 * * *", "tenant": "school"}),
    ]  # fmt: skip
    before = [await foreign_tasks(door, world), await tasks_of_all(door)]

    for path, body in tries:
        told = await asker.ask("POST", path, body)
        assert told.status == 403, f"{path}: {told.body!r}"

    assert [await foreign_tasks(door, world), await tasks_of_all(door)] == before


async def tasks_of_all(door: Door) -> list[str]:
    return await door.engine.find_ids(TaskFilter(), before_id=None, limit=100)


@ON_SQLITE
async def test_what_there_is_to_find_is_found_by_whoever_reaches_it(door: Door) -> None:
    """The searches above prove nothing unless the marks are there to be seen."""
    await two_tenants(door)
    asker = await door.asker(Role.ADMIN)

    seen = [
        route.path
        for route in table()
        if route.method == "GET" and noun(route) is None and not endless(route)
        if CANARY.encode() in (await asker.ask("GET", route.path)).body
    ]
    assert {"/v1/tasks", "/v1/dead-letters", "/v1/schedules", "/v1/keys"} <= set(seen)
