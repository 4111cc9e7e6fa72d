"""Checks of what people set by name, as queues, limits, schedules and alert rules share them."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from rota.errors import InvalidTask, UnknownOption
from rota.registry import did_you_mean

Checks = Mapping[str, Callable[[object, str], Any]]
"""How each option is read: its value and its name go in, the value as it is stored comes out."""
T = TypeVar("T")
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


def flag(value: object, field: str) -> bool:
    """Return what is either true or false."""
    if not isinstance(value, bool):
        raise InvalidTask(field, f"must be true or false, not {value!r:.80}")
    return value


def whole(least: int, most: int) -> Callable[[object, str], int]:
    """Return the check of a whole number within these bounds."""

    def check(value: object, field: str) -> int:
        if type(value) is not int or not least <= value <= most:
            raise InvalidTask(
                field, f"must be a whole number from {least} to {most:,}, not {value!r:.80}"
            )
        return value

    return check


def optional(check: Callable[[Any, str], T]) -> Callable[[Any, str], T | None]:
    """Return the check that lets None through, and looks at anything else."""
    return lambda value, field: None if value is None else check(value, field)


def one_of(kind: type[E]) -> Callable[[object, str], E]:
    """Return the check of a value that is one of the kind's words."""

    def check(value: object, field: str) -> E:
        if isinstance(value, str) and value in list(kind):
            return kind(value)
        raise InvalidTask(field, f"must be one of {', '.join(kind)}, not {value!r:.80}")

    return check
