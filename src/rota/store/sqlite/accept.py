"""Accepting tasks: once each, and one for each key."""

from collections.abc import Sequence

import apsw

from rota.model import Accepted, Micros, NewTask
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import ids_in, to_json

_SQL = blocks("sqlite")


def submit(connection: apsw.Connection, tasks: Sequence[NewTask], now: Micros) -> list[Accepted]:
    """Store the tasks that are neither known nor lose their key, and say which were."""
    known = _known(connection, tasks)
    fresh = [task for task in tasks if task.id not in known] if known else tasks
    winners = _hold_keys(connection, fresh, now)
    if winners:
        fresh = [task for task in fresh if winners.get(task.id, task.id) == task.id]
    due, later = _split(fresh, now)
    for block, some in (("insert_ready", due), ("insert_scheduled", later)):
        if some:
            connection.execute(_SQL[block], {"tasks": to_json(some)})
    if not winners:
        return [Accepted(task.id) for task in tasks]
    answers = ((winners.get(task.id, task.id), task.id) for task in tasks)
    return [Accepted(winner, winner == own) for winner, own in answers]


def _split(tasks: Sequence[NewTask], now: Micros) -> tuple[list[NewTask], list[NewTask]]:
    """Return those that are ready and those that are scheduled: due later, or with a gate."""
    due = [task for task in tasks if task.run_at <= now and task.concurrency_key is None]
    if len(due) == len(tasks):
        return due, []
    return due, [t for t in tasks if t.run_at > now or t.concurrency_key is not None]


def _known(connection: apsw.Connection, tasks: Sequence[NewTask]) -> frozenset[str]:
    ids = to_json([task.id for task in tasks])
    return frozenset(ids_in(connection.execute(_SQL["known_ids"], {"ids": ids}).get))


def _hold_keys(
    connection: apsw.Connection, tasks: Sequence[NewTask], now: Micros
) -> dict[str, str]:
    """Return, for each task with a key, the id of the task that holds it now."""
    keyed = [task for task in tasks if task.key is not None]
    if not keyed:
        return {}
    first: dict[tuple[str, str, str | None], NewTask] = {}
    for task in keyed:
        first.setdefault((task.kind, task.tenant, task.key), task)
    bidders = to_json(list(first.values()))
    connection.execute(_SQL["hold_keys"], {"tasks": bidders, "now": now})
    holders = ids_in(connection.execute(_SQL["key_holders"], {"tasks": bidders}).get)
    winner = dict(zip(first, holders, strict=True))
    return {task.id: winner[task.kind, task.tenant, task.key] for task in keyed}
