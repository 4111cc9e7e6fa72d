"""What may be a payload, and what becomes of texts that no store could keep."""

from typing import Any

import pytest

from rota.config import PAYLOAD_BYTES, PAYLOAD_DEPTH
from rota.errors import InvalidTask
from rota.payload import clean, encode


def nested(depth: int) -> Any:
    """Lists within lists."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": None, "b": [1, 2.5, "ü", True]},
        nested(PAYLOAD_DEPTH),
        {"braces": "{[" * 100},
        {"text": "a backslash and u0000: \\u0000"},
        {"nothing": None, "text": "null"},
        {"big": 2**62},
        "x" * (PAYLOAD_BYTES - 2),
    ],
)
def test_json_is_taken(value: Any) -> None:
    assert encode(value, "payload")


@pytest.mark.parametrize(
    ("value", "place", "why"),
    [
        ({"a": {"b": ["x", "\0"]}}, "payload.a.b[1]", "NUL"),
        ({"a\0": 1}, "payload", "NUL"),
        ({"a": [1.0, float("nan")]}, "payload.a[1]", "finite"),
        ({"a": float("inf")}, "payload.a", "finite"),
        ({"a": "\ud800"}, "payload.a", "surrogate"),
        ({"a": object()}, "payload", "JSON"),
        ({(1, 2): 1}, "payload", "JSON"),
        (nested(PAYLOAD_DEPTH + 1), "payload", "deeper than 32"),
        (nested(100_000), "payload", "deeper than 32"),
        ("x" * PAYLOAD_BYTES, "payload", "at most 262,144"),
    ],
)
def test_what_a_store_could_not_keep_is_refused_by_its_place(
    value: Any, place: str, why: str
) -> None:
    """R1.6, case B157."""
    with pytest.raises(InvalidTask, match=why) as caught:
        encode(value, "payload")

    assert place == caught.value.field


def test_an_error_text_is_cleaned_so_that_it_can_always_be_stored() -> None:
    """Case B157."""
    cleaned = clean("a\0b\ud800c", 100)

    assert cleaned == "a\ufffdb?c"
    assert cleaned.encode()


def test_a_long_error_text_keeps_its_start_and_its_end() -> None:
    cleaned = clean("start" + "x" * 100_000 + "end", 1_000)

    assert len(cleaned) <= 1_000
    assert cleaned.startswith("start")
    assert cleaned.endswith("end")
