"""What holds for every route of the table, whatever it does (S9, S10, S11, S17, R3.7).

All is made from the table: a new route is tried here by itself.
"""

import asyncio
import inspect
import io
import logging
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from msgspec import UNSET, structs

from rota import Rota
from rota.access import AuditFilter, Role
from rota.cli.logs import OneLine
from rota.engine import Engine
from rota.errors import StoreUnavailable
from rota.logs import JsonLines
from rota.server.login import SAFE
from rota.server.route import Answer, Call, Route
from rota.server.routes import table
from tests.server.doors import NEVER_TOO_OFTEN, ON_SQLITE, PAGE, Door
from tests.support.asking import Asker, Told
from tests.support.factories import Make

SQL = "x'\"; drop table finished; -- $1 :queue ::text %s {0} \\"
BREAK = "x\r\nSet-Cookie: rota=1\r\n\r\n\x1b[2J"
"""What would end a header, or a line of a log, and begin one of its own."""
TEXTS = {"sql": SQL, "a line break": BREAK}


@pytest.fixture
def door(app: Rota, engine: Engine) -> Door:
    """A server with all its routes and real keys."""
    return Door(app, engine, bounds=NEVER_TOO_OFTEN)


@pytest.fixture
def asker(door: Door, runner: asyncio.Runner) -> Asker:
    """Asks with every right that there is."""
    return runner.run(door.asker(Role.ADMIN, Role.WORKER))


class Ask:
    """One way to ask a route."""

    def __init__(self, route: Route, *, path: str = "x", query: str = "", body: Any = None) -> None:
        self.route = route
        self.address = re.sub(r"\{\w+\}", quote(path, safe=""), route.path) + query
        self.body = body

    def __repr__(self) -> str:
        return f"{self.route.method} {self.address} {self.body!r}"

    async def of(self, asker: Asker) -> Told:
        """Ask; of a stream only what it begins with."""
        if self.route.stream:
            return await _beginning(asker, self.address)
        media = {"content-type": self.route.media[0]} if self.body is not None else {}
        async with asyncio.timeout(60):
            return await asker.ask(self.route.method, self.address, self.body, headers=media)


async def _beginning(asker: Asker, address: str) -> Told:
    stream = asker.stream(address)
    try:
        async with asyncio.timeout(60):
            async for chunk in stream:
                return Told(200, {}, chunk)
    finally:
        await stream.aclose()
    return Told(200, {}, b"")


def asks(route: Route, text: str) -> Iterator[Ask]:
    """Every way to put a text where a route takes one."""
    body = _body(route)
    if "{" in route.path:
        yield Ask(route, path=text, body=body)
    given = quote(text, safe="")
    for name in getattr(route.query, "__struct_encode_fields__", ()):
        dotted = name in getattr(route.query, "dotted", ())
        yield Ask(route, query=f"?{name}.a={given}" if dotted else f"?{name}={given}", body=body)
    for other in bent(body, text):
        yield Ask(route, body=other)
    for name in getattr(route.takes, "__struct_encode_fields__", ()):
        yield Ask(route, body={**(body if isinstance(body, dict) else {}), name: text})


def bent(value: Any, text: str) -> Iterator[Any]:
    """The value with one of its texts, or of its names, replaced; each in turn."""
    if isinstance(value, str):
        yield text
    elif isinstance(value, dict):
        yield {**value, text: 1}
        for name, inner in value.items():
            yield from ({**value, name: other} for other in bent(inner, text))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from ([*value[:number], o, *value[number + 1 :]] for o in bent(inner, text))


def _body(route: Route) -> Any:
    if route.takes is None and not route.raw:
        return None
    return {} if route.example is UNSET else route.example


# -- texts ----------------------------------------------------------------------------------------


class Lines:
    """What Rota logs, as people and as programs read it."""

    def __init__(self) -> None:
        self.out = io.StringIO()
        self.count = 0
        self.handlers = [logging.StreamHandler(self.out) for _ in range(2)]
        self.handlers[0].setFormatter(OneLine(tracebacks=False))
        self.handlers[1].setFormatter(JsonLines())
        self.handlers[0].addFilter(self._counted)

    def _counted(self, _: logging.LogRecord) -> bool:
        self.count += 1
        return True


@pytest.fixture
def lines() -> Iterator[Lines]:
    """All that is logged meanwhile."""
    lines = Lines()
    logger = logging.getLogger("rota")
    level = logger.level
    logger.setLevel(logging.DEBUG)
    for handler in lines.handlers:
        logger.addHandler(handler)
    yield lines
    for handler in lines.handlers:
        logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_a_text_is_a_text_wherever_it_is_sent(
    asker: Asker, engine: Engine, lines: Lines, text: str
) -> None:
    """S9, S10: no SQL, no header, no line of a log; in each path, query and body of each route."""
    make = Make(17)
    kept = make.tasks(3, queue="kept", kind="kept", tenant="kept")
    await engine.submit(kept)
    before = await engine.get([task.id for task in kept])

    for route in table():
        for ask in asks(route, text):
            told = await ask.of(asker)
            assert told.status < 500, (ask, told.body)
            assert "set-cookie" not in told.headers, ask
            assert all(value.isprintable() for value in told.headers.values()), ask

    assert await engine.get([task.id for task in kept]) == before
    assert lines.out.getvalue().count("\n") == 2 * lines.count
    assert "\x1b" not in lines.out.getvalue()


