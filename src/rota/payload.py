"""JSON in and out: payloads, results and error texts, checked so that every store can keep them.

Only JSON, never an object that is revived (cases B175, B176). What PostgreSQL cannot keep (NUL,
lone surrogates) and what JSON does not know (NaN, infinities) is refused in payloads and cleaned
in error texts, so that a task can always be finished (case B157).
"""

import math
from typing import Any

import msgspec

from rota.config import PAYLOAD_BYTES, PAYLOAD_DEPTH
from rota.errors import InvalidTask

_NUL = b"\\u0000"


def _to_json(value: object) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise NotImplementedError(f"objects of type {type(value).__qualname__} are not JSON")


def from_json(wanted: type, value: object) -> Any:
    """Build a pydantic model from its JSON form, anything for `object`; the hook for decoders."""
    if wanted is object:
        return value
    validate = getattr(wanted, "model_validate", None)
    if callable(validate):
        try:
            return validate(value)
        except ValueError as error:
            first = str(error).splitlines()
            raise ValueError("; ".join(line.strip() for line in first[1:3])) from None
    raise NotImplementedError(f"{wanted!r} cannot be read from JSON")


_encoder = msgspec.json.Encoder(enc_hook=_to_json, decimal_format="string")


def encode(value: object, field: str, *, most: int = PAYLOAD_BYTES) -> str:
    """Return `value` as JSON text, or raise `InvalidTask` that names the place under `field`.

    At most `most` bytes and 32 levels deep; no NaN, no NUL, no lone surrogate.
    """
    try:
        data = _encoder.encode(value)
    except UnicodeEncodeError:
        raise InvalidTask(_find(value, field, _has_surrogate), "has a lone surrogate") from None
    except (TypeError, NotImplementedError, ValueError, OverflowError) as error:
        raise InvalidTask(field, f"cannot be written as JSON: {error}") from None
    except RecursionError:
        raise InvalidTask(field, f"is nested deeper than {PAYLOAD_DEPTH} levels") from None
    if len(data) > most:
        raise InvalidTask(field, f"is {len(data):,} bytes of JSON; at most {most:,} are taken")
    check(data, value, field)
    return data.decode()


def check(data: bytes, value: object, field: str) -> None:
    """Refuse what JSON text may hold but a store cannot keep; cheap when nothing is suspect."""
    if data.count(b"{") + data.count(b"[") > PAYLOAD_DEPTH and _depth(data) > PAYLOAD_DEPTH:
        raise InvalidTask(field, f"is nested deeper than {PAYLOAD_DEPTH} levels")
    if _NUL in data:
        place = _find(msgspec.json.decode(data), field, _has_nul)
        if place:
            raise InvalidTask(place, "has a NUL character")
    if b"null" in data:
        place = _find(value, field, _is_not_finite)
        if place:
            raise InvalidTask(place, "is not a finite number")


def _depth(data: bytes) -> int:
    deepest = level = 0
    inside = escaped = False
    for byte in data:
        if inside:
            inside = escaped or byte != 0x22
            escaped = not escaped and byte == 0x5C
        elif byte == 0x22:
            inside = True
        elif byte in b"[{":
            level += 1
            deepest = max(deepest, level)
        elif byte in b"]}":
            level -= 1
    return deepest


def _has_surrogate(value: object) -> bool:
    return isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value)


def _has_nul(value: object) -> bool:
    return isinstance(value, str) and "\0" in value


def _is_not_finite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _find(value: Any, place: str, wrong: Any) -> str:
    """Return the place of the first value that is `wrong`, as `payload.a[2]`, or ""."""
    if wrong(value):
        return place
    if isinstance(value, dict):
        for key, item in value.items():
            found = place if wrong(key) else _find(item, f"{place}.{key}", wrong)
            if found:
                return found
    elif isinstance(value, list | tuple | set | frozenset):
        for index, item in enumerate(value):
            if found := _find(item, f"{place}[{index}]", wrong):
                return found
    elif hasattr(value, "__struct_fields__") or hasattr(value, "__dataclass_fields__"):
        return _find(msgspec.to_builtins(value, enc_hook=_to_json), place, wrong)
    return ""


def find_nul(value: Any) -> str | None:
    """Return the place of the first NUL character, "" for the value itself, None without any."""
    return _find(value, "", _has_nul).removeprefix(".") or ("" if _has_nul(value) else None)


def clean(text: str, most: int) -> str:
    """Return text that every store can keep, at most `most` characters: its start and its end."""
    text = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8", "replace")
    if len(text) <= most:
        return text
    half = (most - 20) // 2
    return f"{text[:half]}\n… cut …\n{text[-half:]}"
