"""Rows as the database has them, and the values that they stand for."""

from collections.abc import Iterable
from typing import Any

import msgspec

from rota.clock import parse_id
from rota.model import (
    AttemptError,
    NewTask,
    PriorityClass,
    Progress,
    Session,
    State,
    Task,
)
from rota.store.postgres.statements import Record

TASK_COLUMNS = (
    "id",
    "kind",
    "queue",
    "tenant",
    "priority",
    "class",
    "run_at",
    "rank",
    "created_at",
    "payload",
    "timeout",
    "retry",
    "expires_at",
    "key",
    "tags",
    "headers",
    "concurrency_key",
    "max_concurrency",
    "schedule",
    "slot",
)
"""What a new task brings, in the order of `task_row` and of the insert statements."""

_errors_of = msgspec.json.Decoder(tuple[AttemptError, ...]).decode
_json = msgspec.json.decode


def possible_ids(ids: Iterable[str]) -> list[str]:
    """Return those that a task can have, each once and in one order for all who lock rows."""
    return sorted({task_id for task_id in ids if parse_id(task_id) == task_id})


def task_row(task: NewTask) -> tuple[Any, ...]:
    """Return a new task as a row to insert or copy."""
    return (
        task.id,
        task.kind,
        task.queue,
        task.tenant,
        task.priority,
        PriorityClass.of(task.priority),
        task.run_at,
        task.rank,
        task.created_at,
        task.payload,
        task.timeout,
        task.retry,
        task.expires_at,
        task.key,
        task.tags or None,
        task.headers,
        task.concurrency_key,
        task.max_concurrency,
        task.schedule,
        task.slot,
    )


def session_of(row: Record) -> Session:
    """Return the session in a row of `list_sessions`."""
    return Session(
        id=row["id"],
        name=row["name"],
        host=row["host"],
        pid=row["pid"],
        version=row["version"],
        queues=tuple(row["queues"]),
        kinds=tuple(row["kinds"]),
        slots=row["slots"],
        started_at=row["started_at"],
        lease_until=row["lease_until"],
        closed_at=row["closed_at"],
        process=row["process"],
        owner=row["owner"],
        drain_at=row["drain_at"],
        heard_at=row["heard_at"],
    )


def task_of(row: Record) -> Task:
    """Return the task in a row of `get`."""
    return Task(
        id=str(row["id"]),
        kind=row["kind"],
        queue=row["queue"],
        tenant=row["tenant"],
        priority=row["priority"],
        state=State(row["state"]),
        payload=_json(row["payload"]),
        created_at=row["created_at"],
        run_at=row["run_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        expires_at=row["expires_at"],
        timeout=row["timeout"],
        retry=_json(row["retry"]) if row["retry"] else None,
        key=row["key"],
        tags=tuple(row["tags"] or ()),
        headers=_json(row["headers"]) if row["headers"] else {},
        attempt=row["attempt"],
        fence=row["fence"],
        lost=row["lost"],
        snoozes=row["snoozes"],
        session=str(row["session"]) if row["session"] else None,
        result=_json(row["result"]) if row["result"] else None,
        errors=_errors_of(row["errors"]) if row["errors"] else (),
        reason=row["reason"],
        cancel_requested_at=row["cancel_requested_at"],
        progress=_progress_of(row["progress_done"], row["progress_total"]),
        checkpoint=_json(row["checkpoint"]) if row["checkpoint"] else None,
        group=row["error_group"],
        replay_of=str(row["replay_of"]) if row["replay_of"] else None,
        replayed_as=str(row["replayed_as"]) if row["replayed_as"] else None,
        discarded_at=row["discarded_at"],
        discard_reason=row["discard_reason"],
        concurrency_key=row["concurrency_key"],
        max_concurrency=row["max_concurrency"],
        at_gate=row["at_gate"],
        schedule=str(row["schedule"]) if row["schedule"] else None,
        slot=row["slot"],
    )


def _progress_of(done: int | None, total: int | None) -> Progress | None:
    return None if done is None else Progress(done, total)
