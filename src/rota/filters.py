"""Which tasks a caller means: filters as people write them, checked and named in errors (R9.1)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from msgspec import structs

from rota.clock import Micros, parse_id
from rota.errors import InvalidTask
from rota.model import State, TaskFilter
from rota.payload import encode
from rota.registry import did_you_mean
from rota.times import Instant, moment


class DeadLetterFilter(TypedDict, total=False):
    """What dead letters are found by; all that is given must match.

    Of several queues, kinds or tenants one must match. `…_from` and `…_to` take in the one and
    leave out the other. `schedule` is the id of the schedule that made them. `id_or_key` is the
    beginning of an id or a key. `payload` has what is found at a path, `{"student.id": 17}`.
    """

    queue: str | Sequence[str] | None
    kind: str | Sequence[str] | None
    tenant: str | Sequence[str] | None
    tag: str | None
    key: str | None
    concurrency_key: str | None
    schedule: str | None
    id_prefix: str | None
    group: str | None
    error_type: str | None
    created_from: Instant | None
    created_to: Instant | None
    run_from: Instant | None
    run_to: Instant | None
    finished_from: Instant | None
    finished_to: Instant | None
    session: str | None
    id_or_key: str | None
    payload: Mapping[str, Any] | None


class Filter(DeadLetterFilter, total=False):
    """What tasks are found by; all that is given must match, and one of several states."""

    state: State | str | Sequence[State | str] | None


VALUES_MOST = 50
"""So many values one field may have."""
PATHS_MOST = 2
"""So many places of a payload are compared: each is read from the row itself."""

_SEVERAL = {"queue": "queues", "kind": "kinds", "tenant": "tenants"}
_TEXTS = ("tag", "key", "concurrency_key", "id_prefix", "group", "error_type", "id_or_key")
_IDS = {
    "schedule": "app.schedules.get(name).id tells it",
    "session": "`rota sessions list` tells them",
}
_SPANS = ("created", "run", "finished")
_INSTANTS = tuple(f"{span}_{end}" for span in _SPANS for end in ("from", "to"))
NAMES = ("state", *_SEVERAL, *_TEXTS, *_IDS, *_INSTANTS, "payload")
"""Every field that tasks can be filtered by."""
_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}(\.[A-Za-z_][A-Za-z0-9_-]{0,63}){0,7}")


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
    for name, value in values.items():
        if name in _SEVERAL:
            checked |= _one_or_several(value, name)
        elif name in _IDS:
            checked[name] = _id(value, name)
        elif name == "payload":
            checked[name] = _payload(value)
        else:
            checked[name] = moment(value, name) if name in _INSTANTS else _text(value, name)
    for span in _SPANS:
        if _empty_span(checked.get(f"{span}_from"), checked.get(f"{span}_to")):
            raise InvalidTask(f"{span}_to", f"must lie after {span}_from")
    if checked.get("payload") and not (checked.get("kind") or checked.get("kinds")):
        raise InvalidTask("kind", "is needed to look into payloads: give the kind of the tasks")
    return TaskFilter(**checked)


def within(
    where: TaskFilter, tenant: str | None = None, queues: Sequence[str] | None = None
) -> TaskFilter:
    """Return the filter, narrowed to a tenant and to some queues; None narrows nothing.

    >>> within(TaskFilter(queues=("a", "b")), "board", ("b", "c")).queues
    ('b',)
    >>> within(TaskFilter(tenant="other"), "board").queues
    ()
    """
    if tenant is not None:
        foreign = where.tenant not in (None, tenant)
        where = structs.replace(where, tenant=tenant, queues=() if foreign else where.queues)
    if queues is not None:
        asked = queues if where.queues is None else where.queues
        where = structs.replace(where, queues=tuple(q for q in asked if q in queues))
    return where


def check_dead_letters(given: Mapping[str, Any], *, discarded: bool = False) -> TaskFilter:
    """Return a filter among the dead letters; `InvalidTask` names the field that is wrong."""
    where = check_filter(given, NAMES[1:])
    return structs.replace(where, states=(State.FAILED,), discarded=discarded)


def _states(given: State | str | Sequence[State | str]) -> tuple[State, ...]:
    names = [given] if isinstance(given, str) else list(given)
    try:
        return tuple(State(name) for name in names)
    except ValueError as error:
        raise InvalidTask("state", f"{error}; the states are {', '.join(State)}") from None


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidTask(name, f"must be text, not {value!r:.80}")
    return value


def _one_or_several(value: object, name: str) -> dict[str, Any]:
    if isinstance(value, str):
        return {name: value}
    if not isinstance(value, Sequence) or not value:
        raise InvalidTask(name, f"must be text, or a list of texts, not {value!r:.80}")
    if len(value) > VALUES_MOST:
        raise InvalidTask(name, f"has more than {VALUES_MOST} values")
    return {_SEVERAL[name]: tuple(_text(one, name) for one in value)}


def _payload(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping) or len(value) > PATHS_MOST:
        raise InvalidTask("payload", f"must map at most {PATHS_MOST} paths to their values")
    return tuple((_path(path), _scalar(one, path)) for path, one in value.items())


def _path(path: object) -> str:
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise InvalidTask("payload", f"{path!r:.80} is no path: names with dots, like student.id")
    return path


def _scalar(value: object, path: str) -> str:
    if value is not None and not isinstance(value, str | int | float):
        raise InvalidTask(f"payload.{path}", "must be a text, a number, true, false or null")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidTask(f"payload.{path}", "is too large a number")
    return encode(value, f"payload.{path}")


def _id(value: object, name: str) -> str:
    known = parse_id(_text(value, name))
    if known is None:
        raise InvalidTask(name, f"{value!r:.80} is no id; {_IDS[name]}")
    return known


def _empty_span(start: Micros | None, end: Micros | None) -> bool:
    return start is not None and end is not None and end <= start
