"""Which tasks a request means: filters of queries and bodies, by an allow-list (R9.1, http §3)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from rota.errors import InvalidTask
from rota.filters import NAMES, check_filter
from rota.model import State, TaskFilter
from rota.problems import pointer
from rota.server.problems import Problem
from rota.server.route import In

Text = Annotated[str, Meta(max_length=1_024)]
Texts = Text | Annotated[list[Text], Meta(min_length=1, max_length=50)]
Scalar = str | int | float | bool | None

_OURS = {"q": "id_or_key", "error_group": "group"}
_THEIRS = {ours: theirs for theirs, ours in _OURS.items()}
_LISTS = ("state", "queue", "kind", "tenant")
"""In a query several values are separated by commas."""


class _Narrowed(In, frozen=True):
    """What a query and a body may narrow alike."""

    tag: Text | UnsetType = UNSET
    key: Text | UnsetType = UNSET
    concurrency_key: Text | UnsetType = UNSET
    schedule: Text | UnsetType = UNSET
    session: Text | UnsetType = UNSET
    error_type: Text | UnsetType = UNSET
    error_group: Text | UnsetType = UNSET
    q: Text | UnsetType = UNSET
    created_from: Text | UnsetType = UNSET
    created_to: Text | UnsetType = UNSET
    run_from: Text | UnsetType = UNSET
    run_to: Text | UnsetType = UNSET
    finished_from: Text | UnsetType = UNSET
    finished_to: Text | UnsetType = UNSET


class TaskQuery(_Narrowed, frozen=True):
    """Which tasks: all that is given must match; of several values, separated by commas, one must.

    `q` is the beginning of an id or a key. `…_from` takes in its instant, `…_to` leaves it out.
    `payload.student.id=17` compares what is at a path of the payload with a JSON scalar.
    """

    dotted: ClassVar[tuple[str, ...]] = ("payload",)

    state: Text | UnsetType = UNSET
    queue: Text | UnsetType = UNSET
    kind: Text | UnsetType = UNSET
    tenant: Text | UnsetType = UNSET
    payload: dict[str, Text] | UnsetType = UNSET


class TaskWhere(_Narrowed, frozen=True):
    """Which tasks: all that is given must match, and of several values one. `all` is everything."""

    state: Texts | UnsetType = UNSET
    queue: Texts | UnsetType = UNSET
    kind: Texts | UnsetType = UNSET
    tenant: Texts | UnsetType = UNSET
    payload: dict[Text, Scalar] | UnsetType = UNSET
    discarded: bool | UnsetType = UNSET
    all: bool | UnsetType = UNSET


def asked(given: Struct) -> dict[str, Any]:
    """Return the filters of a query or body that are set, by their names in HTTP."""
    known = TaskWhere.__struct_fields__
    return {
        name: value
        for name in given.__struct_fields__
        if name in known and (value := getattr(given, name)) is not UNSET
    }


def of_query(given: Struct) -> TaskFilter:
    """Return the filter of a query; `Problem` 422 names the parameter that is wrong."""
    values = {name: value for name, value in asked(given).items() if name != "discarded"}
    for name in _LISTS:
        if "," in values.get(name, ""):
            values[name] = values[name].split(",")
    if "payload" in values:
        values["payload"] = {path: _scalar(text) for path, text in values["payload"].items()}
    return _checked(values, "query", "")


def of_body(given: TaskWhere) -> TaskFilter:
    """Return the filter of a body; `Problem` 422 names the field that is wrong."""
    values = asked(given)
    values.pop("all", None)
    discarded = values.pop("discarded", False)
    return structs.replace(_checked(values, "body", "/filter"), discarded=discarded)


def failed(where: TaskFilter, *, discarded: bool = False) -> TaskFilter:
    """Return the filter among dead letters."""
    return structs.replace(where, states=(State.FAILED,), discarded=discarded)


def wrong(name: str, detail: str) -> Problem:
    """Return the problem of one parameter of a query."""
    place = {"in": "query", "pointer": pointer(name), "detail": detail}
    return Problem("validation_failed", f"{name}: {detail}", errors=[place])


def _checked(values: Mapping[str, Any], place: str, under: str) -> TaskFilter:
    try:
        return check_filter({_OURS.get(name, name): value for name, value in values.items()}, NAMES)
    except InvalidTask as error:
        name = _THEIRS.get(error.field, error.field)
        raise Problem(
            "validation_failed",
            f"{name}: {error.problem}",
            errors=[{"in": place, "pointer": under + pointer(name), "detail": error.problem}],
        ) from None


def _scalar(text: str) -> Any:
    """Return the JSON scalar that a text is; what is none is a text itself."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text
