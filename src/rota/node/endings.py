"""What a handler's return or exception means for its task."""

import asyncio
import concurrent.futures
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from rota.backend import Report
from rota.clock import Micros
from rota.config import ERROR_TEXT_CHARS, RESULT_BYTES, TRACEBACK_CHARS
from rota.context import SoftTimeout
from rota.errors import (
    Cancel,
    CancelRequested,
    ConfigurationError,
    Fail,
    HandlerError,
    InvalidTask,
    ProcessDied,
    Retry,
    Snooze,
)
from rota.model import AttemptError, Claimed, State
from rota.payload import clean, encode
from rota.policy.lifecycle import (
    Cancelled,
    Completed,
    Ending,
    Failed,
    Snoozed,
    TimedOut,
    decide,
)
from rota.policy.retry import Backoff
from rota.rules import Verdicts, retry_after
from rota.times import duration, moment

_NOT_THE_HANDLERS = tuple(
    str(Path(file).parent) for file in (__file__, asyncio.__file__, concurrent.futures.__file__)
)

_NOTHING = Completed()
_ALL_ARE_RETRIED = Verdicts()


class Unreadable(Exception):
    """A payload that does not fit its handler; `cause` says where."""

    def __init__(self, cause: InvalidTask) -> None:
        super().__init__(str(cause))
        self.cause = cause


def of_result(result: Any) -> Completed:
    """Return how a handler that returned ends; `HandlerError` if the result is not JSON."""
    if result is None:
        return _NOTHING
    try:
        return Completed(encode(result, "result", most=RESULT_BYTES))
    except InvalidTask as error:
        raise HandlerError(f"the handler's {error}; return JSON values or None") from None


def of_exception(
    error: BaseException,
    task: Claimed,
    session_id: str,
    now: Micros,
    verdicts: Verdicts = _ALL_ARE_RETRIED,
) -> Ending:
    """Return how a handler that raised ends (R4.2).

    What it says itself (`Retry`, `Snooze`, `Fail`, `Cancel`) goes before the rules of its kind.
    """
    try:
        match error:
            case Snooze():
                return Snoozed(_until(error, now))
            case Cancel():
                return Cancelled(clean(str(error), ERROR_TEXT_CHARS))
            case Retry():
                after = None if error.after is None else duration(error.after, "Retry.after")
                least = None if error.least is None else duration(error.least, "Retry.least")
                return Failed(describe(error, task, session_id, now), after=after, least=least)
            case CancelRequested():
                return Cancelled(clean(str(error), ERROR_TEXT_CHARS))
            case Fail() | HandlerError():
                return Failed(describe(error, task, session_id, now), permanent=True)
            case ProcessDied() | SoftTimeout():
                return Failed(describe(error, task, session_id, now))
    except InvalidTask as wrong:
        return Failed(describe(wrong, task, session_id, now))
    told = describe(error, task, session_id, now)
    if verdicts.permanent(error):
        return Failed(told, permanent=True)
    return Failed(told, after=retry_after(error, now))


def unreadable(error: InvalidTask, task: Claimed, session_id: str, now: Micros) -> Failed:
    """Return how a task ends whose payload does not fit its handler: no retry would help."""
    return Failed(describe(error, task, session_id, now), permanent=True)


def timed_out(task: Claimed, session_id: str, now: Micros) -> TimedOut:
    """Return how a task ends that ran beyond its timeout (R4.3)."""
    seconds = (task.timeout or 0) / 1_000_000
    message = f"ran longer than its timeout of {seconds:g} s"
    return TimedOut(
        AttemptError(
            at=now, attempt=task.attempt, type="TimedOut", message=message, session=session_id
        )
    )


def last_error(report: Report) -> AttemptError | None:
    """Return the error of a report that makes a dead letter, or None of any other (R4.4)."""
    ending = report.ending
    if not isinstance(ending, Failed | TimedOut):
        return None
    policy = report.backoff
    if report.task.retry is not None:
        with suppress(ConfigurationError):
            policy = Backoff.from_json(report.task.retry)
    move = decide(report.task, ending, policy, now=0, chance=0.0)
    return ending.error if move.to is State.FAILED else None


def describe(error: BaseException, task: Claimed, session_id: str, now: Micros) -> AttemptError:
    """Return an exception as text that can always be stored (cases B136, B157)."""
    return AttemptError(
        at=now,
        attempt=task.attempt,
        type=clean(type(error).__qualname__, 200),
        message=clean(_message(error), ERROR_TEXT_CHARS),
        traceback=clean(_traceback(error), TRACEBACK_CHARS),
        session=session_id,
    )


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as own:
        return f"(its text could not be made: {type(own).__qualname__})"


def _traceback(error: BaseException) -> str:
    try:
        trace = error.__traceback__
        # The first frames are the way to the handler; they tell its author nothing.
        while (
            trace is not None
            and trace.tb_next is not None
            and trace.tb_frame.f_code.co_filename.startswith(_NOT_THE_HANDLERS)
        ):
            trace = trace.tb_next
        return "".join(traceback.format_exception(type(error), error, trace))
    except Exception as own:
        return f"(no traceback: {type(own).__qualname__})"


def _until(snooze: Snooze, now: Micros) -> Micros:
    if snooze.until is not None:
        return moment(snooze.until, "Snooze.until")
    return now + duration(snooze.after, "Snooze.after")
