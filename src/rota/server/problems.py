"""Errors as HTTP answers: problem objects that name the field and say what to do (RFC 9457)."""

import logging
import math
from collections.abc import Sequence
from typing import Any

import msgspec

from rota.clock import Clock
from rota.errors import InvalidTask, Overloaded, StoreUnavailable
from rota.problems import MEANINGS, UNEXPECTED, Meaning, meaning, place, problem_of
from rota.server import choices
from rota.server.route import Answer, json

log = logging.getLogger("rota.server")

MEDIA = "application/problem+json"
AWAY_SECONDS = 2
"""A store that is away is asked for again after so many seconds."""
SAID_SECONDS = 1.0

_TITLES = {
    "unreadable": (400, "The request cannot be read"),
    "cursor_invalid": (400, "The cursor is not one of ours"),
    "unauthorised": (401, "A key is needed"),
    "forbidden": (403, "The key may not do this"),
    "csrf": (403, "The request did not come from the dashboard"),
    "tenant_mismatch": (403, "The key is for another tenant"),
    "not_found": (404, "There is nothing here"),
    "method_not_allowed": (405, "The method does not fit"),
    "request_timed_out": (408, "The request came too slowly"),
    "request_in_progress": (409, "The same request is under way"),
    "conflict": (409, "It was changed meanwhile"),
    "superseded": (409, "A newer call has taken its place"),
    "session_gone": (410, "The session is over"),
    "version_mismatch": (412, "It has another version"),
    "too_large": (413, "The request is too large"),
    "media_type": (415, "The body has another type"),
    "misdirected": (421, "The host is not this server"),
    "validation_failed": (422, "The request does not fit"),
    "key_reused": (422, "The idempotency key was used for something else"),
    "cursor_mismatch": (422, "The cursor belongs to other filters"),
    "rate_limited": (429, "Too many requests"),
    "too_many_streams": (429, "Too many streams are open"),
    "busy": (503, "The server has too much to do"),
    "shutting_down": (503, "The server stops"),
}
"""The problems that come from HTTP itself; a part adds its own with `Problem.register`."""


class Problem(Exception):
    """An answer that says what is wrong, by its stable `code`."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        errors: Sequence[dict[str, Any]] = (),
        headers: Sequence[tuple[str, str]] = (),
        **more: Any,
    ) -> None:
        super().__init__(detail)
        status, title = _TITLES[code]
        self.meaning = Meaning(code, status, title)
        self.errors = list(errors)
        self.headers = tuple(headers)
        self.more = more

    @staticmethod
    def register(code: str, status: int, title: str) -> None:
        """Make a further code known; codes are stable once they are released."""
        known = _TITLES.setdefault(code, (status, title))
        assert known == (status, title), f"{code} is {known} already"

    @staticmethod
    def codes() -> dict[str, tuple[int, str]]:
        """Return every code with its status and title, those of Rota's own errors among them."""
        own = (UNEXPECTED, *(meant for _, meant in MEANINGS))
        return {meant.code: (meant.status, meant.title) for meant in own} | _TITLES


class Outages:
    """Says in the log that the store is away: once a second, however many calls it refused."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said = -SAID_SECONDS
        self._since = 0

    def note(self, error: Exception, request_id: str) -> None:
        """Take note of a call that could not be answered; `request_id` is the one that is named."""
        self._since += 1
        now = self._clock.monotonic()
        if now - self._said < SAID_SECONDS:
            return
        told = {"request_id": request_id, "calls": self._since}
        log.warning("the store is out of reach (calls: %d): %s", self._since, error, extra=told)
        self._said, self._since = now, 0


def answer_of(error: Exception, instance: str, request_id: str, outages: Outages) -> Answer:
    """Return the answer that an error becomes; what was not foreseen is logged with its trace."""
    headers: tuple[tuple[str, str], ...] = ()
    more: dict[str, Any] = {}
    if isinstance(error, Problem):
        meant, detail, headers = error.meaning, str(error), error.headers
        more = error.more | ({"errors": error.errors} if error.errors else {})
    else:
        meant, detail = meaning(error), str(error)
        if isinstance(error, InvalidTask):
            more = {"errors": [{"in": "body", **place(error)}]}
        elif isinstance(error, Overloaded):
            headers = (("Retry-After", str(max(1, math.ceil(error.retry_after)))),)
            more = {"retry_after_s": error.retry_after}
        elif isinstance(error, StoreUnavailable):
            # Where it is and what its driver says is for the log, not for callers.
            outages.note(error, request_id)
            detail, headers = "nothing is known to be lost; try again", _again()
        elif meant.status >= 500:
            told = {"request_id": request_id}
            log.error("request %s failed", request_id, exc_info=error, extra=told)
            detail = f"it is in the server's log under request {request_id}"
    if meant.status in (429, 503):
        headers = headers if _said_when(headers) else (*headers, *_again())
        more.setdefault("retry_after_s", _said_when(headers))
    shown = problem_of(meant, detail, instance=instance, request_id=request_id, **more)
    return Answer(status=meant.status, body=json(shown), media=MEDIA, headers=headers)


def of_decoding(error: msgspec.ValidationError, where: str = "body", wanted: Any = None) -> Problem:
    """Return the problem of a value that does not fit its type, with the place as JSON Pointer.

    With the type that was `wanted` it says what would have fitted.
    """
    text, _, at = str(error).partition(" - at `")
    pointer = at.removesuffix("`").removeprefix("$").replace("[", ".").replace("]", "")
    path = pointer.split(".")[1:]
    pointer = pointer.replace(".", "/")
    if text.startswith("Invalid enum value"):
        text += choices.words(wanted, path)
    if text.startswith(("Object missing required field", "Object contains unknown field")):
        field = text.split("`")[1].replace("~", "~0").replace("/", "~1")
        pointer = f"{pointer}/{field}"
        unknown = f"is not known here{choices.meant(wanted, [*path, field])}"
        text = "is missing" if "missing" in text else unknown
    text = text[:1].lower() + text[1:]
    return Problem(
        "validation_failed",
        f"{pointer.lstrip('/').replace('/', '.') or where}: {text}",
        errors=[{"in": where, "pointer": pointer, "detail": text}],
    )


def _said_when(headers: Sequence[tuple[str, str]]) -> float | None:
    return next((float(value) for name, value in headers if name == "Retry-After"), None)


def _again() -> tuple[tuple[str, str], ...]:
    return (("Retry-After", str(AWAY_SECONDS)),)
