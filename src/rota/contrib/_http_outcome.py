"""What a reply means for the task that asked for it (R4.2, R8.2)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

from rota.clock import Micros, micros
from rota.config import SECOND
from rota.contrib._addresses import PORT_OF, AddressRefused
from rota.contrib._fetch import Reply, Unreachable, Untrusted
from rota.errors import Fail, Retry
from rota.payload import clean

AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Another try may help after these."""
WAIT_MOST: Final = 3600.0
"""No server puts a task off for longer (Retry-After)."""
EXCERPT_CHARS: Final = 4_096


def settle(reply: Reply, now: Micros) -> dict[str, Any]:
    """Return the result of a reply that is a success; `Retry` or `Fail` for any other."""
    if 200 <= reply.status < 300:
        return {
            "status": reply.status,
            "text": clean(reply.text, EXCERPT_CHARS),
            "cut": reply.cut,
        }
    said = f"{reply.status} from {shown(reply.url)}{_excerpt(reply)}"
    if reply.status in AGAIN:
        raise Retry(said, least=wait(reply.retry_after, now))
    raise Fail(said)


@asynccontextmanager
async def outcomes() -> AsyncIterator[None]:
    """Turn what kept a call from being answered into what becomes of its task."""
    try:
        yield
    except (AddressRefused, Untrusted) as error:
        raise Fail(str(error)) from None
    except Unreachable as error:
        raise Retry(str(error)) from None


def wait(told: str | None, now: Micros) -> float | None:
    """Return the seconds that a Retry-After asks for, at most an hour; None if it says nothing.

    >>> wait("120", 0), wait("Thu, 01 Jan 1970 00:00:30 GMT", 0), wait("soon", 0)
    (120.0, 30.0, None)
    """
    if told is None:
        return None
    text = told.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), WAIT_MOST)
    try:
        seconds = (micros(parsedate_to_datetime(text)) - now) / SECOND
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), WAIT_MOST)


def host_of(url: str) -> str:
    """Return the host and port that an address is of; "" if it is none.

    >>> host_of("https://Api.Example:8443/x"), host_of("http://[::1]/"), host_of("nonsense")
    ('api.example:8443', '::1:80', '')
    """
    try:
        split = urlsplit(url)
        host = (split.hostname or "").rstrip(".")
        return f"{host}:{split.port or PORT_OF.get(split.scheme, 0)}" if host else ""
    except ValueError:
        return ""


def shown(url: str) -> str:
    """Return an address without its query, in which there may be secrets (S11)."""
    return url.partition("?")[0]


def _excerpt(reply: Reply) -> str:
    text = clean(reply.text.strip(), EXCERPT_CHARS)
    return f"\n{text}" if text else ""
