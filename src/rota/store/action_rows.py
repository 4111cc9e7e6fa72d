"""Actions as the tables of both stores have them, and back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from rota.actions import Action, ActionState, AmendOutcome, DeleteOutcome, Moved, Placed

_encode = msgspec.json.Encoder().encode
_body_of = msgspec.json.Decoder(Action).decode
_CHANGING: Final = (
    *("state", "after", "done", "changed", "skipped"),
    *("error", "next_at", "ended_at", "hold"),
)
"""What is not read from the body, in the order of the columns of `get_action`."""


def columns(action: Action) -> dict[str, Any]:
    """Return an action's columns by name; what has several values as Python has it."""
    return {
        "id": action.id,
        "tenant": action.tenant,
        "queues": action.queues,
        "body": to_json(action),
        **progress(action),
    }


def progress(action: Action) -> dict[str, Any]:
    """Return the columns that change while the action is carried on."""
    values = {name: getattr(action, name) for name in _CHANGING}
    return values | {"state": action.state.value, "skipped": to_json(action.skipped)}


def action_of(row: Iterable[Any]) -> Action:
    """Return the action in a row of `get_action`."""
    body, *rest = row
    values = dict(zip(_CHANGING, rest, strict=True))
    values["state"] = ActionState(values["state"])
    values["skipped"] = msgspec.json.decode(values["skipped"])
    return structs.replace(_body_of(body), **values)


def places(rows: Iterable[Any], ids: Sequence[str]) -> list[Placed | AmendOutcome]:
    """Return where tasks wait, from the rows of `placed`."""
    found = {row[0]: row for row in rows}
    return [_place(found.get(task_id)) for task_id in ids]


def _place(row: Any) -> Placed | AmendOutcome:
    if row is None:
        return AmendOutcome.NOT_FOUND
    return AmendOutcome.NOT_WAITING if row[1] is None else Placed(*row)


def amended(
    moves: Sequence[Moved], done: set[str], found: Mapping[str, Placed | AmendOutcome]
) -> list[AmendOutcome | None]:
    """Return what became of each move; None for a task that waits elsewhere than it was seen."""

    def became(task_id: str) -> AmendOutcome | None:
        if task_id in done:
            return AmendOutcome.DONE
        now = found.get(task_id, AmendOutcome.NOT_FOUND)
        return None if isinstance(now, Placed) else now

    return [became(move.was.id) for move in moves]


def deleted(ids: Sequence[str], done: set[str], known: Iterable[str]) -> list[DeleteOutcome]:
    """Return what became of each task that was to be deleted; `known` are those that are there."""
    there = set(known)
    return [
        DeleteOutcome.DONE
        if task_id in done
        else DeleteOutcome.NOT_FINISHED
        if task_id in there
        else DeleteOutcome.NOT_FOUND
        for task_id in ids
    ]


def to_json(value: Any) -> str:
    """Return a value as JSON text."""
    return _encode(value).decode()
