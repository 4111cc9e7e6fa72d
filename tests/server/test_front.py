"""What holds for every call, whatever its route (R8.5, S7, S8)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from rota.access import Role
from rota.errors import InvalidTask, Overloaded, StoreUnavailable, TaskNotFound
from rota.server.front import Front
from rota.server.problems import Problem
from rota.server.route import Answer, Call, In, Route, Stream, roles
from rota.server.table import Table
from tests.support.asking import Asker, KnownKeys, Told

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


class Hello(In, frozen=True):
    name: str


class Wish(In, frozen=True):
    how: str = "well"


async def hello(call: Call) -> Answer:
    return Answer({"hello": call.body.name, "to": call.path["who"]})


async def wish(call: Call) -> Answer:
    return Answer({"how": call.body.how})


def route(path: str = "/v1/hello/{who}", run: Any = hello, **more: Any) -> Route:
    defaults = {
        "method": "POST", "path": path, "name": "hello_say", "summary": "Say hello.", "run": run,
        "roles": roles(Role.READ), "tag": "tests",
    }  # fmt: skip
    return Route(**defaults | more)


def asking(server: Front, *found: Route, most: int = 100) -> Asker:
    return Asker(Front(server.place, Table(found), KnownKeys(), most=most), "read")


async def raised(server: Front, error: Exception, **more: Any) -> Told:
    async def fails(call: Call) -> Answer:
        raise error

    return await asking(server, route("/v1/x", fails, method="GET", **more)).ask("GET", "/v1/x")


async def test_a_call_is_decoded_checked_and_answered(server: Front) -> None:
    asker = asking(server, route(takes=Hello))
    told = await asker.ask("POST", "/v1/hello/me", {"name": "you"})
    assert (told.status, told.json) == (200, {"hello": "you", "to": "me"})
    assert (await asker.ask("POST", "/v1/hello/me", {"nam": "you"})).code == "validation_failed"
    assert (await asker.ask("POST", "/v1/hello/me", raw=b"{")).code == "unreadable"
    assert (await asker.ask("GET", "/v1/hello/me")).code == "method_not_allowed"
    assert (await asker.ask("GET", "/v1/hello")).code == "not_found"
    assert (await asker.using(None).ask("GET", "/v1/hello")).code == "unauthorised"
    assert (await asker.using("submit").ask("POST", "/v1/hello/me", {})).code == "forbidden"


async def test_every_answer_has_an_id_and_is_neither_kept_nor_guessed_at(server: Front) -> None:
    asker = asking(server, route(takes=Hello))
    tolds = [
        await asker.ask("POST", "/v1/hello/me", {"name": "you"}),
        await asker.ask("POST", "/v1/hello/me", {}),
        await asker.using(None).ask("GET", "/x"),
    ]
    for told in tolds:
        assert told.headers["cache-control"] == "no-store"
        assert told.headers["x-content-type-options"] == "nosniff"
        assert told.headers["content-length"] == str(len(told.body))
    assert len({told.headers["rota-request-id"] for told in tolds}) == 3
    assert tolds[1].json["request_id"] == tolds[1].headers["rota-request-id"]
    assert tolds[1].headers["content-type"] == "application/problem+json"


# -- methods --------------------------------------------------------------------------------------


async def test_a_method_that_does_not_fit_is_told_which_do(server: Front) -> None:
    asker = asking(server, route(takes=Hello), route(run=hello, method="GET", name="hello_get"))
    told = await asker.ask("DELETE", "/v1/hello/me")
    assert (told.status, told.headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")
    told = await asker.ask("OPTIONS", "/v1/hello/me")
    assert (told.status, told.headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST")
    assert "content-length" not in told.headers
    assert (await asker.ask("OPTIONS", "/v1/bye")).status == 404
    told = await asker.using(None).ask("OPTIONS", "/v1/hello/me")
    assert (told.status, "allow" in told.headers) == (401, False)


async def test_head_is_get_without_a_body(server: Front) -> None:
    asker = Asker(server, "admin")
    whole = await asker.ask("GET", "/openapi.json")
    told = await asker.ask("HEAD", "/openapi.json")
    assert (told.status, told.body) == (200, b"")
    assert told.headers["content-length"] == str(len(whole.body))
    assert (await asker.using(None).ask("HEAD", "/openapi.json")).status == 401


# -- paths ----------------------------------------------------------------------------------------

STRANGE = ["%00", "%0d%0aX-A:%20b", "%ff", "a%2fb", "%20", "'%20or%201=1", "..", "", "é", "%"]


@pytest.mark.parametrize("word", STRANGE)
async def test_whatever_is_in_a_path_is_a_word_or_is_not_found(server: Front, word: str) -> None:
    async def echo(call: Call) -> Answer:
        return Answer({"to": call.path["who"]})

    asker = asking(server, route(run=echo, method="GET"))
    told = await asker.ask("GET", f"/v1/hello/{word}")
    assert told.status in (200, 404)
    assert "x-a" not in told.headers


async def test_a_word_that_is_written_out_goes_before_what_may_be_any(server: Front) -> None:
    async def other(call: Call) -> Answer:
        return Answer({"other": True})

    asker = asking(
        server,
        route(run=hello, takes=Hello),
        route("/v1/hello/all", other, name="hello_all"),
    )
    assert (await asker.ask("POST", "/v1/hello/all")).json == {"other": True}
    assert (await asker.ask("POST", "/v1/hello/any", {"name": "x"})).json["to"] == "any"


# -- queries --------------------------------------------------------------------------------------


class Range(In, frozen=True):
    limit: int = 50
    exact: bool = False
    name: str = ""


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 200), ("limit=3&exact=true", 200), ("name=%C3%A9", 200), ("name=", 200),
        ("limit=x", 422), ("limit=1&limit=2", 422), ("other=1", 422), ("name=%00", 422),
        ("limit", 400), ("&", 400), ("name=%ff", 400), ("name=\xe9", 400),
        ("&".join(f"a{n}=1" for n in range(65)), 400), ("limit=" + "9" * 5_000, 422),
    ],
)  # fmt: skip
async def test_queries_are_strict(server: Front, query: str, status: int) -> None:
    async def show(call: Call) -> Answer:
        return Answer({"limit": call.query.limit})

    asker = asking(server, route("/v1/x", show, method="GET", query=Range))
    told = await asker.ask("GET", f"/v1/x?{query}")
    assert told.status == status, told.body
    if status == 422:
        assert told.json["errors"][0]["in"] == "query"
    asker = asking(server, route("/v1/x", wish, method="GET", takes=None))
    assert (await asker.ask("GET", "/v1/x?a=1")).code == "validation_failed"


# -- errors ---------------------------------------------------------------------------------------

ERRORS: dict[str, tuple[Exception, int, str]] = {
    "a field": (InvalidTask("payload.a[2].b/c~d", "is wrong"), 422, "validation_failed"),
    "no task": (TaskNotFound("x"), 404, "not_found"),
    "overload": (Overloaded("queue", 2, 1, 0.2), 429, "overloaded"),
    "an outage": (StoreUnavailable("postgresql://secret@db"), 503, "store_unavailable"),
    "a mistake": (ZeroDivisionError("secret"), 500, "internal"),
    "too deep": (RecursionError(), 500, "internal"),
}


@pytest.mark.parametrize(("error", "status", "code"), ERRORS.values(), ids=ERRORS)
async def test_every_error_is_a_problem(
    server: Front, error: Exception, status: int, code: str
) -> None:
    told = await raised(server, error)
    assert (told.status, told.code) == (status, code)
    assert told.json["type"] == f"urn:rota:problem:{code}"
    assert told.json["instance"] == "/v1/x"
    assert "secret" not in told.body.decode()
    if status in (429, 503):
        assert int(told.headers["retry-after"]) >= told.json["retry_after_s"] > 0


@pytest.mark.usefixtures("place")
async def test_a_change_is_noted_whether_it_succeeds_or_not(server: Front) -> None:
    access = KnownKeys()

    async def fails(call: Call) -> Answer:
        raise TaskNotFound("x")

    found = [
        route("/v1/a", wish, takes=Wish, audit="a.do"),
        route("/v1/b", fails, audit="b.do", name="b_do"),
        route("/v1/c", wish, takes=Wish, name="c_do"),
    ]
    asker = Asker(Front(server.place, Table(found), access), "read")
    for path in ("/v1/a", "/v1/b", "/v1/c"):
        await asker.ask("POST", path)
    assert [(call.route.audit, type(error)) for call, _, error in access.left] == [
        ("a.do", type(None)),
        ("b.do", TaskNotFound),
    ]


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\0", "a\nb"])
async def test_no_answer_can_be_given_another_header(server: Front, value: str) -> None:
    async def say(call: Call) -> Answer:
        return Answer({}, headers=(("Location", value),))

    told = await asking(server, route("/v1/x", say)).ask("POST", "/v1/x")
    assert (told.status, told.code) == (500, "internal")
    assert "x-evil" not in told.headers


# -- room -----------------------------------------------------------------------------------------


async def test_more_calls_than_there_is_room_for_are_told_to_come_back(server: Front) -> None:
    go = asyncio.Event()

    async def wait(call: Call) -> Answer:
        await go.wait()
        return Answer({})

    found = [
        route("/v1/x", wait),
        route("/open", wish, roles=None, takes=Wish, name="open_do"),
    ]
    front = Front(server.place, Table(found), KnownKeys(), most=2)
    asker = Asker(front, "read")
    waiting = [asyncio.ensure_future(asker.ask("POST", "/v1/x")) for _ in range(2)]
    while front.in_flight < 2:  # noqa: ASYNC110 - they are on their way
        await asyncio.sleep(0)
    told = await asker.ask("POST", "/v1/x")
    assert (told.status, told.code, told.headers["retry-after"]) == (503, "busy", "1")
    assert (await asker.ask("POST", "/open")).status == 200, "health is told all the same"
    go.set()
    assert [one.status for one in await asyncio.gather(*waiting)] == [200, 200]
    assert (await asker.ask("POST", "/v1/x")).status == 200
    assert front.in_flight == 0


async def test_calls_that_only_wait_and_heartbeats_take_no_room(server: Front) -> None:
    """B130: thousands of workers that wait for work keep nobody out, and none of them its lease."""
    go = asyncio.Event()

    async def wait(call: Call) -> Answer:
        await go.wait()
        return Answer({})

    async def once(call: Call) -> Answer:
        return Answer({})

    vital = structs.replace(route("/v1/beat", once, name="beat_do"), vital=True)
    found = [route("/v1/x", wait), route("/v1/y", once, name="y_do"), vital]
    front = Front(server.place, Table(found), KnownKeys(), most=1)
    asker = Asker(front, "read")
    waiting = [asyncio.ensure_future(asker.ask("POST", "/v1/x"))]
    while not front.in_flight:  # noqa: ASYNC110 - it is on its way
        await asyncio.sleep(0)
    told = [(await asker.ask("POST", path)).status for path in ("/v1/y", "/v1/beat")]
    with server.place.waiting.place("line"):
        told.append((await asker.ask("POST", "/v1/y")).status)
    go.set()
    await asyncio.gather(*waiting)

    assert told == [503, 200, 200]
    assert server.place.patient == 0


async def test_a_server_that_stops_takes_no_more_calls(server: Front) -> None:
    asker = asking(server, route("/v1/x", wish, takes=Wish))
    server.place.draining = True
    told = await asker.ask("POST", "/v1/x")
    assert (told.status, told.code) == (503, "shutting_down")
    assert (told.headers["retry-after"], told.headers["connection"]) == ("1", "close")


async def test_calls_are_counted_by_the_path_of_their_route(server: Front) -> None:
    notes: list[tuple[str, str, int]] = []
    server.place.notes.append(lambda path, method, status, _: notes.append((path, method, status)))
    asker = asking(server, route(takes=Hello))
    await asker.ask("POST", "/v1/hello/me", {"name": "you"})
    await asker.ask("POST", "/v1/hello/you", {})
    await asker.ask("GET", "/v1/../etc/passwd")
    assert notes == [
        ("/v1/hello/{who}", "POST", 200),
        ("/v1/hello/{who}", "POST", 422),
        ("unmatched", "GET", 404),
    ]


# -- streams --------------------------------------------------------------------------------------


async def test_a_stream_ends_as_soon_as_its_reader_hangs_up(server: Front) -> None:
    ended: list[str] = []

    async def chunks() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            ended.append("chunks")

    async def listen(call: Call) -> Stream:
        return Stream(chunks(), "text/event-stream", ended=lambda: ended.append("ended"))

    asker = asking(server, route("/v1/x", listen, method="GET", stream=True))
    reading = asker.stream("/v1/x")
    assert await anext(reading) == b"first"
    await reading.aclose()
    assert ended == ["chunks", "ended"]
    assert (await asker.ask("HEAD", "/v1/x")).status == 405


async def test_a_stream_that_fails_is_ended_as_well(server: Front) -> None:
    ended: list[str] = []

    async def chunks() -> AsyncIterator[bytes]:
        yield b"first"
        raise Problem("conflict", "no more")

    async def listen(call: Call) -> Stream:
        return Stream(chunks(), "text/event-stream", ended=lambda: ended.append("ended"))

    asker = asking(server, route("/v1/x", listen, method="GET", stream=True))
    with pytest.raises(Problem):
        await asker.ask("GET", "/v1/x")
    assert ended == ["ended"]
