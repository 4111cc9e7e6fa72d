"""Bodies of requests: read under a bound and a timer, and of the type that the route takes (S8)."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from rota.server.asgi import Receive
from rota.server.deadlines import Deadlines, Wait
from rota.server.problems import Problem

READ_SECONDS = 10.0
"""A body that has not come whole by then is refused; the HTTP server itself has no such timer."""


def check_media(headers: Mapping[str, str], media: tuple[str, ...]) -> None:
    """Refuse a body of another type, without a type, or that is encoded: `Problem` 415."""
    given = headers.get("content-type", "")
    if given not in media:
        given = given.partition(";")[0].strip().lower()
        if given not in media:
            named = f"not {given:.80}" if given else "and name it in Content-Type"
            raise Problem("media_type", f"send {' or '.join(media)}, {named}")
    if headers.get("content-encoding", "identity") != "identity":
        raise Problem("media_type", "send the body as it is, without Content-Encoding")


def has_body(headers: Mapping[str, str]) -> bool:
    """Say whether a request brings a body."""
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


class Body:
    """The body of one request, read once."""

    def __init__(
        self, receive: Receive, headers: Mapping[str, str], most: int, deadlines: Deadlines
    ) -> None:
        self._receive = receive
        self._most = most
        self._deadlines = deadlines
        self._over = False
        self._size = 0
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > most):
            raise self._too_large()

    async def whole(self) -> bytes:
        """Return the body; `Problem` 413 or 408 if it is too large or too slow."""
        wait = self._deadlines.begin(READ_SECONDS)
        try:
            pieces = []
            while not self._over:
                pieces.append(await self._piece(wait))
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        finally:
            self._deadlines.end(wait)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes."""
        wait = self._deadlines.begin(READ_SECONDS)
        try:
            while not self._over:
                yield await self._piece(wait)
        finally:
            self._deadlines.end(wait)

    async def _piece(self, wait: Wait) -> bytes:
        wait.armed = True
        try:
            message = await self._receive()
        except asyncio.CancelledError:
            if not wait.over:
                raise
            if wait.task is not None:
                wait.task.uncancel()
            raise Problem(
                "request_timed_out", f"the body did not come whole within {READ_SECONDS:g} s"
            ) from None
        wait.armed = False
        if message["type"] == "http.disconnect":
            raise Problem("unreadable", "the caller hung up")
        piece: bytes = message.get("body", b"")
        self._size += len(piece)
        if self._size > self._most:
            raise self._too_large()
        self._over = not message.get("more_body", False)
        return piece

    async def gone(self) -> None:
        """Wait until the caller has hung up."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def _too_large(self) -> Problem:
        return Problem("too_large", f"at most {self._most:,} bytes fit; send fewer at a time")
