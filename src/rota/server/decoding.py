"""Bodies that routes read themselves, as values."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from rota.server.problems import Problem, of_decoding
from rota.server.route import Call

T = TypeVar("T")


async def whole(call: Call) -> bytes:
    """Return the whole body of a call whose route reads it itself."""
    assert call.raw is not None
    return b"".join([chunk async for chunk in call.raw])


def decoded(decode: Callable[[Any], T], body: bytes, wanted: Any = None) -> T:
    """Return a body as a value; `Problem` 400 if it is no JSON, 422 if it does not fit.

    With the type that was `wanted` the problem says what would have fitted.
    """
    try:
        return decode(body)
    except msgspec.ValidationError as error:
        raise of_decoding(error, wanted=wanted) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("unreadable", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise Problem("unreadable", "the body is nested too deeply") from None
