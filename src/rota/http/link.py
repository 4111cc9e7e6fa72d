"""The line to a server: keep-alive connections, and errors that say what is known (R3.7)."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from rota.errors import ConfigurationError, RotaError, StoreUnavailable
from rota.http.failures import failure

SECONDS = 30.0
CONNECT_SECONDS = 10.0
CONNECTIONS = 64
KEEP_SECONDS = 30.0
"""Less than the server keeps an idle connection, or a good request would meet a closed one."""
READ_BYTES = 1024 * 1024
"""So much of an answer may wait to be read: a claim comes whole, without stops in between."""


class Address:
    """Where a server is, and with which key it is called; shown without the key."""

    def __init__(self, url: str, token: str | None) -> None:
        refused = ConfigurationError(f"{url!r} is no server's address; give http://host:8300")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise refused from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise refused
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ConfigurationError(
                "a server's address is http://host:8300 and nothing more; the key goes into "
                "token= or $ROTA_TOKEN, never into the address"
            )
        if token is not None and (not token.isascii() or not token.isprintable() or " " in token):
            raise ConfigurationError("the token has characters that no key has; copy it again")
        self.url = url.rstrip("/")
        self.host = parts.hostname
        self.port = port or (443 if parts.scheme == "https" else 80)
        self.secure = parts.scheme == "https"
        self.path = parts.path.rstrip("/")
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def __repr__(self) -> str:
        return f"the server {self.url}"


class Link:
    """Asks a server; one belongs to one event loop.

    `StoreUnavailable` means that the outcome is not known. Addresses are looked up as the system
    does, no proxy is taken from the environment, and certificates are checked.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._session: Any = None

    def open(self) -> None:
        """Make ready; connections are opened when they are needed."""
        if self._session is not None:
            return
        try:
            import aiohttp
        except ImportError:
            raise ConfigurationError(
                "to reach a server aiohttp is needed: pip install 'rota[http]'"
            ) from None
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=KEEP_SECONDS),
            timeout=aiohttp.ClientTimeout(total=SECONDS, sock_connect=CONNECT_SECONDS),
            read_bufsize=READ_BYTES,
            headers=self.address.headers,
            auto_decompress=False,
            trust_env=False,
        )

    async def close(self) -> None:
        """Let go of the connections; safe to call twice."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def ask(
        self, method: str, path: str, body: bytes | None = None, *, seconds: float = SECONDS
    ) -> bytes:
        """Return the body of a good answer; other answers are raised as the errors they mean."""
        async with self._asked(method, path, body, seconds) as answer:
            found: bytes = await answer.read()
            if answer.status >= 300:
                raise failure(answer.status, found, answer.headers, repr(self.address))
            return found

    async def lines(self, path: str, quiet: float) -> AsyncIterator[bytes]:
        """Yield the lines of an answer that goes on; one that is quiet for too long is broken."""
        async with self._asked("GET", path, None, None, quiet=quiet) as answer:
            if answer.status >= 300:
                found = await answer.read()
                raise failure(answer.status, found, answer.headers, repr(self.address))
            async for line in answer.content:
                yield line

    @asynccontextmanager
    async def _asked(
        self,
        method: str,
        path: str,
        body: bytes | None,
        seconds: float | None,
        *,
        quiet: float | None = None,
    ) -> AsyncIterator[Any]:
        import aiohttp

        if self._session is None:
            raise StoreUnavailable(f"the line to {self.address} is not open")
        headers = {} if body is None else {"Content-Type": "application/json"}
        limits = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS, sock_read=quiet)
        try:
            async with self._session.request(
                method,
                f"{self.address.url}{path}",
                data=body,
                headers=headers,
                timeout=limits,
                allow_redirects=False,
            ) as answer:
                yield answer
        except RotaError:
            raise
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise StoreUnavailable(f"{self.address} cannot be reached: {_why(error)}") from error


def _why(error: Exception) -> str:
    """Return in few words why there was no answer; the library's own are long and say less."""
    import aiohttp

    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return "the connection broke before the answer was whole"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return str(error) or type(error).__name__
