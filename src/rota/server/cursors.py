"""Cursors: where the next page begins, signed, so that none is made up or bent (S9, http §3).

A cursor says where, never who: what its holder may see is asked anew with each page. It holds the
values of the last row in the order of the list, in full precision, and a hash of the filters that
the list was made with. All servers of a store share the key.
"""

import base64
import hmac
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from rota.server.problems import Problem

VERSION = 1
MAC_BYTES = 16
CURSOR_CHARS = 2_048
_HASH_BYTES = 8

_encode = msgspec.json.Encoder(order="sorted").encode


class Cursors:
    """Makes and reads the cursors of one server; `secret` is what all servers of a store share."""

    def __init__(self, secret: Callable[[], Awaitable[bytes]]) -> None:
        self._secret = secret
        self._key: bytes | None = None

    async def seal(self, order: str, values: Sequence[Any], about: Any = None) -> str:
        """Return the cursor behind the row with these values, in a list of this order and filters.

        `about` is what the list was filtered by; anything that has a form in JSON.
        """
        text = _encode([VERSION, order, values, _hash(about)])
        return base64.urlsafe_b64encode(text + await self._mac(text)).rstrip(b"=").decode()

    async def open(self, cursor: str, order: str, about: Any = None) -> list[Any]:
        """Return the values of the row behind which a page begins.

        `Problem` 400 `cursor_invalid` if the cursor is none that this version made, 422
        `cursor_mismatch` if it belongs to other filters or another order.
        """
        text = await self._text(cursor)
        _, its_order, values, its_hash = msgspec.json.decode(text)
        if (its_order, its_hash) != (order, _hash(about)):
            detail = "the cursor is of a list with other filters; begin without a cursor"
            raise Problem("cursor_mismatch", detail, errors=[_place(detail)])
        found: list[Any] = values
        return found

    async def _text(self, cursor: str) -> bytes:
        if len(cursor) > CURSOR_CHARS:
            raise _invalid()
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            whole = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True)
        except ValueError:
            raise _invalid() from None
        text, mac = whole[:-MAC_BYTES], whole[-MAC_BYTES:]
        # The last character has bits to spare: only the one way in which we write it is ours.
        again = base64.urlsafe_b64encode(whole).rstrip(b"=").decode()
        if again != cursor or not hmac.compare_digest(mac, await self._mac(text)):
            raise _invalid()
        if not text.startswith(b"[%d," % VERSION):
            raise _invalid()
        return text

    async def _mac(self, text: bytes) -> bytes:
        if self._key is None:
            self._key = await self._secret()
        return hmac.digest(self._key, text, "sha256")[:MAC_BYTES]


def _hash(about: Any) -> str:
    return sha256(_encode(about)).digest()[:_HASH_BYTES].hex()


def _invalid() -> Problem:
    detail = "the cursor is none of ours, or an old one; begin without a cursor"
    return Problem("cursor_invalid", detail, errors=[_place(detail)])


def _place(detail: str) -> dict[str, str]:
    return {"in": "query", "pointer": "/cursor", "detail": detail}
