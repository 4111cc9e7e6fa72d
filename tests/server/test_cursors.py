"""Cursors cannot be made up, bent or carried over to another list (S9, http §3)."""

import base64
import json
from typing import Any

import pytest

from rota.server.cursors import MAC_BYTES, Cursors
from rota.server.problems import Problem

ABOUT = {"queue": "sms", "state": "ready"}
VALUES = ["0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", 1_800_000_000_123_457]


async def _secret() -> bytes:
    return b"s" * 32


async def _other() -> bytes:
    return b"t" * 32


async def refused(cursor: str, about: Any = ABOUT, order: str = "-created") -> str:
    """The code of the problem that a cursor is answered with."""
    with pytest.raises(Problem) as raised:
        await Cursors(_secret).open(cursor, order, about)
    return raised.value.meaning.code


async def test_a_cursor_comes_back_whole() -> None:
    """Pitfall 15: every microsecond of it, on every server of the store."""
    cursor = await Cursors(_secret).seal("-created", VALUES, ABOUT)
    again = dict(reversed(ABOUT.items()))

    assert await Cursors(_secret).open(cursor, "-created", again) == VALUES
    assert cursor.isascii()
    assert not set(cursor) & set("+/=&?#")


async def test_no_bit_of_it_can_be_changed() -> None:
    """S9: 400, not another page."""
    cursor = await Cursors(_secret).seal("-created", VALUES, ABOUT)
    for place, letter in enumerate(cursor):
        for other in {"A", "b", "7", "-", "_"} - {letter}:
            bent = cursor[:place] + other + cursor[place + 1 :]
            assert await refused(bent) == "cursor_invalid", place


@pytest.mark.parametrize(
    "cursor",
    ["", "A", "AAAA", "=", "%", "\u00e9", "' or 1=1 --", "a" * 10_000, "W10=", "bnVsbA"],
    ids=["empty", "one", "short", "pad", "percent", "accent", "sql", "long", "list", "null"],
)
async def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    """S9."""
    assert await refused(cursor) == "cursor_invalid"


async def test_who_does_not_know_the_secret_cannot_make_one() -> None:
    """S9: nor with the secret of another store."""
    assert await refused(await Cursors(_other).seal("-created", VALUES, ABOUT)) == "cursor_invalid"
    plain = json.dumps([1, "-created", VALUES, ""]).encode() + b"\0" * MAC_BYTES
    made_up = base64.urlsafe_b64encode(plain).rstrip(b"=").decode()
    assert await refused(made_up) == "cursor_invalid"


async def test_a_cursor_belongs_to_its_filters_and_order() -> None:
    """http §3: 422 tells this apart from a forgery."""
    cursor = await Cursors(_secret).seal("-created", VALUES, ABOUT)
    assert await refused(cursor, {"queue": "mail", "state": "ready"}) == "cursor_mismatch"
    assert await refused(cursor, None) == "cursor_mismatch"
    assert await refused(cursor, order="name") == "cursor_mismatch"
