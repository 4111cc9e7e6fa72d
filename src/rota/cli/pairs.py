"""What is typed as `name=value`: the arguments of a task, and its headers."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from rota.cli.problems import UsageError
from rota.errors import InvalidTask

_PAIR = re.compile(r"([^=:\s]+)(:?=)(.*)", re.DOTALL)


def is_pair(text: str) -> bool:
    """Say whether a word is an argument of a task.

    >>> is_pair("phone=+91"), is_pair("n:=1"), is_pair("0 9 * * *")
    (True, True, False)
    """
    return _PAIR.fullmatch(text) is not None


def payload_of(pairs: Sequence[str]) -> dict[str, Any]:
    """Return the payload that words say: `phone=+91` is text, `n:=1` is JSON."""
    payload: dict[str, Any] = {}
    for pair in pairs:
        match = _PAIR.fullmatch(pair)
        if match is None:
            raise UsageError(f"{pair!r} is no argument; write k=v for text or k:=v for JSON")
        name, sign, text = match.groups()
        if name in payload:
            raise InvalidTask(f"payload.{name}", "is given twice")
        payload[name] = text if sign == "=" else _json(name, text)
    return payload


@contextmanager
def typed() -> Iterator[None]:
    """Tell whoever typed arguments how JSON is written, where text did not fit."""
    try:
        yield
    except InvalidTask as error:
        # Whoever types arguments meets this first: n=1 is the text "1".
        if not error.problem.endswith("got `str`"):
            raise
        name = error.field.removeprefix("payload.")
        raise InvalidTask(error.field, f"{error.problem}; for JSON write {name}:=…") from None


def headers_of(pairs: Sequence[str]) -> dict[str, str]:
    """Return the headers that words say."""
    for pair in pairs:
        if not pair.partition("=")[0] or "=" not in pair:
            raise UsageError(f"--header: {pair!r} must be k=v")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _json(name: str, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidTask(
            f"payload.{name}",
            f"{text!r:.80} is not JSON ({error}); write {name}={text:.20} for text",
        ) from None
