"""Which errors of a kind are worth another attempt, and how long a server said to wait (R4.2)."""

import logging
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

from rota.clock import micros
from rota.errors import ConfigurationError, InvalidTask
from rota.model import Micros
from rota.times import duration

log = logging.getLogger("rota.task")

Rule = type[BaseException] | Callable[[BaseException], bool | None]
"""An exception class, or a function that says of an exception: True, False, or None (no opinion).
"""
Rules = Rule | tuple[Rule, ...]


class Verdicts:
    """Tells retryable errors from permanent ones, by class and by rule.

    What `fail_on` names is permanent. Otherwise, if `retry_on` names classes, only those are
    retried. A rule of either that has an opinion decides; `fail_on` is asked first, classes before
    functions. Without either everything is retried.
    """

    def __init__(self, retry_on: Rules = (), fail_on: Rules = ()) -> None:
        self._retry_classes, self._retry_rules = _sorted(retry_on, "retry_on")
        self._fail_classes, self._fail_rules = _sorted(fail_on, "fail_on")

    def permanent(self, error: BaseException) -> bool:
        """Say whether running the task again would not help."""
        if isinstance(error, self._fail_classes):
            return True
        if (fails := _opinion(self._fail_rules, error)) is not None:
            return fails
        if isinstance(error, self._retry_classes):
            return False
        if (retries := _opinion(self._retry_rules, error)) is not None:
            return not retries
        return bool(self._retry_classes)


def _sorted(
    rules: Rules, field: str
) -> tuple[tuple[type[BaseException], ...], list[Callable[[BaseException], bool | None]]]:
    classes, functions = [], []
    for rule in rules if isinstance(rules, tuple) else (rules,):
        if isinstance(rule, type) and issubclass(rule, BaseException):
            classes.append(rule)
        elif not isinstance(rule, type) and callable(rule):
            functions.append(rule)
        else:
            raise ConfigurationError(
                f"{field} takes exception classes and functions of an exception, not {rule!r}"
            )
    return tuple(classes), functions


def _opinion(
    rules: list[Callable[[BaseException], bool | None]], error: BaseException
) -> bool | None:
    for rule in rules:
        try:
            opinion = rule(error)
        except Exception:
            log.exception("the rule %r failed; it has no opinion", rule)
            continue
        if opinion is not None:
            return bool(opinion)
    return None


def retry_after(error: BaseException, now: Micros) -> Micros | None:
    """Return the wait that came with an error, from its `retry_after` or its response's header.

    Seconds, a `timedelta` or an HTTP date; what cannot be read counts as nothing.
    """
    try:
        told = _told(error)
    except Exception:
        log.exception("what %s says of a retry cannot be read", type(error).__qualname__)
        return None
    if isinstance(told, bytes):
        told = told.decode("latin-1")
    if told is None:
        return None
    try:
        return duration(float(told) if isinstance(told, str) else told, "retry_after")
    except (InvalidTask, ValueError):
        return _until(told, now) if isinstance(told, str) else None


def _told(error: BaseException) -> Any:
    told = getattr(error, "retry_after", None)
    for bearer in (getattr(error, "response", None), error):
        get = getattr(getattr(bearer, "headers", None), "get", None)
        if told is None and callable(get):
            # Most clients' headers do not mind the case; a plain dict does.
            told = get("Retry-After") or get("retry-after")
    return told


def _until(told: str, now: Micros) -> Micros | None:
    try:
        at = parsedate_to_datetime(told)
        return max(micros(at) - now, 0)
    except (TypeError, ValueError, OverflowError):
        return None
