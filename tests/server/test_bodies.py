"""Bodies of requests: of the right type, whole, in time, and not too large (S8, B157)."""

import asyncio
from typing import Any

import pytest

from rota.access import Role
from rota.clock import ManualClock
from rota.server.body import READ_SECONDS
from rota.server.front import Front
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.table import Table
from tests.support.asking import Asker, KnownKeys, Told

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


class Box(In, frozen=True):
    content: Any
    name: str = ""


class Loose(In, frozen=True):
    reason: str | None = None


async def keep(call: Call) -> Answer:
    return Answer({"content": call.body.content})


async def loose(call: Call) -> Answer:
    return Answer({"reason": call.body.reason})


async def count(call: Call) -> Answer:
    assert call.raw is not None
    return Answer({"bytes": sum([len(chunk) async for chunk in call.raw])})


def _route(path: str, run: Any, **more: Any) -> Route:
    return Route(
        method="POST", path=path, name=f"box_{path[1:]}", summary="", run=run,
        roles=roles(Role.READ), tag="tests", **more,
    )  # fmt: skip


@pytest.fixture
def asker(server: Front) -> Asker:
    found = [
        _route("/box", keep, takes=Box, most=1_000),
        _route("/loose", loose, takes=Loose),
        _route("/raw", count, takes=Box, raw=True, most=1_000),
    ]
    return Asker(Front(server.place, Table(found), KnownKeys()), "read")


async def send(asker: Asker, raw: bytes | list[bytes], path: str = "/box", **headers: str) -> Told:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return await asker.ask("POST", path, raw=raw, headers=sent)


GOOD = b'{"content": 1}'


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("application/json", 200), ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200), ("text/plain", 415), ("", 415), ("text/json", 415),
        ("application/x-www-form-urlencoded", 415), ("multipart/form-data; boundary=x", 415),
        ("application/x-ndjson", 415), ("application/jsonp", 415), ("application/*", 415),
    ],
)  # fmt: skip
async def test_a_body_is_json_and_says_so(asker: Asker, given: str, status: int) -> None:
    """B172: a form of a stranger's page can send text/plain, and never JSON."""
    told = await send(asker, GOOD, content_type=given)
    assert told.status == status
    assert told.code == (None if status == 200 else "media_type")


@pytest.mark.parametrize("path", ["/box", "/raw"])
async def test_an_encoded_body_is_refused(asker: Asker, path: str) -> None:
    assert (await send(asker, GOOD, path, content_encoding="gzip")).status == 415
    assert (await send(asker, GOOD, path, content_encoding="identity")).status == 200


UNREADABLE = {
    "nothing": b"", "half": b'{"content": ', "two": b'{"content": 1} {}', "words": b"hello",
    "not a number": b'{"content": NaN}', "infinite": b'{"content": Infinity}',
    "bad UTF-8": b'{"content": "\xff"}', "bad UTF-8 in a name": b'{"\xc3\x28": 1}',
    "UTF-16": '{"content": 1}'.encode("utf-16"), "a mark before it": b"\xef\xbb\xbf{}",
    "a lone surrogate": b'{"content": "\\ud800"}', "a bare NUL": b'{"content": "\x00"}',
    "100,000 levels": b'{"content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}  # fmt: skip


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
async def test_what_cannot_be_read_is_refused(server: Front, body: bytes) -> None:
    asker = Asker(Front(server.place, Table([_route("/box", keep, takes=Box)]), KnownKeys()))
    told = await send(asker.using("read"), body)
    assert (told.status, told.code) == (400, "unreadable")


UNFIT = {
    "a list": (b"[]", ""), "null": (b"null", ""), "a field that is missing": (b"{}", "/content"),
    "a field that is unknown": (b'{"content": 1, "x": 2}', "/x"),
    "a number for text": (b'{"content": 1, "name": 7}', "/name"),
    "NUL in a text": (b'{"content": 1, "name": "\\u0000"}', "/name"),
    "NUL deep inside": (b'{"content": [1, {"a": "\\u0000"}]}', "/content/1/a"),
    "NUL in a name": (b'{"content": {"\\u0000": 1}}', "/content"),
    "a number without end": (b'{"content": 1e400}', "/content"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "pointer"), UNFIT.values(), ids=UNFIT)
async def test_what_does_not_fit_is_named(asker: Asker, body: bytes, pointer: str) -> None:
    told = await send(asker, body)
    assert (told.status, told.code) == (422, "validation_failed")
    assert told.json["errors"][0]["pointer"] == pointer


async def test_of_a_name_that_comes_twice_the_last_counts(asker: Asker) -> None:
    """As in docs/reference/http.md: what is read here is what is stored."""
    assert (await send(asker, b'{"content": 1, "content": 2}')).json == {"content": 2}


async def test_a_backslash_before_u0000_is_no_nul(asker: Asker) -> None:
    assert (await send(asker, b'{"content": "\\\\u0000"}')).json == {"content": "\\u0000"}


async def test_a_body_may_be_left_out_if_nothing_in_it_is_needed(asker: Asker) -> None:
    assert (await asker.ask("POST", "/loose")).json == {"reason": None}
    assert (await asker.ask("POST", "/loose", {"reason": "x"})).json == {"reason": "x"}
    assert (await asker.ask("POST", "/box")).status == 415


# -- how large, how fast --------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/box", "/raw"])
async def test_a_body_over_the_bound_is_refused_however_it_comes(asker: Asker, path: str) -> None:
    """With the length told before, or in pieces without end."""
    fits = b'{"content": "%s"}' % (b"x" * (1_000 - 15))
    assert len(fits) == 1_000
    assert (await send(asker, fits, path)).status == 200
    for pieces in ([fits + b" "], [b" "] * 1_001, [fits, b" ", b" "]):
        told = await send(asker, pieces, path)
        assert (told.status, told.code) == (413, "too_large")
    for length in ("1001", "9" * 30):
        told = await send(asker, GOOD, path, content_length=length)
        assert (told.status, told.code) == (413, "too_large")


@pytest.mark.parametrize("path", ["/box", "/raw"])
async def test_a_body_that_trickles_is_given_up(
    server: Front, asker: Asker, clock: ManualClock, path: str
) -> None:
    """S8: whoever sends a byte now and then holds nothing for long."""
    pieces: asyncio.Queue[bytes] = asyncio.Queue()
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": await pieces.get(), "more_body": True}

    async def note(message: Any) -> None:
        sent.append(message)

    scope = asker._scope("POST", path, {}, True)
    call = asyncio.ensure_future(asker._application(scope, receive, note))
    for _ in range(int(READ_SECONDS) + 2):
        pieces.put_nowait(b" ")
        for _ in range(10):
            await asyncio.sleep(0)
        clock.advance(1)
    await call
    assert sent[0]["status"] == 408
    assert b"request_timed_out" in sent[1]["body"]


async def test_a_caller_who_hangs_up_halfway_leaves_nothing_behind(
    server: Front, asker: Asker
) -> None:
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": b'{"con', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def note(message: Any) -> None:
        sent.append(message)

    await asker._application(asker._scope("POST", "/box", {}, True), receive, note)
    assert sent[0]["status"] == 400
    assert asker._application.in_flight == 0
