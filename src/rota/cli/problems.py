"""Errors as a person and a script meet them: one line on stderr, and an exit code to rely on."""

import re
import sys
import traceback
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec

from rota.cli.text import one_line
from rota.errors import (
    ConfigurationError,
    DeadLetterSettled,
    InvalidTask,
    LimitNotFound,
    MoreThanExpected,
    NotRetryable,
    Overloaded,
    RotaError,
    ScheduleBusy,
    ScheduleChanged,
    ScheduleExists,
    ScheduleNotFound,
    SchemaOutOfDate,
    SettingsChanged,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TaskFailed,
    TaskNotFound,
    UnknownKind,
)


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


class RefusedLine(InvalidTask):
    """A line of a batch was refused.

    `stored` is how many tasks before it are stored, where that ended the batch.
    """

    def __init__(self, number: int, cause: InvalidTask, stored: int | None = None) -> None:
        before = f"{stored:,} before it are" if stored else "nothing is"
        after = "" if stored is None else f" ({before} stored)"
        super().__init__(f"line {number}: {cause.field}", f"{cause.problem}{after}")
        self.number = number
        self.cause = cause
        self.stored = stored


class Known(NamedTuple):
    """What an error becomes: exit code, and code, status and title of the problem object."""

    exit: Exit
    code: str
    status: int
    title: str


_UNEXPECTED = Known(Exit.FAILED, "internal", 500, "Something went wrong inside Rota")

# The first class that fits counts: the special ones come before their bases.
_KNOWN: tuple[tuple[type[BaseException], Known], ...] = (
    (UsageError, Known(Exit.USAGE, "usage", 400, "The command does not fit")),
    (NoStoreYet, Known(Exit.UNREACHABLE, "store_missing", 503, "There is no store yet")),
    (UnknownKind, Known(Exit.USAGE, "unknown_kind", 422, "The kind is unknown")),
    (InvalidTask, Known(Exit.USAGE, "validation_failed", 422, "The request does not fit")),
    (TaskNotFound, Known(Exit.NOT_FOUND, "not_found", 404, "There is no such task")),
    (ScheduleNotFound, Known(Exit.NOT_FOUND, "not_found", 404, "There is no such schedule")),
    (LimitNotFound, Known(Exit.NOT_FOUND, "not_found", 404, "There is no such limit")),
    (UnknownName, Known(Exit.NOT_FOUND, "not_found", 404, "There is nothing of this name")),
    (SettingsChanged, Known(Exit.CONFLICT, "settings_changed", 409, "They were changed meanwhile")),
    (Overloaded, Known(Exit.UNREACHABLE, "overloaded", 429, "Too much waits already")),
    (ScheduleExists, Known(Exit.CONFLICT, "schedule_exists", 409, "The name is taken")),
    (ScheduleChanged, Known(Exit.CONFLICT, "schedule_changed", 409, "It was changed meanwhile")),
    (ScheduleBusy, Known(Exit.CONFLICT, "schedule_busy", 409, "An earlier run is not over")),
    (
        DeadLetterSettled,
        Known(Exit.CONFLICT, "already_settled", 409, "The dead letter was dealt with already"),
    ),
    (
        MoreThanExpected,
        Known(Exit.CONFLICT, "more_than_expected", 409, "More match than were expected"),
    ),
    (NotRetryable, Known(Exit.CONFLICT, "not_retryable", 409, "The task cannot be retried now")),
    (SchemaOutOfDate, Known(Exit.FAILED, "schema_out_of_date", 503, "The store must be migrated")),
    (ConfigurationError, Known(Exit.USAGE, "configuration", 400, "The set-up is wrong")),
    (StoreUnavailable, Known(Exit.UNREACHABLE, "store_unavailable", 503, "Out of reach")),
    (StoreFull, Known(Exit.FAILED, "store_full", 507, "The store's disk is full")),
    (StoreError, Known(Exit.FAILED, "store_failed", 500, "The store failed")),
    (TaskFailed, Known(Exit.FAILED, "task_failed", 409, "The task failed or was cancelled")),
    (TimeoutError, Known(Exit.TIMED_OUT, "timed_out", 504, "It did not happen in time")),
    (RotaError, Known(Exit.FAILED, "failed", 500, "The command failed")),
)


def report(error: Exception, *, as_json: bool = False, verbose: bool = False) -> int:
    """Tell on stderr what went wrong and return the exit code."""
    if verbose:
        sys.stderr.write("".join(traceback.format_exception(error)))
    if as_json:
        sys.stderr.write(msgspec.json.encode(problem(error)).decode() + "\n")
    else:
        sys.stderr.write(f"rota: {_detail(error)}\n")
    return known(error).exit


def known(error: BaseException) -> Known:
    """Return what an error means to scripts."""
    if isinstance(error, RefusedLine) and error.stored:
        return Known(Exit.PARTLY, "validation_failed", 422, "The rest of the batch does not fit")
    if _is_of_parser(error):
        return _KNOWN[0][1]
    return next((found for kind, found in _KNOWN if isinstance(error, kind)), _UNEXPECTED)


def problem(error: Exception) -> dict[str, Any]:
    """Return an error as the problem object of the API (RFC 9457)."""
    _, code, status, title = known(error)
    shown: dict[str, Any] = {
        "type": f"urn:rota:problem:{code}",
        "title": title,
        "status": status,
        "code": code,
        "detail": _detail(error),
    }
    if isinstance(error, RefusedLine):
        shown |= {"line": error.number, "errors": [place(error.cause)]}
    elif isinstance(error, InvalidTask):
        shown["errors"] = [place(error)]
    return shown


def place(error: InvalidTask) -> dict[str, str]:
    """Return what is wrong with one field, in the shape of the API."""
    return {"pointer": pointer(error.field), "detail": error.problem}


def pointer(field: str) -> str:
    """Return the place of a field as a JSON Pointer.

    >>> pointer("payload.students[2].phone")
    '/payload/students/2/phone'
    """
    return "/" + re.sub(r"\[(\d+)\]", r".\1", field).replace(".", "/")


def _detail(error: Exception) -> str:
    if _is_of_parser(error):
        return _usage(error)
    text = one_line(str(error))
    if isinstance(error, StoreUnavailable):
        return f"{text}. Is the address right (--url, ROTA_URL), and does the server run?"
    if known(error) is _UNEXPECTED:
        return f"{type(error).__name__}: {text} (--verbose shows where)"
    return text


def _is_of_parser(error: BaseException) -> bool:
    return type(error).__module__.startswith("cyclopts.")


def _usage(error: Any) -> str:
    text = one_line(str(error).partition(" Available commands:")[0])
    text += "" if text.endswith((".", "?")) else "."
    path = " ".join(("rota", *(error.command_chain or ())))
    return f"{text[:1].lower()}{text[1:]} See: {path} --help"
