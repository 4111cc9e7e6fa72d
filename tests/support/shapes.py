"""Whether an answer is exactly of the shape that the OpenAPI document says (R8.5)."""

from typing import Any

import msgspec


def fits(answer: Any, shape: type[Any]) -> Any:
    """Return an answer as its shape; no field may be missing, and none may be more."""
    found = msgspec.convert(answer, shape, strict=True)
    assert msgspec.to_builtins(found) == answer
    return found
