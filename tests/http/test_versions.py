"""This client at servers of other versions (http-and-cli.md §5, compatibility; R8.6)."""

from typing import Any

import msgspec
import pytest

from rota.backend import Report
from rota.clock import ManualClock
from rota.config import LEASE
from rota.errors import StoreError
from rota.http.backend import HttpBackend
from rota.http.failures import ServerAway, TooLarge, failure
from rota.http.link import Address
from rota.http.pulse import HttpPulse
from rota.model import Claimed, Note
from rota.policy.lifecycle import Completed, Ending, Released, Snoozed
from rota.policy.retry import Backoff
from tests.support.factories import NOW, Make
from tests.support.worker_v1 import (
    ANSWERS,
    BEAT,
    CLAIM,
    CLAIM_BY_FEATURE,
    FINISH,
    ID,
    OPEN,
    PROGRESS,
)


class Server:
    """A server that answers what a test says, and keeps what it was sent."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.most = 10**9

    def answer(self, path: str, body: bytes | None) -> bytes:
        verb = path.removeprefix("/v1/sessions").rpartition("/")[2]
        if len(body or b"") > self.most:
            raise failure(413, b"<html>too large", {}, "a proxy")
        sent = msgspec.json.decode(body or b"{}")
        self.sent.append((verb, sent))
        answer = self.answers[verb]
        if verb in ("finish", "progress"):
            (item,) = answer["items"]
            answer = {"items": [item | {"id": one["id"]} for one in sent["items"]]}
        return msgspec.json.encode(answer)

    async def ask(
        self, _method: str, path: str, body: bytes | None = None, *, seconds: float = 0
    ) -> bytes:
        return self.answer(path, body)


def client(server: Server) -> HttpBackend:
    backend = HttpBackend("http://server", "key", ManualClock(NOW))
    backend._link = server  # type: ignore[assignment]
    return backend


ENDINGS: list[Ending] = [Completed('{"sent":1}'), Snoozed(NOW + 5), Released()]


def reports(task: Claimed, *endings: Ending) -> list[Report]:
    return [Report(task, ending, Backoff(), seconds=0.5) for ending in endings]


async def worked(server: Server, make: Make) -> list[Claimed]:
    """Everything that a worker asks of a server."""
    backend = client(server)
    session = make.session(started_at=NOW, lease_until=NOW + LEASE)
    await backend.open_session(session)
    (task,) = (await backend.claim(session.id, ["sms"], 5, ["other"], spare=2)).tasks
    held = await backend.held(session.id)
    await backend.note(session.id, [Note(ID, 7, 1, 2, '{"at":1}')])
    await backend.finish(session.id, reports(task, *ENDINGS))
    pulse = HttpPulse(Address("http://server", "key"), backend.clock)
    pulse._ask = lambda method, path, body: server.answer(path, body)  # type: ignore[method-assign]
    pulse.beat(session.id, NOW, NOW + LEASE)
    await backend.close_session(session.id)
    return [task, *held]


async def test_a_server_of_the_first_version_is_understood(make: Make) -> None:
    """Its answers, as they were; what has come since has defaults."""
    one, other = await worked(Server(ANSWERS), make)

    assert one == other
    assert (one.id, one.fence, one.payload) == (ID, 7, '{"student_id":7}')


async def test_a_server_is_sent_only_what_it_said_it_knows(make: Make) -> None:
    """A field that it has not heard of would be refused."""
    server = Server(ANSWERS | {"": ANSWERS[""] | {"features": []}})
    await worked(server, make)
    sent = dict(server.sent)

    assert set(sent[""]) <= OPEN
    assert set(sent["claim"]) <= CLAIM
    assert set(sent["heartbeat"]) <= BEAT
    assert all(set(item) <= FINISH for item in sent["finish"]["items"])
    assert all(set(item) <= PROGRESS for item in sent["progress"]["items"])
    offered = Server(ANSWERS)
    await worked(offered, make)
    assert set(dict(offered.sent)["claim"]) == CLAIM | set(CLAIM_BY_FEATURE)


def grown(answer: Any) -> Any:
    """An answer with fields that nobody has heard of yet, at every depth but in payloads."""
    if isinstance(answer, list):
        return [grown(one) for one in answer]
    if not isinstance(answer, dict):
        return answer
    return {k: v if k == "payload" else grown(v) for k, v in answer.items()} | {"news": {"a": [1]}}


async def test_a_server_of_a_version_to_come_is_understood(make: Make) -> None:
    """Unknown fields are passed over, an unknown verdict is final, an unknown state a drain."""
    newer = {verb: grown(answer) for verb, answer in ANSWERS.items()}
    newer["finish"]["items"][0]["verdict"] = "merged"
    newer["heartbeat"]["state"] = "moving"
    server = Server(newer)
    await worked(server, make)

    backend = client(server)
    (task,) = (await backend.claim(ID, ["sms"], 5, ())).tasks
    assert await backend.finish(ID, reports(task, Completed(None))) == [False]
    pulse = HttpPulse(Address("http://server", "key"), backend.clock)
    pulse._ask = lambda method, path, body: server.answer(path, body)  # type: ignore[method-assign]
    beat = pulse.beat(ID, NOW, NOW + LEASE)
    assert (beat.alive, beat.drain) == (True, True)


# -- what stands between them -------------------------------------------------------------------


async def test_a_report_that_is_too_large_is_halved(make: Make) -> None:
    """413, often from a proxy with a bound of its own: in parts that fit."""
    server = Server(ANSWERS)
    backend = client(server)
    (task,) = (await backend.claim(ID, ["sms"], 5, ())).tasks
    server.most, server.sent = 1_000, []

    applied = await backend.finish(ID, reports(task, *[Completed('"' + "x" * 100 + '"')] * 50))

    assert applied == [True] * 50
    assert len(server.sent) == 16  # 50 fit in by threes and fours
    with pytest.raises(TooLarge):
        await backend.finish(ID, reports(task, Completed('"' + "x" * 2_000 + '"')))


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"items":[]}'], ids=["page", "empty", "few"])
async def test_an_answer_that_is_none_is_an_error_of_the_store(make: Make, body: bytes) -> None:
    """R3.7: whatever stands at that address, the worker lives on."""
    server = Server(ANSWERS)
    backend = client(server)
    (task,) = (await backend.claim(ID, ["sms"], 5, ())).tasks
    server.answer = lambda *_: body  # type: ignore[method-assign]

    with pytest.raises(StoreError, match="answers strangely"):
        await backend.finish(ID, reports(task, Completed(None)))
    if body != b'{"items":[]}':
        with pytest.raises(StoreError, match="answers strangely"):
            await backend.claim(ID, ["sms"], 5, ())


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (503, {"Retry-After": "2"}, 2.0),
        (429, {"Retry-After": "30"}, 30.0),
        (503, {}, 0.0),
        (503, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0.0),
        (503, {"Retry-After": "nan"}, 0.0),
    ],
)
def test_when_to_come_back_is_heard(status: int, headers: dict[str, str], wait: float) -> None:
    """http-and-cli.md §5: 429 and 503 say so."""
    error = failure(status, b'{"code":"rate_limited"}', headers, "the server")

    assert isinstance(error, ServerAway)
    assert error.retry_after == wait
