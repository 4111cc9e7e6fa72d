"""Load on a server: requests over kept connections, from one thread that does next to nothing."""

import select
import socket
import time
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from msgspec import Struct

_END = b"\r\n\r\n"
_LENGTH = b"content-length: "
READ = 1 << 16
SILENT_SECONDS = 30.0


class Load(Struct):
    """What was answered in how many seconds, and how long each answer took."""

    answers: int
    seconds: float
    waits: list[float]


class _Line:
    """One connection: at most one request at a time."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.asked = 0.0
        self._got = b""

    def ask(self, request: bytes) -> None:
        """Send a request."""
        self.asked = time.perf_counter()
        self.socket.sendall(request)

    def answered(self) -> bytes | None:
        """Read what came; return the status line once the answer is whole."""
        came = self.socket.recv(READ)
        if not came:
            raise RuntimeError("the server closed a connection that was in use")
        self._got = got = self._got + came if self._got else came
        end = got.find(_END)
        if end < 0:
            return None
        at = got.find(_LENGTH, 0, end)
        length = 0 if at < 0 else int(got[at + len(_LENGTH) : got.find(b"\r\n", at)])
        if len(got) < end + len(_END) + length:
            return None
        self._got = b""
        return got[: got.find(b"\r\n")]


def request(url: str, token: str, path: str, body: bytes, method: str = "POST") -> bytes:
    """Return a request with a body, as it is sent."""
    host = urlsplit(url).netloc
    return (
        f"{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode() + body


def press(url: str, requests: Iterator[bytes], connections: int, wanted: bytes) -> Load:
    """Send every request over so many connections, each as soon as the last was answered.

    An answer of another status than `wanted` is an error: a rate of refusals is no rate.
    """
    address = urlsplit(url)
    lines = [_Line(address.hostname or "", address.port or 80) for _ in range(connections)]
    poll = select.epoll()
    by_number = {line.socket.fileno(): line for line in lines}
    waits: list[float] = []
    began = time.perf_counter()
    open_ = 0
    for line in lines:
        if (one := next(requests, None)) is not None:
            poll.register(line.socket.fileno(), select.EPOLLIN)
            line.ask(one)
            open_ += 1
    while open_:
        ready: Sequence[tuple[int, int]] = poll.poll(SILENT_SECONDS)
        if not ready:
            raise RuntimeError(f"no answer for {SILENT_SECONDS:g} s")
        for number, _ in ready:
            line = by_number[number]
            status = line.answered()
            if status is None:
                continue
            if wanted not in status:
                raise RuntimeError(f"answered {status!r} instead of {wanted!r}")
            waits.append(time.perf_counter() - line.asked)
            if (one := next(requests, None)) is not None:
                line.ask(one)
            else:
                open_ -= 1
    seconds = time.perf_counter() - began
    for line in lines:
        line.socket.close()
    poll.close()
    return Load(len(waits), seconds, waits)
