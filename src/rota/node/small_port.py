"""A small port of a process's own: metrics for Prometheus, and probes (R9.3).

It knows three paths, reads nothing but the first lines of a request, and shows no name, payload or
address; whoever reaches it may read it, so by default it listens on loopback alone.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from rota.errors import ConfigurationError
from rota.node.health import ALIVE
from rota.node.metrics import MEDIA

REQUEST_SECONDS = 10.0
"""For all of a request: the figures of a store that is slow to tell them are waited for."""
REQUEST_BYTES = 8 * 1024
JSON = "application/json"
PLAIN = "text/plain; charset=utf-8"

Reply = tuple[int, str, bytes]
Page = Callable[[], Awaitable[Reply]]


class SmallPort:
    """Answers three paths with what a process says of itself.

    `text` returns its metrics, `ready` whether work may be sent there and what was checked.
    """

    def __init__(
        self,
        text: Callable[[], Awaitable[bytes]],
        ready: Callable[[], tuple[bool, dict[str, Any]]],
    ) -> None:
        async def metrics() -> Reply:
            return 200, MEDIA, await text()

        async def alive() -> Reply:
            return 200, JSON, msgspec.json.encode(ALIVE)

        async def readiness() -> Reply:
            good, told = ready()
            return 200 if good else 503, JSON, msgspec.json.encode(told)

        self._pages: dict[str, Page] = {
            "/metrics": metrics,
            "/healthz": alive,
            "/readyz": readiness,
        }

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """Return a server that answers already; `ConfigurationError` if it cannot listen there."""
        try:
            return await asyncio.start_server(self._answer, host, port, limit=REQUEST_BYTES)
        except OSError as error:
            # The loop's own words repeat the address; of a name that is unknown they are all.
            number = error.errno or 0
            why = os.strerror(number) if number > 0 else error.strerror
            raise ConfigurationError(
                f"cannot listen on {host} port {port} for metrics: {why}; choose another "
                "--metrics-port or --metrics-host"
            ) from None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._reply(head))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asks like that is owed no answer
        finally:
            writer.close()

    async def _reply(self, head: bytes) -> bytes:
        """Return the whole answer to a request's first lines."""
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0].decode("ascii", "replace")
        page = self._pages.get(path)
        if page is None:
            status, media, body = 404, PLAIN, b"there are /metrics, /healthz and /readyz\n"
        elif method not in (b"GET", b"HEAD"):
            status, media, body = 405, PLAIN, b"only GET is answered\n"
        else:
            status, media, body = await page()
        lines = (
            f"HTTP/1.1 {status} {_REASONS[status]}",
            f"content-type: {media}",
            f"content-length: {len(body)}",
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            *(("allow: GET, HEAD",) if status == 405 else ()),
            "connection: close",
        )
        start = "\r\n".join(lines).encode() + b"\r\n\r\n"
        return start if method == b"HEAD" else start + body


_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}
