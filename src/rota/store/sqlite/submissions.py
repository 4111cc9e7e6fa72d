"""What the store keeps of submissions: see `rota.store.submissions`."""

from collections.abc import Sequence
from functools import partial

import apsw
from msgspec.structs import asdict

from rota.model import Accepted, Micros, NewTask, State
from rota.requests import Submission
from rota.store.sqlfiles import blocks
from rota.store.sqlite import accept
from rota.store.sqlite.rows import ids_in, to_json
from rota.store.sqlite.states import standing
from rota.store.sqlite.verbs import Verbs

_SQL = blocks("sqlite")


class SubmissionsVerbs(Verbs):
    """The verbs of `rota.store.submissions`."""

    async def submit_once(
        self, tasks: Sequence[NewTask], submission: Submission, now: Micros
    ) -> list[Accepted] | Submission:
        work = partial(_store_once, tasks=tasks, submission=submission, now=now)
        return await self._write.do(work)

    async def submit_each(
        self, tasks: Sequence[NewTask], submissions: Sequence[Submission], now: Micros
    ) -> list[bool]:
        work = partial(_store_each, tasks=tasks, submissions=submissions, now=now)
        return await self._write.do(work)

    async def find_submission(
        self, scope: str, operation: str, key: str, now: Micros
    ) -> Submission | None:
        work = partial(_held, scope=scope, operation=operation, key=key, now=now)
        return await self._read.do(work)

    async def get_submission(self, submission_id: str) -> Submission | None:
        return await self._read.do(partial(_get, submission_id=submission_id))

    async def states(self, ids: Sequence[str]) -> dict[str, State]:
        found = await self._read.do(partial(standing, ids=ids))
        return {task_id: state for task_id, (state, _) in found.items()}


def _store_once(
    connection: apsw.Connection, tasks: Sequence[NewTask], submission: Submission, now: Micros
) -> list[Accepted] | Submission:
    scope, operation, key = submission.scope, submission.operation, submission.key
    if key is not None:
        held = {"scope": scope, "operation": operation, "key": key, "now": now}
        connection.execute(_SQL["free_submission_key"], held)
        earlier = _held(connection, scope, operation, key, now)
        if earlier is not None:
            return earlier
        _keep(connection, "keep_submission", submission, ())
    accepted = accept.submit(connection, tasks, now)
    ids = [answer.id for answer in accepted]
    if key is None:
        _keep(connection, "keep_batch", submission, ids)
    else:
        values = {"id": submission.id, "task_ids": to_json(ids)}
        connection.execute(_SQL["set_submission_tasks"], values)
    return accepted


def _store_each(
    connection: apsw.Connection,
    tasks: Sequence[NewTask],
    submissions: Sequence[Submission],
    now: Micros,
) -> list[bool]:
    wanted = {"submissions": to_json([asdict(one) for one in submissions])}
    kept = {row[0] for row in connection.execute(_SQL["keep_submissions"], wanted).fetchall()}
    pairs = zip(tasks, submissions, strict=True)
    accept.submit(connection, [task for task, one in pairs if one.id in kept], now)
    return [one.id in kept for one in submissions]


def _keep(
    connection: apsw.Connection, name: str, submission: Submission, task_ids: Sequence[str]
) -> None:
    connection.execute(_SQL[name], asdict(submission) | {"task_ids": to_json(task_ids)})


def _held(
    connection: apsw.Connection, scope: str, operation: str, key: str, now: Micros
) -> Submission | None:
    values = {"scope": scope, "operation": operation, "key": key, "now": now}
    return _first(connection.execute(_SQL["find_submission"], values))


def _get(connection: apsw.Connection, submission_id: str) -> Submission | None:
    return _first(connection.execute(_SQL["get_submission"], {"id": submission_id}))


def _first(rows: apsw.Cursor) -> Submission | None:
    for id_, scope, operation, key, fingerprint, ids, created_at, key_until, keep_until in rows:
        return Submission(
            id=id_,
            scope=scope,
            operation=operation,
            key=key,
            fingerprint=fingerprint,
            task_ids=tuple(ids_in(ids)),
            created_at=created_at,
            key_until=key_until,
            keep_until=keep_until,
        )
    return None
