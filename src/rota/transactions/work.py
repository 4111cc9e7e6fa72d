"""The pieces of work that are done in a caller's transaction.

On PostgreSQL each is one statement, which calls a function of the schema. SQLite has no functions:
there it is what the store itself does, statement by statement; that store is loaded at first use.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from rota.clock import wall
from rota.model import Accepted, CancelOutcome, Claimed, Micros, NewTask, State, Transition
from rota.store.sqlfiles import blocks
from rota.transactions.borrowed import Rows

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


class Work(msgspec.Struct, Generic[T], frozen=True):
    """What is to be done, for either kind of database.

    `block` is the statement on PostgreSQL, `values` its parameters and `answer` what its rows
    mean. `steps` does the same on a SQLite connection.
    """

    block: str
    values: dict[str, str | None]
    answer: Callable[[Rows], T]
    steps: Callable[[Any], T]


def submit(tasks: Sequence[NewTask], now: Micros) -> Work[list[Accepted]]:
    """Store tasks, all or none; what each key had made before is returned instead (R1.4)."""

    def steps(connection: Any) -> list[Accepted]:
        from rota.store.sqlite import accept

        return accept.submit(connection, tasks, now)

    return Work(
        "submit_inside",
        {"tasks": _encode(tasks).decode()},
        lambda rows: [Accepted(task_id, created) for task_id, created in rows],
        steps,
    )


def cancel(ids: Sequence[str], now: Micros, deadline: Micros | None) -> Work[list[CancelOutcome]]:
    """Cancel tasks, or ask them to stop; say what became of each (R5.1)."""

    def answer(rows: Rows) -> list[CancelOutcome]:
        outcomes = {task_id: CancelOutcome(outcome) for task_id, outcome in rows}
        return [outcomes.get(task_id, CancelOutcome.NOT_FOUND) for task_id in ids]

    def steps(connection: Any) -> list[CancelOutcome]:
        from rota.store.sqlite import cancel as cancelling

        return cancelling.cancel(connection, ids, now, deadline)

    return Work(
        "cancel_inside",
        {"ids": ",".join(ids), "deadline": None if deadline is None else str(deadline)},
        answer,
        steps,
    )


def once(key: str) -> Work[bool]:
    """Record an effect; true the first time only (R3.5)."""
    block = blocks("sqlite")["record_effect"]

    def steps(connection: Any) -> bool:
        return len(list(connection.execute(block, {"key": key, "at": wall()}))) == 1

    return Work("record_effect", {"key": key}, lambda rows: bool(rows[0][0]), steps)


def complete(task: Claimed, session_id: str, result: str | None) -> Work[bool]:
    """Complete a task that the session holds under its fence; false if it does not (R3.2)."""

    def steps(connection: Any) -> bool:
        from rota.store.sqlite import finish

        move = Transition(task.id, task.fence, State.COMPLETED, result=result)
        return finish.finish(connection, session_id, [move], wall())[0]

    return Work(
        "complete_inside",
        {"id": task.id, "session": session_id, "fence": str(task.fence), "result": result},
        lambda rows: bool(rows[0][0]),
        steps,
    )
