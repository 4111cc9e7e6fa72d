"""Queries of addresses: decoded into the type that a route names; what is unknown is refused."""

from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from rota.server.problems import Problem, of_decoding

PARAMETERS_MOST = 64


def read_query(wanted: type[Struct] | None, query: bytes) -> Any:
    """Return the query as a value of the type; numbers and booleans are read from their texts.

    Parameters like `payload.student.id=17` go into the mapping `payload`, if the type names that
    field in `dotted`. `Problem` 422 names what is unknown, given twice or does not fit.
    """
    if wanted is None and not query:
        return None
    given: dict[str, Any] = {}
    seen: set[str] = set()
    dotted = getattr(wanted, "dotted", ())
    known = () if wanted is None else wanted.__struct_encode_fields__
    for name, value in _pairs(query):
        if name in seen:
            raise _wrong(name, "is given twice")
        seen.add(name)
        if "\0" in value:
            raise _wrong(name, "has a NUL character")
        into, _, path = name.partition(".")
        if path and into in dotted:
            given.setdefault(into, {})[path] = value
            continue
        if name not in known or name in dotted:
            raise _wrong(name, f"is no parameter here; there are {', '.join(known) or 'none'}")
        given[name] = value
    if wanted is None:
        return None
    try:
        return msgspec.convert(given, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise of_decoding(error, "query", wanted) from None


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(query),
            max_num_fields=PARAMETERS_MOST,
            errors="strict",
        )
    except (ValueError, UnicodeDecodeError):
        raise Problem("unreadable", "the query cannot be read") from None


def _wrong(name: str, detail: str) -> Problem:
    return Problem(
        "validation_failed",
        f"{name} {detail}",
        errors=[{"in": "query", "pointer": f"/{name}", "detail": detail}],
    )
