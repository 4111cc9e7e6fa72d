"""Headers that a caller gives: what would break out of its line, or is not his to set (S4, S5)."""

import re
from collections.abc import Mapping
from typing import Final

from rota.errors import Fail

HEADERS_MOST: Final = 32
HEADER_CHARS: Final = 4_096

_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_OURS: Final = frozenset(
    {
        "host",
        "content-length",
        "connection",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "keep-alive",
        "accept-encoding",
    }
)
_OURS_BEGIN: Final = ("webhook-", "rota-", "proxy-")
KEPT_ELSEWHERE: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})
"""What is sent along to another origin; anything else may be a credential."""


def check_headers(given: Mapping[str, str]) -> dict[str, str]:
    """Return the headers; `Fail` if one must not be sent."""
    if len(given) > HEADERS_MOST:
        raise Fail(f"there are more than {HEADERS_MOST} headers")
    seen: set[str] = set()
    for name, value in given.items():
        low = name.lower()
        if not _NAME.fullmatch(name):
            raise Fail(f"{name!r:.80} cannot be the name of a header")
        if low in _OURS or low.startswith(_OURS_BEGIN):
            raise Fail(f"the header {name} is set by Rota alone")
        if low in seen:
            raise Fail(f"the header {name} is there twice")
        # The value is not told: it may be a password.
        if len(value) > HEADER_CHARS or not _VALUE.fullmatch(value):
            raise Fail(f"the header {name} has a line break or another bad character")
        seen.add(low)
    return dict(given)


def elsewhere(headers: Mapping[str, str]) -> dict[str, str]:
    """Return what of these may be sent to another origin than they were meant for."""
    return {name: value for name, value in headers.items() if name.lower() in KEPT_ELSEWHERE}