# -- the record -----------------------------------------------------------------------------------


async def _let_in(call: Call) -> Answer:
    return Answer({})


@ON_SQLITE
async def test_every_change_leaves_one_entry(app: Rota, engine: Engine) -> None:
    """S17: by whichever route, under the name that the table gives it."""
    routes = [
        structs.replace(route, run=_let_in, takes=None, query=None, raw=False, stream=False)
        for route in table()
    ]
    door = Door(app, engine, routes, bounds=NEVER_TOO_OFTEN)
    asker = await door.asker(Role.ADMIN, Role.WORKER, Role.SUBMIT)
    wanted: list[str] = []
    sums: set[str] = set()
    for route in routes:
        await asker.ask(route.method, Ask(route).address, headers=PAGE)
        if route.audit is None:
            continue
        if route.summed:
            sums.add(route.audit)
        else:
            wanted.append(route.audit)

    await door.access.flush(all_=True)
    found = await engine.audit(AuditFilter(), before_id=None, limit=500)

    assert sorted(entry.action for entry in found) == sorted([*wanted, *sums])
    assert len(wanted) > 50


# -- a store that is away -------------------------------------------------------------------------

BY_ITSELF = {
    *("server_get", "document_get", "me_get", "metrics_get", "schedules_preview"),
    "login_end",
}
"""What a server answers of its own; and a key has no log-in that could be ended."""


def cut_off(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no call reach the store any more."""

    async def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("canary-dsn is out of reach")

    for name, _ in inspect.getmembers(type(engine.store), inspect.iscoroutinefunction):
        if not name.startswith("_") and name != "close":
            monkeypatch.setattr(engine.store, name, away)


@ON_SQLITE
async def test_without_its_store_no_route_claims_success(
    door: Door, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3.7, issue 6: 503 with `Retry-After`, never 2xx, and nothing of where the store is."""
    asker = await door.asker(Role.ADMIN, Role.WORKER)
    await asker.ask("GET", "/v1/me")
    cut_off(engine, monkeypatch)
    away = 0

    for route in table():
        if route.stream or (route.roles is None and route.method in SAFE):
            continue
        told = await Ask(route, path=Make(1).id(), body=_body(route)).of(asker)
        assert b"canary-dsn" not in told.body, route.path
        if told.status == 503:
            away += 1
            assert told.code == "store_unavailable", route.path
            assert int(told.headers["retry-after"]) > 0, route.path
        elif told.status < 400:
            assert route.name in BY_ITSELF, (route.method, route.path, told.body)
        else:
            assert told.status in (400, 401, 403, 404, 410, 415, 422), (route.path, told.body)
    assert away > 60


# -- secrets --------------------------------------------------------------------------------------


async def test_no_secret_is_told_twice(
    door: Door, engine: Engine, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S11, B177: in no answer of any route, and in no log, once it was shown."""
    made = await door.make(Role.ADMIN, Role.WORKER)
    asker = door.using(made.text)
    page = await door.logged_in(made.text)
    cookie = page["cookie"].partition("=")[2]
    payload = "canary-payload-1"
    hook = await asker.ask("POST", "/v1/webhooks", {"url": "https://example.com/x"})
    assert hook.status == 201, hook.body
    task = {"kind": "report", "payload": {"day": payload}, "headers": {"x-token": payload}}
    assert (await asker.ask("POST", "/v1/tasks", task)).status == 201
    secrets = [made.text.rsplit("_", 2)[1], cookie, hook.json["secret"].removeprefix("whsec_")]
    secrets += [(await engine.secret(name)).hex() for name in ("cursors", "login")]

    told = [await Ask(route).of(asker) for route in table() if route.method == "GET"]
    told += [await Ask(route, body=_body(route)).of(asker) for route in table() if route.audit]
    cut_off(engine, monkeypatch)
    told += [await Ask(route).of(asker) for route in table() if not route.stream]
    answers = [one.body + repr(one.headers).encode() for one in told]

    for secret in secrets:
        assert len(secret) > 20
        assert not [text for text in answers if secret.encode() in text]
        assert secret not in lines.out.getvalue()
    assert payload not in lines.out.getvalue()
    quiet = ("/metrics", "/healthz", "/readyz", "/v1/audit", "/v1/stats", "/v1/doctor")
    for path in quiet:
        assert payload.encode() not in (await asker.ask("GET", path)).body
