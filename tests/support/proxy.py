"""A proxy before PostgreSQL that breaks links where it hurts: after the work, before the answer."""

import asyncio
import socket
import struct
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")
Matches = Callable[[str], bool]

HOST = "127.0.0.1"
CHUNK = 65536
SSL_REQUEST = 80877103
TERMINATE = b"X"
TURNS = 4
"""So many turns of the loop are enough for its transports to close."""


class Messages:
    """Cuts a stream of PostgreSQL's protocol into messages: a letter, a length, a body."""

    def __init__(self) -> None:
        self._bytes = b""

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Take in bytes and yield the messages that are whole by now."""
        self._bytes += data
        while len(self._bytes) >= 5:
            end = 1 + int.from_bytes(self._bytes[1:5])
            if len(self._bytes) < end:
                return
            letter, body, self._bytes = self._bytes[:1], self._bytes[5:end], self._bytes[end:]
            yield letter.decode(), body


class Statements:
    """Follows a client: the SQL of each statement that it has carried out."""

    def __init__(self) -> None:
        self._messages = Messages()
        self._prepared: dict[bytes, str] = {}

    def feed(self, data: bytes) -> Iterator[str]:
        """Take in bytes and yield the statements that begin in them."""
        for letter, body in self._messages.feed(data):
            if letter == "Q":
                yield body[:-1].decode()
            elif letter == "P":
                name, sql, _ = body.split(b"\0", 2)
                self._prepared[name] = sql.decode()
            elif letter == "B":
                yield self._prepared[body.split(b"\0", 2)[1]]


class Proxy:
    """Stands before the server at `url`, in a thread of its own, while the `with` block lasts."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy")
        self._matches: Matches = _nothing
        self._every = 1
        self._matched = 0
        self._words: int | None = None
        self._links: set[asyncio.Task[None]] = set()
        self.silent = False
        self.cuts = 0
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._accept, HOST, 0))
        port = self._server.sockets[0].getsockname()[1]
        self.url = self._target._replace(netloc=f"{self._target.username}@{HOST}:{port}").geturl()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut_answers(self, to: Matches, *, every: int = 1) -> None:
        """Break the link at every n-th request with such a statement, once the server did it."""
        self._matches, self._every, self._matched, self.cuts = to, every, 0, 0

    def heal(self) -> None:
        """Break nothing any more."""
        self._matches, self._words, self.silent = _nothing, None, False

    def fall_silent(self) -> None:
        """Swallow everything in both directions: no answer and no error, as of a dead network."""
        self.silent = True

    def fall_silent_after(self, words: int) -> None:
        """Swallow everything from the word on that a client sends after so many others.

        A word is what it sends at once, before it waits for an answer: it can be stopped after each
        of them, and at no other point.
        """
        self._words = words

    def count_word(self) -> None:
        """Take note that a client sends something."""
        if self._words == 0:
            self.silent = True
        elif self._words is not None:
            self._words -= 1

    def dooms(self, statements: list[str]) -> bool:
        """Say whether the answer to a request with these statements shall not arrive."""
        if not any(map(self._matches, statements)):
            return False
        self._matched += 1
        return self._matched % self._every == 0

    # -- in the proxy's own loop ----------------------------------------------------------------

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _close(self) -> None:
        self._server.close()
        # Who was let in meanwhile comes in the next turn, and what was closed is let go in others.
        for _ in range(TURNS):
            links = tuple(self._links)
            for link in links:
                link.cancel()
            await asyncio.gather(*links, return_exceptions=True)
            await asyncio.sleep(0)

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._links.add(task)
        try:
            await _Link(self, reader, writer).run(self._target.hostname, self._target.port)
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self._links.discard(task)


class _Link:
    """One connection through the proxy."""

    def __init__(self, proxy: Proxy, reader: StreamReader, writer: StreamWriter) -> None:
        self._proxy = proxy
        self._client = (reader, writer)
        self._doomed = False

    async def run(self, host: str | None, port: int | None) -> None:
        """Carry bytes both ways until one side ends or the link is to be cut."""
        self._server = await asyncio.open_connection(host, port)
        try:
            await self._begin()
            ways = [asyncio.ensure_future(way) for way in (self._up(), self._down())]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            for _, writer in (self._client, self._server):
                _reset(writer)

    async def _begin(self) -> None:
        """Pass on the first message, which has no letter; refuse encryption before it."""
        reader, writer = self._client
        head = await reader.readexactly(8)
        if int.from_bytes(head[4:]) == SSL_REQUEST:
            writer.write(b"N")
            head = await reader.readexactly(8)
        rest = await reader.readexactly(int.from_bytes(head[:4]) - 8)
        self._server[1].write(head + rest)

    async def _up(self) -> None:
        statements = Statements()
        while data := await self._client[0].read(CHUNK):
            self._doomed = self._doomed or self._proxy.dooms(list(statements.feed(data)))
            if not data.startswith(TERMINATE):
                self._proxy.count_word()
            if not self._proxy.silent:
                self._server[1].write(data)

    async def _down(self) -> None:
        messages = Messages()
        while data := await self._server[0].read(CHUNK):
            done = [letter for letter, _ in messages.feed(data) if letter == "Z"]
            if self._doomed and done:
                self._proxy.cuts += 1
                return
            if not self._doomed and not self._proxy.silent:
                self._client[1].write(data)


def _nothing(_: str) -> bool:
    return False


def _reset(writer: StreamWriter) -> None:
    """End a connection with a reset, as a crashed machine or a firewall would."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
