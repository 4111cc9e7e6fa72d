"""What a caller may hold of a server before it says who it is: time, memory, connections (S8)."""

import asyncio
import resource
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest
import uvicorn
from uvicorn.server import ServerState

from rota.clock import ManualClock
from rota.engine import Engine
from rota.server import line
from rota.server.endings import OF_ONE_MOST
from rota.server.front import ONCE, Front
from rota.server.line import HEAD_BYTES, HEAD_SECONDS, Line
from tests.server.doors import ON_SQLITE
from tests.support.factories import Make

HEAD = b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n"


class Transport:
    """A connection that keeps what is sent."""

    def __init__(self) -> None:
        self.sent = b""
        self.closed = False

    def write(self, data: bytes) -> None:
        self.sent += data

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        self.sent += b"".join(pieces)

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, _: str) -> None:
        return None

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Timers:
    """A loop whose timers go off when the test says so."""

    def __init__(self) -> None:
        self.set: dict[int, tuple[float, Callable[[], None]]] = {}
        self._count = 0

    def call_later(self, seconds: float, do: Callable[[], None], *_: Any) -> Any:
        self._count += 1
        number = self._count
        self.set[number] = (seconds, do)

        class Handle:
            def cancel(handle) -> None:  # noqa: N805 - `self` is the loop
                self.set.pop(number, None)

        return Handle()

    def create_task(self, work: Any, **_: Any) -> Any:
        return asyncio.get_running_loop().create_task(work)

    def go_off(self, seconds: float) -> None:
        for number, (after, do) in list(self.set.items()):
            if after <= seconds:
                del self.set[number]
                do()


class Opened:
    """A connection to a server that answers 200 once it is let."""

    def __init__(self, state: ServerState | None = None) -> None:
        self.let = asyncio.Event()
        config = uvicorn.Config(
            self._answer, http=Line, ws="none", lifespan="off", log_config=None, interface="asgi3",
            proxy_headers=False,
        )  # fmt: skip
        config.load()
        self.timers, self.transport = Timers(), Transport()
        self.line = Line(config, state or ServerState(), {}, cast(Any, self.timers))
        self.line.connection_made(cast(Any, self.transport))

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        await self.let.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"yes"})

    @property
    def waited_for(self) -> list[float]:
        """How long the timers are that are set."""
        return [after for after, _ in self.timers.set.values()]

    async def answered(self) -> None:
        self.let.set()
        for _ in range(5):
            await asyncio.sleep(0)


BEGINNINGS = {"nothing": b"", "a word": b"GE", "half a head": HEAD, "a header": HEAD + b"X: aaa"}


@pytest.mark.parametrize("sent", BEGINNINGS.values(), ids=BEGINNINGS)
async def test_who_does_not_finish_a_head_in_time_is_given_up(sent: bytes) -> None:
    """Slow heads hold connections for nothing; each piece more does not put it off."""
    opened = Opened()
    for _ in range(3):
        opened.line.data_received(sent)
        sent = b"a" if sent else b""
    assert opened.waited_for == [HEAD_SECONDS]

    opened.timers.go_off(HEAD_SECONDS)
    assert opened.transport.closed


async def test_a_request_that_is_whole_is_given_its_time() -> None:
    """However long a claim waits: no timer of the head is left."""
    opened = Opened()
    opened.line.data_received(HEAD)
    opened.line.data_received(b"\r\n")
    await asyncio.sleep(0)
    assert opened.waited_for == []

    await opened.answered()
    assert b"200" in opened.transport.sent
    assert HEAD_SECONDS not in opened.waited_for  # it is kept for the next one
    assert not opened.transport.closed
    opened.line.data_received(HEAD)
    assert HEAD_SECONDS in opened.waited_for


async def test_the_rest_of_a_body_that_nobody_reads_comes_in_time_or_not_at_all() -> None:
    """After a refusal the caller may not go on for ever, a byte at a time."""
    opened = Opened()
    opened.line.data_received(HEAD + b"Content-Length: 1000000\r\n\r\n")
    await opened.answered()
    opened.line.data_received(b"x")
    opened.line.data_received(b"x")

    opened.timers.go_off(HEAD_SECONDS)
    assert opened.transport.closed


