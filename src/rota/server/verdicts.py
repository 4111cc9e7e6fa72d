"""What becomes of reports that did not apply: done before, too late, or of nothing there is (R3.2).

Whoever repeats a report after a broken link shall learn that the first one arrived; whoever was
taken for dead shall learn that too.
"""

from collections.abc import Container, Sequence

from rota.http.wire import Said
from rota.model import State, Task
from rota.server.holdings import Holding, session_gone
from rota.server.reports import FinishItem, NoteItem
from rota.server.route import Call


async def explain(
    call: Call,
    holding: Holding,
    items: Sequence[FinishItem] | Sequence[NoteItem],
    said: list[Said | None],
    sent: Container[int] = (),
) -> None:
    """Give a verdict to what did not apply, by where the task is now; `sent` is counted already.

    `Problem` 410 if the session is over and nothing of the report is carried out.
    """
    left = [at for at, one in enumerate(said) if one is None]
    if not left:
        return
    place = call.place
    tasks = await call.backend.get([items[at].id for at in left])
    standing = await place.engine.standing(holding.session_id)
    alive = standing is not None and standing.alive(place.clock.now())
    stale: list[Task] = []
    for at, task in zip(left, tasks, strict=True):
        said[at] = verdict = _verdict(holding, items[at], task, alive=alive)
        if task is not None and verdict.verdict == "stale" and at not in sent:
            stale.append(task)
    place.engine.measuring.stale(stale)
    if not alive and all(one is not None and one.verdict in _NOTHING for one in said):
        place.holdings.forget(holding.session_id)
        raise session_gone(holding.session_id)


_NOTHING = ("stale", "unknown")
"""The verdicts on what has no effect, and had none before."""


def _verdict(
    holding: Holding, item: FinishItem | NoteItem, task: Task | None, *, alive: bool
) -> Said:
    if task is None:
        return Said(item.id, "unknown")
    own = task.fence == item.fence and task.session in (None, holding.session_id)
    if not own or not _is_from(item, task, alive=alive):
        return Said(item.id, "stale")
    return Said(item.id, "duplicate", task.state.value)


_BACK = frozenset({"failed", "timed_out", "snooze", "released"})
"""The outcomes after which a task goes on under no session."""
_LEFT_IN = {
    State.COMPLETED: frozenset({"completed"}),
    State.CANCELLED: frozenset({"cancelled", "expired"}),
    State.FAILED: frozenset({"failed", "timed_out"}),
}


def _is_from(item: FinishItem | NoteItem, task: Task, *, alive: bool) -> bool:
    """Say whether a task is where this very report would have brought it.

    Under the same fence it may also have been taken away: its lease ran out, or it did not stop
    by its deadline.
    """
    if isinstance(item, NoteItem) or task.state is State.RUNNING:
        return False
    if task.session is None or task.state not in _LEFT_IN:
        return item.outcome in _BACK and (alive or task.state not in (State.READY, State.SCHEDULED))
    return item.outcome in _LEFT_IN[task.state]
