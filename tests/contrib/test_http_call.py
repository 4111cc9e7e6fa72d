"""The kind `http`: what is sent, and what a reply means (R8.2, R4.2, S4, S5)."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rota import Rota
from rota.clock import new_rng
from rota.config import SECOND
from rota.contrib._addresses import Reach
from rota.contrib._fetch import READ_BYTES, SHOWN_BYTES
from rota.contrib._signature import verify
from rota.contrib.http_call import add_http
from rota.errors import ConfigurationError, Fail, Retry
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from tests.contrib.calling import SECRET, SLOT, Caller
from tests.support.hooks import answer, receiver

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@asynccontextmanager
async def serving(serve: Any) -> AsyncIterator[int]:
    """Answer as a test wants it, on a port of this machine."""
    over = asyncio.Event()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await serve(reader, writer)
        writer.close()
        over.set()

    server = await asyncio.start_server(one, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await over.wait()


# -- what is sent ---------------------------------------------------------------------------------


async def test_a_success_completes_with_status_and_text(call: Caller) -> None:
    async with receiver(answer(201, b"made\xff")) as there:
        result = await call.to(there, json={"a": 1})

    assert result == {"status": 201, "text": "made\ufffd", "cut": False}
    (got,) = there.got
    assert (got.method, got.path, got.body) == ("POST", "/hook", b'{"a":1}')
    assert got.headers["content-type"] == "application/json"


async def test_the_headers_say_which_run_it_is(call: Caller) -> None:
    """R3.3, R3.5, R9.3"""
    told = msgspec.json.encode({"traceparent": TRACE, "other": "x"}).decode()
    async with receiver() as there:
        await call.to(there, headers={"X-Own": "1"}, task_headers=told)

    (got,) = there.got
    assert got.method == "GET"
    assert (
        got.headers.items()
        >= {
            "idempotency-key": '"task-1"',
            "rota-task": "task-1",
            "rota-attempt": "3",
            "rota-fence": "1",
            "rota-scheduled-at": "2027-01-15T08:00:00.000000Z",
            "rota-deadline": "2027-01-15T08:00:30.000000Z",
            "traceparent": TRACE,
            "x-own": "1",
            "host": f"127.0.0.1:{there.port}",
        }.items()
    )
    assert not got.headers.keys() & {"cookie", "authorization", "other", "webhook-signature"}


async def test_the_very_bytes_that_are_sent_are_signed(call: Caller) -> None:
    """S5: Standard Webhooks; the secret is named, and never part of task or result."""
    async with receiver() as there:
        result = await call.to(there, json={"ü": [1, 2.5]}, secret="shop", envelope=True)

    (got,) = there.got
    assert verify(SECRET, got.headers, got.body, SLOT // SECOND) == "task-1"
    assert msgspec.json.decode(got.body) == {
        "task": "task-1",
        "attempt": 3,
        "fence": 1,
        "scheduled_at": "2027-01-15T08:00:00.000000Z",
        "deadline": "2027-01-15T08:00:30.000000Z",
        "data": {"ü": [1, 2.5]},
    }
    assert SECRET not in repr(result)


async def test_a_secret_that_this_worker_lacks_may_be_another_ones(call: Caller) -> None:
    with pytest.raises(Retry, match="set ROTA_SECRET_BANK where it runs"):
        await call("http://example.com/", secret="bank")


async def test_a_bad_secret_is_told_without_it(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S11"""
    monkeypatch.setenv("ROTA_SECRET_SHOP", "canary-secret")
    with pytest.raises(Fail, match="shop: the secret must be whsec_") as failed:
        await call("http://example.com/", secret="shop")
    assert "canary" not in str(failed.value)


BAD_HEADERS = [
    {"X-A": "a\r\nHost: b"},
    {"X-A": "a\nb"},
    {"X-A": "a\x00b"},
    {"X-A": "ä"},
    {"X-A\r\nB": "c"},
    {"X A": "b"},
    {"": "b"},
    {"X:": "b"},
    {"Host": "internal"},
    {"HOST": "internal"},
    {"Content-Length": "5"},
    {"Connection": "close"},
    {"transfer-encoding": "chunked"},
    {"Webhook-Signature": "v1,x"},
    {"Rota-Fence": "99"},
    {"Proxy-Authorization": "x"},
    {"Upgrade": "h2c"},
    {"X-A": "1", "x-a": "2"},
    {f"X-{n}": "1" for n in range(40)},
    {"X-A": "a" * 5_000},
]


@pytest.mark.parametrize("headers", BAD_HEADERS, ids=range(len(BAD_HEADERS)))
async def test_headers_that_break_out_or_are_not_the_callers_are_refused(
    call: Caller, headers: dict[str, str]
) -> None:
    """S4: nothing is sent, and values are not told."""
    async with receiver() as there:
        with pytest.raises(Fail, match="header"):
            await call.to(there, headers=headers)
        assert there.got == []


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"json": 1, "body": "x"}, "either json or body"),
        ({"method": "CONNECT"}, "method must be one of"),
        ({"method": "GET\r\nX: y"}, "method must be one of"),
        ({"follow": 4}, "follow must lie between 0 and 3"),
        ({"timeout": 0}, "timeout must be above 0"),
        ({"timeout": float("nan")}, "timeout must be above 0"),
        ({"secret": "../PATH"}, "cannot be the name of a secret"),
    ],
)
async def test_what_can_never_be_sent_fails_for_good(
    call: Caller, given: dict[str, Any], problem: str
) -> None:
    with pytest.raises(Fail, match=problem):
        await call("http://example.com/", **given)


