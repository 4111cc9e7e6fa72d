"""Errors as a person and a script meet them: one line on stderr, and an exit code to rely on."""

import sys
import traceback
from enum import IntEnum
from typing import Any

import msgspec

from rota.cli.text import one_line
from rota.errors import InvalidTask, RotaError, StoreUnavailable
from rota.problems import UNEXPECTED, Meaning, meaning, place, pointer, problem_of

__all__ = ["Exit", "place", "pointer"]


class Exit(IntEnum):
    """What a command's exit code says; scripts rely on these."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    CONFLICT = 5
    UNREACHABLE = 6
    PARTLY = 7
    TIMED_OUT = 124
    INTERRUPTED = 130
    CLOSED_PIPE = 141


class UsageError(RotaError):
    """The command cannot be carried out as it was typed."""


class NoStoreYet(RotaError):
    """The SQLite file that a command would read is not there."""


class UnknownName(RotaError):
    """Nothing is called so, but something nearly so: it looks like a slip."""

    def __init__(self, what: str, name: str, hint: str) -> None:
        super().__init__(f"there is no {what} {name!r}{hint}")


LINE = "line"
"""What is wrong where a line of a batch is none, by the name of a field."""


class RefusedLine(InvalidTask):
    """A line of a batch was refused.

    `stored` is how many tasks before it are stored, where that ended the batch.
    """

    def __init__(self, number: int, cause: InvalidTask, stored: int | None = None) -> None:
        before = f"{stored:,} before it are" if stored else "nothing is"
        after = "" if stored is None else f" ({before} stored)"
        place = f"line {number}" if cause.field == LINE else f"line {number}: {cause.field}"
        super().__init__(place, f"{cause.problem}{after}")
        self.number = number
        self.cause = cause
        self.stored = stored


_OWN: tuple[tuple[type[BaseException], Meaning, Exit], ...] = (
    (UsageError, Meaning("usage", 400, "The command does not fit"), Exit.USAGE),
    (NoStoreYet, Meaning("store_missing", 503, "There is no store yet"), Exit.UNREACHABLE),
    (UnknownName, Meaning("not_found", 404, "There is nothing of this name"), Exit.NOT_FOUND),
)
"""The errors that only commands have."""

_EXITS = {
    "forbidden": Exit.NOT_ALLOWED,
    "unknown_kind": Exit.USAGE,
    "validation_failed": Exit.USAGE,
    "configuration": Exit.USAGE,
    "not_found": Exit.NOT_FOUND,
    "settings_changed": Exit.CONFLICT,
    "last_admin": Exit.CONFLICT,
    "schedule_exists": Exit.CONFLICT,
    "schedule_changed": Exit.CONFLICT,
    "schedule_busy": Exit.CONFLICT,
    "already_settled": Exit.CONFLICT,
    "more_than_expected": Exit.CONFLICT,
    "not_retryable": Exit.CONFLICT,
    "overloaded": Exit.UNREACHABLE,
    "store_unavailable": Exit.UNREACHABLE,
    "timed_out": Exit.TIMED_OUT,
}
"""The exit codes of what an error may mean; all else is `FAILED`."""


def report(error: Exception, *, as_json: bool = False, verbose: bool = False) -> int:
    """Tell on stderr what went wrong and return the exit code."""
    if verbose:
        sys.stderr.write("".join(traceback.format_exception(error)))
    if as_json:
        sys.stderr.write(msgspec.json.encode(problem(error)).decode() + "\n")
    else:
        sys.stderr.write(f"rota: {_detail(error)}\n")
    return known(error)[1]


def known(error: BaseException) -> tuple[Meaning, Exit]:
    """Return what an error means to scripts, and the exit code for it."""
    if isinstance(error, RefusedLine) and error.stored:
        refused = Meaning("validation_failed", 422, "The rest of the batch does not fit")
        return refused, Exit.PARTLY
    if _is_of_parser(error):
        return _OWN[0][1], _OWN[0][2]
    for kind, meant, code in _OWN:
        if isinstance(error, kind):
            return meant, code
    meant = meaning(error)
    return meant, _EXITS.get(meant.code, Exit.FAILED)


def problem(error: Exception) -> dict[str, Any]:
    """Return an error as the problem object of the API (RFC 9457)."""
    shown = problem_of(known(error)[0], _detail(error))
    if isinstance(error, RefusedLine):
        shown |= {"line": error.number, "errors": [place(error.cause)]}
    elif isinstance(error, InvalidTask):
        shown["errors"] = [place(error)]
    return shown


def _detail(error: Exception) -> str:
    if _is_of_parser(error):
        return _usage(error)
    text = one_line(str(error))
    if isinstance(error, StoreUnavailable):
        return f"{text}. Is the address right (--url, ROTA_URL), and does the server run?"
    if known(error)[0] is UNEXPECTED:
        return f"{type(error).__name__}: {text} (--verbose shows where)"
    return text


def _is_of_parser(error: BaseException) -> bool:
    return type(error).__module__.startswith("cyclopts.")


def _usage(error: Any) -> str:
    text = one_line(str(error).partition(" Available commands:")[0])
    text += "" if text.endswith((".", "?")) else "."
    path = " ".join(("rota", *(error.command_chain or ())))
    return f"{text[:1].lower()}{text[1:]} See: {path} --help"
