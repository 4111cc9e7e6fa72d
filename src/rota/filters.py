"""Which tasks a caller means: filters as people write them, checked and named in errors (R9.1)."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from rota.clock import Micros, parse_id
from rota.errors import InvalidTask
from rota.model import State, TaskFilter
from rota.registry import did_you_mean
from rota.times import Instant, moment


class DeadLetterFilter(TypedDict, total=False):
    """What dead letters are found by; all that is given must match.

    `created_from` and `created_to` take in the one and leave out the other. `schedule` is the id of
    the schedule that made them.
    """

    queue: str | None
    kind: str | None
    tenant: str | None
    tag: str | None
    key: str | None
    concurrency_key: str | None
    schedule: str | None
    id_prefix: str | None
    group: str | None
    error_type: str | None
    created_from: Instant | None
    created_to: Instant | None


class Filter(DeadLetterFilter, total=False):
    """What tasks are found by; all that is given must match, and one of several states."""

    state: State | str | Sequence[State | str] | None


_TEXTS = (
    "queue",
    "kind",
    "tenant",
    "tag",
    "key",
    "concurrency_key",
    "id_prefix",
    "group",
    "error_type",
)
_INSTANTS = ("created_from", "created_to")
NAMES = ("state", *_TEXTS, "schedule", *_INSTANTS)
"""Every field that tasks can be filtered by."""


def check_filter(given: Mapping[str, Any], names: Sequence[str] = NAMES) -> TaskFilter:
    """Return a filter; `InvalidTask` names the field that is none or cannot match anything.

    >>> check_filter({"state": "ready", "queue": "sms"}).states
    (<State.READY: 'ready'>,)
    """
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names) or f"; there are {', '.join(names)}"
            raise InvalidTask(name, f"is not a filter{hint}")
    values = {name: value for name, value in given.items() if value is not None}
    checked: dict[str, Any] = {"states": _states(values.pop("state", ()))}
    if "schedule" in values:
        checked["schedule"] = _id(values.pop("schedule"), "schedule")
    for name, value in values.items():
        checked[name] = moment(value, name) if name in _INSTANTS else _text(value, name)
    if _empty_span(checked.get("created_from"), checked.get("created_to")):
        raise InvalidTask("created_to", "must lie after created_from")
    return TaskFilter(**checked)


def check_dead_letters(given: Mapping[str, Any], *, discarded: bool = False) -> TaskFilter:
    """Return a filter among the dead letters; `InvalidTask` names the field that is wrong."""
    where = check_filter(given, NAMES[1:])
    fields = {name: getattr(where, name) for name in where.__struct_fields__}
    return TaskFilter(**fields | {"states": (State.FAILED,), "discarded": discarded})


def _states(given: State | str | Sequence[State | str]) -> tuple[State, ...]:
    names = [given] if isinstance(given, str) else list(given)
    try:
        return tuple(State(name) for name in names)
    except ValueError as error:
        raise InvalidTask("state", f"{error}; the states are {', '.join(State)}") from None


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidTask(name, f"must be text, not {value!r}")
    return value


def _id(value: object, name: str) -> str:
    known = parse_id(_text(value, name))
    if known is None:
        raise InvalidTask(name, f"{value!r} is no id; app.schedules.get(name).id tells it")
    return known


def _empty_span(start: Micros | None, end: Micros | None) -> bool:
    return start is not None and end is not None and end <= start
