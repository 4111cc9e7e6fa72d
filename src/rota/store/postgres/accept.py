"""Stores new tasks: a repeat of what is stored changes nothing, a key admits one live task."""

from collections.abc import Sequence

from rota.errors import KeyBusy
from rota.model import Accepted, Micros, NewTask
from rota.store.postgres.faults import driver
from rota.store.postgres.rows import TASK_COLUMNS, task_row
from rota.store.postgres.statements import Connection, fetch, statement

COPY_FROM = 30
"""From this many rows on COPY is faster than inserts, although it needs more round trips."""

KEY_PATIENCE = "250ms"
"""So long a key is waited for that a transaction has taken which is still open. It may stay so for
hours, if it is a caller's own."""

_Key = tuple[str, str, str]


class _StoredAlready(Exception):
    """Some of a batch was stored by an earlier call."""


async def store_plain(connection: Connection, tasks: Sequence[NewTask], now: Micros) -> None:
    """Store tasks without keys, apart from those that are stored already."""
    if len(tasks) < COPY_FROM or not await _copied(connection, tasks, now):
        await _insert(connection, tasks, now)


async def store_keyed(
    connection: Connection, tasks: Sequence[NewTask], now: Micros
) -> list[Accepted]:
    """Store tasks of which some have keys; answer for each whose task it amounts to."""
    first: dict[_Key, NewTask] = {}
    for task in tasks:
        if task.key is not None:
            first.setdefault((task.kind, task.tenant, task.key), task)
    async with connection.transaction():
        try:
            holders = await _hold(connection, first, now)
        except driver().LockNotAvailableError:
            raise KeyBusy from None
        ids = [_holder(task, holders) for task in tasks]
        losers = [task for task, held_by in zip(tasks, ids, strict=True) if held_by != task.id]
        # A task that is stored already won its key when it came, whoever holds that by now.
        known = await _known(connection, losers, losers)
        made = [task for task, held_by in zip(tasks, ids, strict=True) if held_by == task.id]
        await _insert(connection, made, now)
    return [
        Accepted(task.id) if held_by == task.id or task.id in known else Accepted(held_by, False)
        for task, held_by in zip(tasks, ids, strict=True)
    ]


def _holder(task: NewTask, holders: dict[_Key, str]) -> str:
    return task.id if task.key is None else holders[task.kind, task.tenant, task.key]


async def _hold(
    connection: Connection, wanted: dict[_Key, NewTask], now: Micros
) -> dict[_Key, str]:
    """Return who holds each key after the wanted tasks took those that were free."""
    # In one order everywhere, so that two batches with the same keys cannot block each other.
    keys = sorted(wanted)
    await connection.execute(f"set local lock_timeout = '{KEY_PATIENCE}'")
    won = await fetch(
        connection,
        "hold_keys",
        **_columns(keys),
        ids=[wanted[key].id for key in keys],
        until=[wanted[key].key_until or 0 for key in keys],
        now=now,
    )
    holders: dict[_Key, str] = {tuple(row): wanted[tuple(row)].id for row in won}
    lost = [key for key in keys if key not in holders]
    if lost:
        rows = await fetch(connection, "key_holders", **_columns(lost))
        holders |= {tuple(row[:3]): row[3] for row in rows}
    return holders


def _columns(keys: list[_Key]) -> dict[str, list[str]]:
    kinds, tenants, texts = ([key[n] for key in keys] for n in range(3))
    return {"kinds": kinds, "tenants": tenants, "keys": texts}


async def _copied(connection: Connection, tasks: Sequence[NewTask], now: Micros) -> bool:
    due, later = _split(tasks, now)
    try:
        async with connection.transaction():
            for table, part in (("ready", due), ("scheduled", later)):
                if part:
                    await connection.copy_records_to_table(
                        table,
                        schema_name="rota",
                        columns=TASK_COLUMNS,
                        records=[task_row(task) for task in part],
                    )
            # Looked for after the copy: whoever stored them before has committed by now, and
            # what has moved on since is seen where it went.
            if await _known(connection, due, later):
                raise _StoredAlready
    except (driver().UniqueViolationError, _StoredAlready):
        return False
    return True


async def _insert(connection: Connection, tasks: Sequence[NewTask], now: Micros) -> None:
    due, later = _split(tasks, now)
    if due and later:
        async with connection.transaction():
            await _insert_each(connection, "insert_ready", due)
            await _insert_each(connection, "insert_scheduled", later)
    elif tasks:
        await _insert_each(connection, "insert_ready" if due else "insert_scheduled", tasks)


async def _insert_each(connection: Connection, name: str, tasks: Sequence[NewTask]) -> None:
    # Sent in one go and done as one transaction.
    await connection.executemany(statement(name).sql, [task_row(task) for task in tasks])


async def _known(
    connection: Connection, due: Sequence[NewTask], later: Sequence[NewTask]
) -> set[str]:
    if not due and not later:
        return set()
    rows = await fetch(
        connection,
        "known_ids",
        due=[task.id for task in due],
        later=[task.id for task in later],
        made_since=min(task.created_at for task in (*due, *later)),
    )
    return {row[0] for row in rows}


def _split(tasks: Sequence[NewTask], now: Micros) -> tuple[list[NewTask], list[NewTask]]:
    """Return those that are ready and those that are scheduled: due later, or with a gate."""
    due = [task for task in tasks if task.run_at <= now and task.concurrency_key is None]
    if len(due) == len(tasks):
        return due, []
    return due, [t for t in tasks if t.run_at > now or t.concurrency_key is not None]