# -- what a reply means ---------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
async def test_what_may_work_another_time_is_tried_again(call: Caller, status: int) -> None:
    """R4.2"""
    async with receiver(answer(status, b"busy")) as there:
        with pytest.raises(Retry, match=f"{status} from http://127.0.0.1:.*/hook\nbusy") as again:
            await call.to(there)
    assert again.value.least is None


@pytest.mark.parametrize("status", [301, 304, 307, 400, 401, 403, 404, 410, 422, 501, 505])
async def test_what_will_not_work_is_a_dead_letter_at_once(call: Caller, status: int) -> None:
    """R4.2"""
    said = b"" if status == 304 else b"no"
    async with receiver(answer(status, said, Location="http://example.com/")) as there:
        with pytest.raises(Fail, match=f"{status} from .*/hook"):
            await call.to(there)
        assert len(there.got) == 1


@pytest.mark.parametrize(
    ("told", "least"),
    [
        ("7", 7.0),
        ("86400", 3600.0),
        ("Fri, 15 Jan 2027 08:02:00 GMT", 120.0),
        ("Fri, 15 Jan 2026 08:02:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("9" * 5_000, 3600.0),
    ],
)
async def test_a_servers_retry_after_is_a_floor(
    call: Caller, told: str, least: float | None
) -> None:
    """R4.2: seconds or a date, an hour at most."""
    async with receiver(answer(503, Retry_After=told)) as there:
        with pytest.raises(Retry) as again:
            await call.to(there)
    assert again.value.least == least


async def test_an_address_is_told_without_its_query(call: Caller) -> None:
    """S11: there may be a secret in it."""
    async with receiver(answer(404)) as there:
        with pytest.raises(Fail) as failed:
            await call(f"{there.url}?token=canary", reach=Reach.of(["127.0.0.1"], [there.port]))
    assert "canary" not in str(failed.value)


async def test_only_the_start_of_a_body_is_read_and_kept(call: Caller) -> None:
    """S4: however much comes, memory and result stay small."""
    body = b"first" + b"x" * (4 * READ_BYTES)
    async with receiver(answer(200, body)) as there:
        result = await call.to(there)

    assert result["cut"]
    assert result["text"].startswith("firstxxx")
    assert len(result["text"]) <= SHOWN_BYTES


async def test_no_answer_in_time_is_tried_again(call: Caller) -> None:
    """S4: the whole exchange is bounded; a body that trickles in is as well."""

    async def trickle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with serving(trickle) as port:
        with pytest.raises(Retry, match=r"no answer within 0\.1 s"):
            await call(
                f"http://127.0.0.1:{port}/", reach=Reach.of(["127.0.0.1"], [port]), timeout=0.1
            )


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", b"rubbish"]
)
async def test_a_connection_that_breaks_is_tried_again(call: Caller, said: bytes) -> None:
    async with receiver(said) as there:
        with pytest.raises(Retry):
            await call.to(there)


async def test_nobody_there_and_a_name_that_is_not_known_are_tried_again(call: Caller) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Retry, match="ClientConnectorError"):
        await call(f"http://127.0.0.1:{port}/", reach=Reach.of(["127.0.0.1"], [port]))
    with pytest.raises(Retry, match="no-such"):
        await call("http://no-such.example/")


async def test_a_failure_of_tls_is_a_dead_letter(call: Caller) -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 this is no TLS\r\n\r\n")

    async with serving(plain) as port:
        with pytest.raises(Fail, match="TLS failed"):
            await call(f"https://127.0.0.1:{port}/", reach=Reach.of(["127.0.0.1"], [port]))


# -- the kind -------------------------------------------------------------------------------------


def test_an_app_knows_the_kind_once_and_adds_to_its_reach() -> None:
    app = Rota("sqlite:///unused.db")
    first = add_http(app, reach=Reach.of(["10.0.0.0/8"]), queue="calls")
    second = add_http(app, reach=Reach.of(ports=[8080]))

    kind = app.registry["http"]
    assert kind.opt_in
    assert kind.queue == "calls"
    assert first.kind is second.kind
    reach = kind.handler.line.reach  # type: ignore[attr-defined]
    assert len(reach.networks) == 1
    assert 8080 in reach.ports
    assert first.bind(url="https://example.com/", json={"a": 1}).payload


async def test_a_worker_calls_only_if_it_allows_that(tmp_path: Path) -> None:
    """R8.2, S4: submitting needs no leave, running does."""
    app = Rota(f"sqlite:///{tmp_path / 'rota.db'}")
    app.task(name="other")(lambda: None)
    async with receiver() as there:
        call = add_http(app, reach=Reach.of(["127.0.0.1"], [there.port]))
        called = await call.asubmit(url=there.url, json={"a": 1})
        for allow, until in (((), await app.asubmit("other", {})), (("http",), called)):
            worker = Worker(
                app.registry, app.connect(), WorkerSettings(allow=allow), rng=new_rng(1)
            )
            running = asyncio.create_task(worker.run())
            result = await app.tasks.aresult(until.id, timeout=60)
            worker.drain()
            await running
            assert len(there.got) == len(allow)
    app.close()
    assert result == {"status": 200, "text": "ok", "cut": False}


def test_a_task_of_the_apps_own_with_that_name_stays() -> None:
    app = Rota("sqlite:///unused.db")
    app.task(name="http")(lambda: None)

    with pytest.raises(ConfigurationError, match="has a task 'http' of its own"):
        add_http(app)
