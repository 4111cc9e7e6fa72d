"""Calls an address within bounds: of where it leads, how long it takes and how much comes (S4).

The name is resolved once for a connection, every answer is checked, and the connection goes to one
of those. Nothing of the surroundings counts: no proxy, no `.netrc`, no cookies.
"""

import asyncio
import socket
import ssl
from typing import Any, Final
from urllib.parse import urljoin

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from msgspec import Struct, structs

from rota import __version__
from rota.contrib._addresses import AddressRefused, Reach, Target, target
from rota.contrib._headers import elsewhere

READ_BYTES: Final = 1024 * 1024
"""So much of a body is read; then the connection is closed."""
SHOWN_BYTES: Final = 4 * 1024
CALLS_AT_ONCE: Final = 100
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
APPROVED_MOST: Final = 10_000


class Unreachable(Exception):
    """There was no answer: a name that cannot be resolved, a connection that failed, or time."""


class Untrusted(Exception):
    """TLS failed: whoever answers is not whom the address names."""


class Request(Struct, frozen=True, kw_only=True):
    """What is sent. `headers` go along to other origins only if they can be no credentials, and
    `own` never; the whole exchange takes at most `seconds` and follows `follow` redirects.
    """

    method: str
    url: str
    headers: dict[str, str] = {}
    own: dict[str, str] = {}
    body: bytes | None = None
    seconds: float
    follow: int = 0


class Reply(Struct, frozen=True, kw_only=True):
    """What came back: the first of its text, and whether more of it was left unread."""

    status: int
    url: str
    text: str
    retry_after: str | None = None
    location: str | None = None
    cut: bool = False


class Resolver(AbstractResolver):
    """Resolves names and checks every answer; one that must not be called refuses all."""

    def __init__(self, reach: Reach, inner: AbstractResolver) -> None:
        self.reach = reach
        self._inner = inner
        self._approved: set[str] = set()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a name, all of which may be called."""
        found = await self._inner.resolve(host, port, family)
        if not found:
            raise OSError(f"{host} has no address")
        for one in found:
            self.reach.check(host, one["host"])
            self.approve(one["host"])
        return found

    def approve(self, address: str) -> None:
        """Let connections go to an address that was checked."""
        if len(self._approved) >= APPROVED_MOST:
            self._approved.clear()
        self._approved.add(address)

    def socket(self, info: Any) -> socket.socket:
        """Open the socket of a connection; the last gate, whatever way it came (B178)."""
        family, kind, protocol, _, address = info
        if address[0] not in self._approved:
            self.reach.check(address[0], address[0])
        return socket.socket(family, kind, protocol)

    async def close(self) -> None:
        """Let go of what resolves."""
        await self._inner.close()


class Fetcher:
    """Calls addresses; belongs to one event loop."""

    def __init__(self, reach: Reach, inner: AbstractResolver | None = None) -> None:
        self.resolver = Resolver(reach, inner or aiohttp.ThreadedResolver())
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=self.resolver,
                use_dns_cache=False,
                force_close=True,
                limit=CALLS_AT_ONCE,
                socket_factory=self.resolver.socket,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, connect=None),
        )

    async def fetch(self, request: Request) -> Reply:
        """Send a request and return the reply, whatever its status.

        `AddressRefused`, `Untrusted`: it will never work. `Unreachable`: it may another time.
        """
        try:
            async with asyncio.timeout(request.seconds):
                return await self._follow(request)
        except TimeoutError:
            raise Unreachable(f"no answer within {request.seconds:g} s") from None
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            raise Untrusted(f"TLS failed: {_said(error)}") from None
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise AddressRefused(f"the url cannot be called: {_said(error)}") from None
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(_said(error)) from None

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def _follow(self, request: Request) -> Reply:
        for left in range(request.follow, -1, -1):
            place = target(request.url, self.resolver.reach)
            reply = await self._once(request, place)
            if left == 0 or reply.status not in REDIRECTS or not reply.location:
                return reply
            request = _next(request, place, reply.status, urljoin(place.url, reply.location))
        raise AssertionError("the last one has returned")

    async def _once(self, request: Request, place: Target) -> Reply:
        if place.literal is not None:
            self.resolver.approve(place.literal)
        headers = {"User-Agent": f"rota/{__version__}", "Accept-Encoding": "identity"}
        async with self._session.request(
            request.method,
            place.url,
            data=request.body,
            headers=_merged(headers, request.own, request.headers),
            skip_auto_headers=("Content-Type", "Accept"),
            allow_redirects=False,
        ) as response:
            body, cut = await _read(response.content)
            return Reply(
                status=response.status,
                url=place.url,
                text=body[:SHOWN_BYTES].decode("utf-8", "replace"),
                retry_after=response.headers.get("Retry-After"),
                location=response.headers.get("Location"),
                cut=cut,
            )


async def _read(content: aiohttp.StreamReader) -> tuple[bytes, bool]:
    """Return the start of a body, and whether it goes on beyond what is read."""
    read = bytearray()
    size = 0
    async for chunk in content.iter_any():
        size += len(chunk)
        read += chunk[: SHOWN_BYTES - len(read)]
        if size > READ_BYTES:
            return bytes(read), True
    return bytes(read), False


def _next(request: Request, before: Target, status: int, url: str) -> Request:
    """Return the request to where a reply points: as browsers do, and without credentials."""
    as_get = status == 303 or (status in (301, 302) and request.method == "POST")
    headers, own = request.headers, request.own
    if as_get:
        headers = {k: v for k, v in headers.items() if k.lower() != "content-type"}
    reached = target(url, _ANYWHERE)
    if reached.origin != before.origin:
        headers, own = elsewhere(headers), elsewhere(own)
    return structs.replace(
        request,
        url=reached.url,
        method="GET" if as_get and request.method != "HEAD" else request.method,
        body=None if as_get else request.body,
        headers=headers,
        own=own,
    )


def _merged(*some: dict[str, str]) -> dict[str, str]:
    """Return headers, of which a later one of the same name counts."""
    found: dict[str, tuple[str, str]] = {}
    for headers in some:
        found |= {name.lower(): (name, value) for name, value in headers.items()}
    return dict(found.values())


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]


_ANYWHERE = Reach.of(("0.0.0.0/0", "::/0"), range(1, 65_536))
"""Where a reply points is taken apart by this, and checked when it is called."""
