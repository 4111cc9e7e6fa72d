"""A proxy before HTTP servers that takes them in turn and breaks links after the work is done."""

import asyncio
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

Cut = Callable[[str], bool]


class Cutting:
    """Stands before servers, in a thread of its own, while the `with` block lasts.

    Each request goes to the next server. Once it has answered, `cut(path)` says whether the caller
    hears of that or finds the link broken.
    """

    def __init__(self, urls: Sequence[str], cut: Cut) -> None:
        self._servers = [(urlsplit(url).hostname, urlsplit(url).port) for url in urls]
        self._cut = cut
        self._next = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="cutting")
        self.url = ""
        self.cuts = 0

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(60)

    async def _run(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._over.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head, body = await _message(reader)
                path = head.split(b" ", 2)[1].decode()
                answer = await self._ask(head + body)
                if self._cut(path):
                    self.cuts += 1
                    writer.transport.abort()
                    return
                writer.write(answer)
                await writer.drain()
        writer.close()

    async def _ask(self, request: bytes) -> bytes:
        host, port = self._servers[self._next % len(self._servers)]
        self._next += 1
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(request)
            head, body = await _message(reader)
            return head + body
        finally:
            writer.close()


async def _message(reader: StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return head, await reader.readexactly(length)
