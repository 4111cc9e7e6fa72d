"""The heartbeat's own line: what an answer means for the session (R3.2, case B130)."""

import http.client
from email.message import Message
from typing import Any

import msgspec
import pytest

from rota.clock import ManualClock
from rota.config import LEASE, SECOND
from rota.errors import AccessRefused, StoreUnavailable
from rota.http.link import Address
from rota.http.pulse import HttpPulse
from rota.times import show_instant
from tests.support.factories import NOW
from tests.support.worker_v1 import ANSWERS

ID = "0193f29f-0000-7000-8000-000000000001"
GONE = b'{"code":"session_gone","detail":"it is over"}'
BEATEN = msgspec.json.encode(
    ANSWERS["heartbeat"] | {"server_time": show_instant(NOW + 7 * SECOND), "cancel": []}
)


class Line:
    """A connection that answers what a test says; None is a link that breaks."""

    def __init__(self, *answers: tuple[int, bytes] | None) -> None:
        self.answers = list(answers)
        self.closed = 0

    def request(self, *_: Any) -> None: ...

    def getresponse(self) -> Any:
        answer = self.answers.pop(0)
        if answer is None:
            raise http.client.RemoteDisconnected("cut")
        self.status, self._body = answer
        self.headers = Message()
        return self

    def read(self) -> bytes:
        return self._body

    def close(self) -> None:
        self.closed += 1


def pulse(line: Line) -> HttpPulse:
    made = HttpPulse(Address("http://server", "key"), ManualClock(NOW))
    made._line = line  # type: ignore[assignment]
    return made


@pytest.mark.parametrize(
    ("answer", "alive"),
    [((200, BEATEN), True), ((410, GONE), False), ((404, b"<html>"), False)],
    ids=["heard", "over", "unknown"],
)
def test_a_session_that_is_over_is_told_as_not_alive(
    answer: tuple[int, bytes], alive: bool
) -> None:
    """R3.2: a worker that was taken for dead stops its tasks; nothing is raised for it."""
    beat = pulse(Line(answer)).beat(ID, NOW, NOW + LEASE)
    assert (beat.alive, beat.cancels, beat.drain) == (alive, (), False)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, StoreUnavailable),
        ((503, b"{}"), StoreUnavailable),
        ((200, b"<html>"), StoreUnavailable),
        ((401, b"{}"), AccessRefused),
    ],
    ids=["cut", "away", "strange", "refused"],
)
def test_what_is_no_answer_says_nothing_of_the_session(
    answer: tuple[int, bytes] | None, error: type[Exception]
) -> None:
    """R3.7: it may be alive still, so the worker goes on until its lease is over."""
    line = Line(answer)
    with pytest.raises(error):
        pulse(line).beat(ID, NOW, NOW + LEASE)
    assert line.closed == (answer is None)


def test_the_time_is_the_server_s_from_the_first_beat_on() -> None:
    """Deadlines are told in the server's time: this computer's clock may be wrong."""
    made = pulse(Line((200, BEATEN)))
    assert made.clock() == NOW
    made.beat(ID, NOW, NOW + LEASE)
    assert made.clock() == NOW + 7 * SECOND
