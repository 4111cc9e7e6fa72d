"""Finishing: each report is obeyed only under the session and the fence that hold the task."""

from collections.abc import Iterable, Sequence
from typing import Final

import apsw

from rota.config import ERRORS_KEPT
from rota.model import Micros, State, Transition
from rota.store.sqlfiles import blocks
from rota.store.sqlite import tally
from rota.store.sqlite.rows import held_in, to_json

_SQL = blocks("sqlite")

_STAYS = State.READY
"""The one state whose tasks do not leave the table `ready`."""


_OVER: Final[dict[State, tally.Over]] = {
    State.COMPLETED: "finished",
    State.CANCELLED: "finished",
    State.FAILED: "dead_letter",
}
"""Where tasks that have ended lie; they are counted."""

Held = tuple[str, int]
"""A task's id and the fence that it was held under."""
Way = tuple[State, bool]
"""To which state a task goes, and whether it leaves a row."""


def finish(
    connection: apsw.Connection, session_id: str, transitions: Sequence[Transition], now: Micros
) -> list[bool]:
    """Carry out each report that still counts, and say which did."""
    firsts = {(report.id, report.fence): report for report in reversed(transitions)}
    applied: set[Held] = set()
    for way, reports in _by_way(firsts.values()).items():
        applied |= _carry_out(connection, session_id, way, reports, now)
    if len(firsts) == len(transitions):
        return [(report.id, report.fence) in applied for report in transitions]
    return _told_apart(transitions, applied)


def _by_way(reports: Iterable[Transition]) -> dict[Way, list[Transition]]:
    found: dict[Way, list[Transition]] = {}
    for report in reports:
        kept = report.keep or report.to is not State.COMPLETED
        found.setdefault((report.to, kept), []).append(report)
    return found


def _carry_out(
    connection: apsw.Connection,
    session_id: str,
    way: Way,
    reports: list[Transition],
    now: Micros,
) -> set[Held]:
    """Carry out reports that go one way; return which of them counted."""
    state, kept = way
    given = {"session": session_id, "reports": to_json(reports), "now": now, "kept": ERRORS_KEPT}
    if any(report.error is not None for report in reports):
        connection.execute(_SQL["add_errors"], given)
    if state is _STAYS:
        counted = held_in(connection.execute(_SQL["holding"], given).get)
        connection.execute(_SQL["to_ready"], given)
        return set(counted)
    if not kept:
        counted = held_in(connection.execute(_SQL["holding"], given).get)
        tally.dropped(connection, to_json([id_ for id_, _ in counted]), now)
        connection.execute(_SQL["to_nothing"], given)
        return set(counted)
    connection.execute(_SQL[f"to_{state}"], given)
    over = _OVER.get(state)
    moved = connection.changes() if over is None else tally.added(connection, over, now)
    # As a rule all of them count, and need not be asked for one by one.
    if moved == len(reports):
        counted = [(report.id, report.fence) for report in reports]
    else:
        counted = held_in(connection.execute(_SQL["holding"], given).get)
    connection.execute(_SQL["leave_ready"], {"ids": to_json([id_ for id_, _ in counted])})
    return set(counted)


def _told_apart(transitions: Sequence[Transition], applied: set[Held]) -> list[bool]:
    """Say which applied where several reports name one task and fence: the first of them."""
    answers = []
    for report in transitions:
        held = (report.id, report.fence)
        answers.append(held in applied)
        applied.discard(held)
    return answers
