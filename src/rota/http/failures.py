"""What a server's problems mean to whoever called it: the errors that a store would have raised."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from rota.errors import (
    AccessRefused,
    ClaimSuperseded,
    ConfigurationError,
    InvalidTask,
    Overloaded,
    RotaError,
    SessionGone,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from rota.problems import MEANINGS

E = TypeVar("E", bound=RotaError)

_SAID: dict[str, type[RotaError]] = {"protocol_unsupported": ConfigurationError}
for _kind, _meant in MEANINGS:
    if issubclass(_kind, RotaError):
        _SAID.setdefault(_meant.code, _kind)


class ServerAway(StoreUnavailable):
    """A server that cannot do it now; in `retry_after` seconds it wants to be asked again."""

    retry_after: float = 0.0


class TooLarge(StoreError):
    """What was sent is more than the server, or what stands before it, takes at a time."""


_ELSEWHERE = frozenset({429, 502, 503, 504, 408, 425})
"""Of these it is not known what was done, or nothing was: the call may be repeated."""


def failure(status: int, body: bytes, headers: Mapping[str, str], where: str) -> RotaError:
    """Return the error that an answer means; fields are named as the API names them."""
    problem = _problem(body)
    code = str(problem.get("code", ""))
    detail = str(problem.get("detail", "")) or f"it answered {status}"
    if status in (401, 403):
        return AccessRefused(f"{where} refuses the key: {detail}; {_REMEDY[status]}")
    if code in ("session_gone", "superseded"):
        kind = SessionGone if code == "session_gone" else ClaimSuperseded
        return _made(kind, detail, session_id="")
    if code == "overloaded":
        return _made(Overloaded, detail, what="", retry_after=_wait(problem, headers, 1.0))
    if status == 422:
        return _refused(problem, code, detail)
    if code == "store_full":
        return StoreFull(f"{where}: {detail}")
    if status == 413:
        return TooLarge(f"{where}: {detail}")
    if status in _ELSEWHERE or status // 100 == 3:
        title = str(problem.get("title", "")) or f"it answered {status}"
        away = ServerAway(f"{where}: {title}")
        away.retry_after = _wait(problem, headers, 0.0)
        return away
    kind_of = _SAID.get(code)
    if kind_of is not None and status != 500:
        return _made(kind_of, detail, **_NAMED.get(code, {}))
    if status in (404, 405) and not code:
        return ConfigurationError(f"{where} is no Rota server, or an older one ({status})")
    return StoreError(f"{where}: {detail}")


_REMEDY = {
    401: "give one as token= or in $ROTA_TOKEN; `rota keys create` makes it",
    403: "it lacks the role for this; `rota keys create --role …` makes one that has it",
}
_NAMED: dict[str, dict[str, Any]] = {
    "not_found": {"task_id": ""},
    "schedule_exists": {"name": ""},
    "schedule_changed": {"name": ""},
    "schedule_busy": {"name": ""},
}


def _wait(problem: Mapping[str, Any], headers: Mapping[str, str], default: float) -> float:
    """Return the seconds after which to come back, as far as that is said in seconds."""
    said = problem.get("retry_after_s", headers.get("Retry-After"))
    try:
        wait = float(said)
    except (TypeError, ValueError):
        return default  # not said, or as a date
    return wait if 0 <= wait < float("inf") else default


def _problem(body: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _refused(problem: dict[str, Any], code: str, detail: str) -> RotaError:
    kind = _SAID.get(code, InvalidTask)
    if not issubclass(kind, InvalidTask):
        kind = InvalidTask
    errors = problem.get("errors") or [{}]
    field = str(errors[0].get("pointer", "")).strip("/").replace("/", ".")
    said = str(errors[0].get("detail", "")) or detail
    made = _made(kind, f"{field}: {said}" if field else said, field=field, problem=said)
    if code == "unknown_kind":
        made.kind = field  # type: ignore[attr-defined]
    return made


def _made(kind: type[E], detail: str, **attributes: Any) -> E:
    """Return an error as it was raised elsewhere; its own text is made of parts that are there."""
    error = kind.__new__(kind)
    Exception.__init__(error, detail)
    for name, value in attributes.items():
        setattr(error, name, value)
    return error
