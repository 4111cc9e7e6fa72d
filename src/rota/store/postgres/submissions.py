"""What the store keeps of submissions: see `rota.store.submissions`."""

from collections.abc import Sequence
from typing import Any

from rota.clock import parse_id
from rota.errors import KeyBusy
from rota.model import Accepted, Micros, NewTask, State
from rota.requests import Submission
from rota.store.postgres.accept import KEY_PATIENCE, store_keyed, store_plain
from rota.store.postgres.connections import Role
from rota.store.postgres.faults import driver
from rota.store.postgres.rows import possible_ids
from rota.store.postgres.statements import Connection, Record, execute, fetch
from rota.store.postgres.states import standing
from rota.store.postgres.verbs import Verbs


class SubmissionsVerbs(Verbs):
    """The verbs of `rota.store.submissions`."""

    async def submit_once(
        self, tasks: Sequence[NewTask], submission: Submission, now: Micros
    ) -> list[Accepted] | Submission:
        if submission.key is None and all(task.key is None for task in tasks):
            return await self._do(Role.SUBMIT, _store_batch, tasks, submission, now)
        # It may have to wait for a key, and those that submit without one must not.
        return await self._do(Role.CALL, _store_once, tasks, submission, now)

    async def submit_each(
        self, tasks: Sequence[NewTask], submissions: Sequence[Submission], now: Micros
    ) -> list[bool]:
        return await self._do(Role.CALL, _store_each, tasks, submissions, now)

    async def find_submission(
        self, scope: str, operation: str, key: str, now: Micros
    ) -> Submission | None:
        return await self._do(Role.READ, _held, scope, operation, key, now)

    async def get_submission(self, submission_id: str) -> Submission | None:
        if parse_id(submission_id) != submission_id:
            return None
        return _first(await self._fetch(Role.READ, "get_submission", id=submission_id))

    async def states(self, ids: Sequence[str]) -> dict[str, State]:
        found = await self._do(Role.READ, standing, possible_ids(ids))
        return {task_id: state for task_id, (state, _) in found.items()}


async def _store_batch(
    connection: Connection, tasks: Sequence[NewTask], submission: Submission, now: Micros
) -> list[Accepted]:
    async with connection.transaction():
        await store_plain(connection, tasks, now)
        await _keep(connection, "keep_batch", submission, [task.id for task in tasks])
    return [Accepted(task.id) for task in tasks]


async def _store_once(
    connection: Connection, tasks: Sequence[NewTask], submission: Submission, now: Micros
) -> list[Accepted] | Submission:
    """Take the key first, which a repeat that comes meanwhile waits for, but not for long.

    A process that stops in between holds nothing but keys of its own: its idempotency key and
    those of its tasks. Whoever asks for these is told to come back.
    """
    try:
        async with connection.transaction():
            await connection.execute(f"set local lock_timeout = '{KEY_PATIENCE}'")
            if submission.key is not None:
                earlier = await _take_key(connection, submission, now)
                if earlier is not None:
                    return earlier
            accepted = await store_keyed(connection, tasks, now)
            ids = [answer.id for answer in accepted]
            if submission.key is None:
                await _keep(connection, "keep_batch", submission, ids)
            else:
                await execute(connection, "set_submission_tasks", id=submission.id, task_ids=ids)
    except driver().LockNotAvailableError:
        raise KeyBusy from None
    return accepted


async def _store_each(
    connection: Connection, tasks: Sequence[NewTask], submissions: Sequence[Submission], now: Micros
) -> list[bool]:
    """Take the keys that nobody has, all in one go, and store the tasks of those."""
    # In one order everywhere, so that two that bring the same keys cannot block each other.
    wanted = sorted(submissions, key=lambda one: (one.scope, one.operation, one.key or ""))
    columns = {f"{name}s": [getattr(one, name) for one in wanted] for name in _EACH}
    columns["task_ids"] = [one.task_ids[0] for one in wanted]
    try:
        async with connection.transaction():
            await connection.execute(f"set local lock_timeout = '{KEY_PATIENCE}'")
            kept = {row[0] for row in await fetch(connection, "keep_submissions", **columns)}
            pairs = zip(tasks, submissions, strict=True)
            await store_plain(connection, [task for task, one in pairs if one.id in kept], now)
    except driver().LockNotAvailableError:
        raise KeyBusy from None
    return [one.id in kept for one in submissions]


_EACH = (
    "id", "scope", "operation", "key", "fingerprint", "created_at", "key_until", "keep_until",
)  # fmt: skip


async def _take_key(
    connection: Connection, submission: Submission, now: Micros
) -> Submission | None:
    """Return the submission that holds the key already, None if it is this one's now."""
    held_by = (submission.scope, submission.operation, submission.key)
    scope, operation, key = held_by
    await execute(
        connection, "free_submission_key", scope=scope, operation=operation, key=key, now=now
    )
    if await _keep(connection, "keep_submission", submission, ()):
        return None
    earlier = await _held(connection, *held_by, now)
    if earlier is None:
        raise KeyBusy  # it has just gone; a repeat finds out what is there now
    return earlier


async def _held(
    connection: Connection, scope: str, operation: str, key: str | None, now: Micros
) -> Submission | None:
    found = await fetch(
        connection, "find_submission", scope=scope, operation=operation, key=key, now=now
    )
    return _first(found)


async def _keep(
    connection: Connection, name: str, submission: Submission, task_ids: Sequence[str]
) -> int:
    values: dict[str, Any] = {
        field: getattr(submission, field) for field in submission.__struct_fields__
    }
    return await execute(connection, name, **values | {"task_ids": list(task_ids)})


def _first(rows: Sequence[Record]) -> Submission | None:
    for row in rows:
        return Submission(**dict(row) | {"task_ids": tuple(row["task_ids"])})
    return None
