"""An endpoint for webhooks on this machine: it keeps what it is told, and answers as it is told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

Answers = Callable[["Got"], bytes]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Got(Struct, frozen=True):
    """A request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    """Return an answer with this status; `_` in the names of headers stands for `-`."""
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Receiver:
    """Answers on a port of its own; `answers` are used up one by one, the last one stays."""

    def __init__(self, *answers: bytes | Answers) -> None:
        self.got: list[Got] = []
        self.answers: list[bytes | Answers] = list(answers) or [OK]
        self.port = 0

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/hook"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close."""
        try:
            got = await _read(reader)
            self.got.append(got)
            told = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            writer.write(told(got) if callable(told) else told)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiver(*answers: Any) -> AsyncIterator[Receiver]:
    """Open an endpoint on this machine."""
    it = Receiver(*answers)
    server = await asyncio.start_server(it.serve, "127.0.0.1", 0)
    it.port = server.sockets[0].getsockname()[1]
    try:
        yield it
    finally:
        server.close()
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Got:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    headers = {name.lower(): value for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Got(method, path, headers, body)
