"""Checks of what people set by name, as queues, limits and alert rules share them."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from rota.errors import InvalidTask, UnknownOption
from rota.registry import did_you_mean

Checks = Mapping[str, Callable[[object, str], Any]]
"""How each option is read: its value and its name go in, the value as it is stored comes out."""
E = TypeVar("E", bound=StrEnum)


def checked(given: Mapping[str, Any], checks: Checks, of: str) -> dict[str, Any]:
    """Return what was given as it is stored; `UnknownOption` or `InvalidTask` names what is wrong.

    `of` says what the options belong to, such as "of queues".
    """
    changes: dict[str, Any] = {}
    for name, value in given.items():
        check = checks.get(name)
        if check is None:
            hint = did_you_mean(name, checks) or f"; there are {', '.join(checks)}"
            raise UnknownOption(name, f"is not an option {of}{hint}")
        changes[name] = check(value, name)
    return changes


def one_of(kind: type[E]) -> Callable[[object, str], E]:
    """Return the check of a value that is one of the kind's words."""

    def check(value: object, field: str) -> E:
        if isinstance(value, str) and value in list(kind):
            return kind(value)
        raise InvalidTask(field, f"must be one of {', '.join(kind)}, not {value!r:.80}")

    return check
