"""The connection of one caller: what it may hold of the server before it says who it is (S8).

uvicorn waits for a request for ever, and takes headers of any size. Here a request whose headers do
not come whole in time is given up, and so is a connection that does not begin one; and there are no
more connections than the process has files for.
"""

import asyncio
import resource
from functools import cache
from typing import Any, Final, cast

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rota.server.joined import Joined

HEAD_SECONDS: Final = 10.0
"""From its first byte the head of a request comes whole within so long, or never."""
HEAD_BYTES: Final = 64 * 1024
"""Beyond this no more of a head is read; what one piece brings at once may be a little more."""
FILES_ELSEWHERE: Final = 200
"""So many files are left for the store, logs and what else a process opens."""
_WORDS: Final = {
    400: ("Bad Request", "unreadable", "this is no request in HTTP/1.1"),
    431: (
        "Request Header Fields Too Large",
        "too_large",
        f"the headers of a request have at most {HEAD_BYTES:,} bytes",
    ),
}


class Line(HttpToolsProtocol):
    """uvicorn's protocol on such a transport, with bounds on what comes before a call."""

    _deadline: asyncio.TimerHandle | None = None
    _heading = False
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, Joined(transport)))
        if len(self.connections) > connections_most():
            transport.abort()
            return
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._heading:
            self._head += len(data)
            if self._head > HEAD_BYTES:
                self._refuse(431)
        cycle: Any = self.cycle  # None until there was a request, whatever its type says
        if cycle is not None and not cycle.response_complete:
            self._disarm()
        else:
            # Also of a request that was answered before its body came whole the rest comes in time.
            self._arm()

    def on_message_begin(self) -> None:
        self._heading, self._head = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._heading = False
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's own words
        self._refuse(400)

    def _refuse(self, status: int) -> None:
        word, code, detail = _WORDS[status]
        told: dict[str, Any] = {"title": word, "status": status, "code": code, "detail": detail}
        body = msgspec.json.encode(told)
        head = (
            f"HTTP/1.1 {status} {word}\r\nContent-Type: application/problem+json\r\n"
            f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _arm(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        self.transport.close()


@cache
def connections_most() -> int:
    """Return how many connections a process may have: what its limit of files leaves."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1_000_000 if files == resource.RLIM_INFINITY else max(files - FILES_ELSEWHERE, 32)