@pytest.mark.parametrize("busy", [False, True], ids=["first", "behind another"])
async def test_a_head_without_end_is_refused(busy: bool) -> None:
    """Memory stays small, whoever sends it, and whatever else goes on there."""
    opened = Opened()
    if busy:
        opened.line.data_received(HEAD + b"\r\n")
    opened.line.data_received(HEAD)
    for _ in range(HEAD_BYTES // 1024 + 1):
        if not opened.transport.closed:
            opened.line.data_received(b"X: " + b"a" * 1022 + b"\r\n")
    await asyncio.sleep(0)

    assert opened.transport.closed
    assert opened.transport.sent.startswith(b"HTTP/1.1 431 ")
    assert problem(opened)["code"] == "too_large"
    await opened.answered()


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n",
        HEAD + b"Transfer-Encoding: xchunked\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length : 1\r\n\r\n",
        HEAD + b"X: a\0b\r\n\r\n",
        HEAD + b"X: a\r\n b\r\n\r\n",
        HEAD.replace(b"\r\n", b"\n") + b"\n",
    ],
)
async def test_what_could_be_read_in_two_ways_is_refused(sent: bytes) -> None:
    """Smuggling: a proxy in front must not see another request in it than this server."""
    opened = Opened()
    opened.line.data_received(sent)
    await asyncio.sleep(0)

    assert opened.transport.closed
    assert opened.transport.sent.startswith(b"HTTP/1.1 400 ")
    assert problem(opened)["code"] == "unreadable"


async def test_there_are_no_more_connections_than_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store opens files, too: who comes beyond that is turned away."""
    monkeypatch.setattr(line, "connections_most", lambda: 3)
    state = ServerState()
    opened = [Opened(state) for _ in range(5)]

    assert [one.transport.closed for one in opened] == [False] * 3 + [True] * 2
    opened[0].line.connection_lost(None)
    for one in opened[3:]:
        one.line.connection_lost(None)
    assert not Opened(state).transport.closed
    assert opened[0].waited_for == []


def test_a_process_leaves_files_for_its_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, most in ((1024, 824), (20_000, 19_800), (64, 32)):
        line.connections_most.cache_clear()
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=limit: (soft, soft))
        assert line.connections_most() == most
    line.connections_most.cache_clear()


def problem(opened: Opened) -> Any:
    return msgspec.json.decode(opened.transport.sent.rpartition(b"\r\n\r\n")[2])


# -- what the application itself sees to ----------------------------------------------------------


@ON_SQLITE
@pytest.mark.parametrize("name", sorted(ONCE))
async def test_a_header_that_counts_once_is_not_sent_twice(server: Front, name: bytes) -> None:
    """Of two a proxy may believe the first one, and this server the last."""
    sent: list[Any] = []
    headers = [(b"host", b"localhost"), (b"authorization", b"Bearer admin")]
    twice = [(name, b"localhost"), (name, b"evil.example")]
    scope = {
        "type": "http", "method": "GET", "path": "/v1/me", "raw_path": b"/v1/me",
        "query_string": b"", "client": ("127.0.0.1", 1),
        "headers": [*(one for one in headers if one[0] != name), *twice],
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await server(scope, receive, send)
    assert sent[0]["status"] == 400
    assert name in sent[1]["body"]


@ON_SQLITE
async def test_one_key_does_not_take_every_place_to_wait(
    server: Front, engine: Engine, clock: ManualClock
) -> None:
    """S8: its further calls are answered as things stand, and others wait as ever."""
    task = Make(5).task(queue="sms", tenant="board")
    await engine.submit([task])
    waits = [
        asyncio.ensure_future(server.place.endings.wait(task.id, 30, "greedy"))
        for _ in range(OF_ONE_MOST)
    ]
    await asyncio.sleep(0)

    await asyncio.wait_for(server.place.endings.wait(task.id, 30, "greedy"), 5)
    other = asyncio.ensure_future(server.place.endings.wait(task.id, 30, "other"))
    await asyncio.sleep(0)
    assert not other.done()

    server.place.endings.drain()
    await asyncio.gather(other, *waits)
    assert not server.place.endings.waiting
