"""What an error means to whoever called: the problem objects of HTTP and of `--json` (RFC 9457)."""

import re
from typing import Any, NamedTuple

from rota.errors import (
    AccessRefused,
    ActionNotFound,
    AlertNotFound,
    AlertRuleExists,
    ClaimSuperseded,
    ConfigurationError,
    DeadLetterSettled,
    InvalidTask,
    KeyNotFound,
    LastAdmin,
    LimitNotFound,
    MoreThanExpected,
    NotFinished,
    NotRetryable,
    NotWaiting,
    Overloaded,
    RotaError,
    ScheduleBusy,
    ScheduleChanged,
    ScheduleExists,
    ScheduleNotFound,
    SchemaOutOfDate,
    SessionGone,
    SessionNotFound,
    SettingsChanged,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TaskFailed,
    TaskNotFound,
    UnknownKind,
    WebhookNotFound,
)


class Meaning(NamedTuple):
    """The stable code of an error, its HTTP status and its title; only prose may change."""

    code: str
    status: int
    title: str


UNEXPECTED = Meaning("internal", 500, "Something went wrong inside Rota")

# The first class that fits counts: the special ones come before their bases.
MEANINGS: tuple[tuple[type[BaseException], Meaning], ...] = (
    (UnknownKind, Meaning("unknown_kind", 422, "The kind is unknown")),
    (InvalidTask, Meaning("validation_failed", 422, "The request does not fit")),
    (TaskNotFound, Meaning("not_found", 404, "There is no such task")),
    (ScheduleNotFound, Meaning("not_found", 404, "There is no such schedule")),
    (LimitNotFound, Meaning("not_found", 404, "There is no such limit")),
    (SessionNotFound, Meaning("not_found", 404, "There is no such session")),
    (KeyNotFound, Meaning("not_found", 404, "There is no such key")),
    (LastAdmin, Meaning("last_admin", 409, "It is the last admin's key")),
    (AlertNotFound, Meaning("not_found", 404, "There is no such alert")),
    (WebhookNotFound, Meaning("not_found", 404, "There is no such webhook")),
    (AlertRuleExists, Meaning("rule_exists", 409, "The name is taken")),
    (SettingsChanged, Meaning("settings_changed", 409, "They were changed meanwhile")),
    (Overloaded, Meaning("overloaded", 429, "Too much waits already")),
    (ScheduleExists, Meaning("schedule_exists", 409, "The name is taken")),
    (ScheduleChanged, Meaning("schedule_changed", 409, "It was changed meanwhile")),
    (ScheduleBusy, Meaning("schedule_busy", 409, "An earlier run is not over")),
    (
        DeadLetterSettled,
        Meaning("already_settled", 409, "The dead letter was dealt with already"),
    ),
    (MoreThanExpected, Meaning("more_than_expected", 409, "More match than were expected")),
    (ActionNotFound, Meaning("not_found", 404, "There is no such action")),
    (NotWaiting, Meaning("not_waiting", 409, "The task does not wait")),
    (NotFinished, Meaning("not_finished", 409, "The task is not over")),
    (NotRetryable, Meaning("not_retryable", 409, "The task cannot be retried now")),
    (SchemaOutOfDate, Meaning("schema_out_of_date", 503, "The store must be migrated")),
    (AccessRefused, Meaning("forbidden", 403, "The key may not do this")),
    (ConfigurationError, Meaning("configuration", 400, "The set-up is wrong")),
    (SessionGone, Meaning("session_gone", 410, "The session is over")),
    (ClaimSuperseded, Meaning("superseded", 409, "A newer call has taken its place")),
    (StoreUnavailable, Meaning("store_unavailable", 503, "The store is out of reach")),
    (StoreFull, Meaning("store_full", 507, "The store's disk is full")),
    (StoreError, Meaning("store_failed", 500, "The store failed")),
    (TaskFailed, Meaning("task_failed", 409, "The task failed or was cancelled")),
    (TimeoutError, Meaning("timed_out", 504, "It did not happen in time")),
    (RotaError, Meaning("failed", 500, "The command failed")),
)


def meaning(error: BaseException) -> Meaning:
    """Return what an error means.

    >>> meaning(TaskNotFound("x")).code
    'not_found'
    """
    return next((found for kind, found in MEANINGS if isinstance(error, kind)), UNEXPECTED)


def problem_of(meant: Meaning, detail: str, **more: Any) -> dict[str, Any]:
    """Return a problem object."""
    return {
        "type": f"urn:rota:problem:{meant.code}",
        "title": meant.title,
        "status": meant.status,
        "code": meant.code,
        "detail": detail,
        **more,
    }


def place(error: InvalidTask) -> dict[str, str]:
    """Return what is wrong with one field, in the shape of the API."""
    return {"pointer": pointer(error.field), "detail": error.problem}


def pointer(field: str) -> str:
    """Return the place of a field as a JSON Pointer.

    >>> pointer("payload.students[2].phone")
    '/payload/students/2/phone'
    """
    return "/" + re.sub(r"\[(\d+)\]", r".\1", field).replace(".", "/")
