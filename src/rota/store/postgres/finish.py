"""Carries out transitions: one guarded statement for each state that tasks go to."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from rota.config import ERRORS_KEPT
from rota.model import Micros, State, Transition
from rota.store.postgres.statements import Connection, Record, statement
from rota.store.postgres.tally import minute_of

_STATEMENT_OF = {
    State.COMPLETED: "to_completed",
    State.CANCELLED: "to_cancelled",
    State.SCHEDULED: "to_scheduled",
    State.READY: "to_ready",
    State.FAILED: "to_failed",
}

_Group = Sequence[Transition]


def _texts(values: list[str | None]) -> list[str | None] | None:
    # Mostly there are none; a null is cheaper than an array of nulls.
    return None if values.count(None) == len(values) else values


_COLUMNS: dict[str, Callable[[_Group], Any]] = {
    "ids": lambda group: [t.id for t in group],
    "fences": lambda group: [t.fence for t in group],
    "run_ats": lambda group: [t.run_at for t in group],
    "ranks": lambda group: [t.rank for t in group],
    "attempts": lambda group: [t.attempt for t in group],
    "losts": lambda group: [t.lost for t in group],
    "snoozes": lambda group: [t.snoozes for t in group],
    "results": lambda group: _texts([t.result for t in group]),
    "errors": lambda group: _texts([t.error for t in group]),
    "reasons": lambda group: _texts([t.reason for t in group]),
    "groups": lambda group: _texts([t.group for t in group]),
    "error_types": lambda group: _texts([t.error_type for t in group]),
    "error_shapes": lambda group: _texts([t.error_shape for t in group]),
}


async def finish(
    connection: Connection, session_id: str, transitions: Sequence[Transition], now: Micros
) -> list[bool]:
    """Carry out the transitions whose session and fence are right; say for each if it was."""
    groups: dict[str, list[int]] = {}
    # By id, so that two who report the same tasks cannot block each other; equal reports stay in
    # their order.
    for place in sorted(range(len(transitions)), key=lambda place: transitions[place].id):
        groups.setdefault(_statement_for(transitions[place]), []).append(place)
    applied = [False] * len(transitions)
    async with connection.transaction() if len(groups) > 1 else nullcontext():
        # In one order everywhere: each of them may write to the tally.
        for name, places in sorted(groups.items()):
            group = [transitions[place] for place in places]
            moved = await _move(connection, session_id, name, group, now)
            _mark(applied, places, group, moved)
    return applied


def _statement_for(transition: Transition) -> str:
    if transition.to is State.COMPLETED and not transition.keep:
        return "to_nothing"
    return _STATEMENT_OF[transition.to]


def _mark(applied: list[bool], places: list[int], group: _Group, moved: list[Record]) -> None:
    everything = len(moved) == len(group)
    left = set() if everything else {(row[0], row[1]) for row in moved}
    for place, transition in zip(places, group, strict=True):
        report = (transition.id, transition.fence)
        applied[place] = everything or report in left
        # Of two equal reports the first alone has applied.
        left.discard(report)


async def _move(
    connection: Connection, session_id: str, name: str, group: _Group, now: Micros
) -> list[Record]:
    sql, names = statement(name)
    single = {"session": session_id, "now": now, "minute": minute_of(now), "kept": ERRORS_KEPT}
    values = [_COLUMNS[name](group) if name in _COLUMNS else single[name] for name in names]
    rows: list[Record] = await connection.fetch(sql, *values)
    return rows
