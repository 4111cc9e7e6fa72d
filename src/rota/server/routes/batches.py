"""Batches: many tasks in one request, and what became of them (R1.5)."""

from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any, Literal

from msgspec import Struct, field

from rota.access import Role
from rota.clock import parse_id
from rota.model import State
from rota.requests import KEY_KEPT
from rota.requests import Submission as Kept
from rota.server.batch import Batch, Item, batch_of
from rota.server.items import JSON, NDJSON, read_items
from rota.server.once import IDEMPOTENCY, REPLAYED, alone, earlier_of, key_of, same, scope_of
from rota.server.problems import Problem
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.submissions import Submission
from rota.times import show_instant

BATCH_BYTES = 32 * 1024 * 1024


class BatchAnswer(Struct, frozen=True):
    """What became of a batch; `items` in the order in which they came, unless left out."""

    id: str
    created: int
    existing: int
    refused: int
    items: list[Item] | None


class BatchStates(Struct, frozen=True):
    """In which states the tasks of a batch are; `gone` are those that are not kept any more."""

    id: str
    created_at: str
    total: int
    states: dict[str, int]
    gone: int


class BatchQuery(In, frozen=True):
    """How a batch is taken: whole or not at all, or item by item; and what is answered."""

    mode: Literal["all_or_nothing", "per_item"] = "all_or_nothing"
    return_: Literal["items", "counts"] = field(name="return", default="items")


async def submit_batch(call: Call) -> Answer:
    """Store many tasks: all of them or none, or those that are right."""
    assert call.raw is not None
    query: BatchQuery = call.query
    key = key_of(call) if IDEMPOTENCY in call.headers else None
    digest = sha256(query.mode.encode())

    async def chunks() -> AsyncIterator[bytes]:
        assert call.raw is not None
        async for chunk in call.raw:
            digest.update(chunk)
            yield chunk

    batch = Batch(call)
    media = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    with alone(call, "batch", key):
        await batch.read(read_items(chunks(), media))
        if not batch.entries:
            raise Problem("validation_failed", "the batch has no task; nothing was stored")
        if key is not None:
            earlier = await earlier_of(call, "batch", key, digest.hexdigest())
            if earlier is not None:
                return await _replayed(call, earlier)
        return await _store(call, batch, key, digest.hexdigest())


async def _store(call: Call, batch: Batch, key: str | None, fingerprint: str) -> Answer:
    place = call.place
    now = place.clock.now()
    more: dict[str, Any] = {}
    if key is not None:
        more = {"key": key, "fingerprint": fingerprint, "key_until": now + KEY_KEPT}
    kept = batch_of(place.ids.new(now), scope_of(call), now, **more)
    all_or_nothing = call.query.mode == "all_or_nothing"
    if all_or_nothing and batch.faults:
        faults = batch.faults
        raise Problem(
            "validation_failed",
            f"nothing was stored; {faults[0]['pointer']}: {faults[0]['detail']}",
            errors=faults,
        )
    if all_or_nothing or key is not None:
        # What is remembered under a key is stored with it, or not at all.
        earlier = await batch.store(kept)
        if earlier is not None:
            return await _replayed(call, same(earlier, fingerprint))
    else:
        await batch.store_in_runs(kept)
    return await _told(call, batch, kept.id)


async def _told(call: Call, batch: Batch, batch_id: str) -> Answer:
    created = sum(answer.created for answer in batch.answers.values())
    call.audit["count"] = len(batch.answers)
    shown = BatchAnswer(
        id=batch_id,
        created=created,
        existing=len(batch.answers) - created,
        refused=len(batch.entries) - len(batch.answers),
        items=await batch.items() if call.query.return_ == "items" else None,
    )
    headers = (("Location", f"/v1/batches/{batch_id}"),)
    return Answer(shown, status=207 if shown.refused else 201, headers=headers)


async def _replayed(call: Call, earlier: Kept) -> Answer:
    items = None
    if call.query.return_ == "items":
        states = await call.backend.states(earlier.task_ids)
        items = [
            Item(
                task_id,
                False,
                "idempotency_key",
                states[task_id].value if task_id in states else None,
            )
            for task_id in earlier.task_ids
        ]
    shown = BatchAnswer(
        id=earlier.id, created=0, existing=len(earlier.task_ids), refused=0, items=items
    )
    return Answer(shown, headers=(*REPLAYED, ("Location", f"/v1/batches/{earlier.id}")))


async def show_batch(call: Call) -> Answer:
    """Count what came in together, by state."""
    batch_id = parse_id(call.path["id"])
    found = None if batch_id is None else await call.backend.get_submission(batch_id)
    if found is None or found.operation != "batch":
        raise Problem("not_found", f"there is no batch {call.path['id']!r} (any more)")
    states = await call.backend.states(found.task_ids)
    counts = {state.value: 0 for state in State}
    for state in states.values():
        counts[state.value] += 1
    distinct = len(set(found.task_ids))
    return Answer(
        BatchStates(
            id=found.id,
            created_at=show_instant(found.created_at),
            total=distinct,
            states=counts,
            gone=distinct - len(states),
        )
    )


ROUTES = (
    Route(
        method="POST",
        path="/v1/tasks/batch",
        name="batches_submit",
        summary="Store up to 10,000 tasks, all or none, or those that are right.",
        run=submit_batch,
        roles=roles(Role.SUBMIT),
        tag="tasks",
        takes=list[Submission],
        query=BatchQuery,
        answers=BatchAnswer,
        status=201,
        codes=(
            (200, ""),
            (207, ""),
            (403, "tenant_mismatch"),
            (409, "request_in_progress"),
            (422, "key_reused"),
            (429, "overloaded"),
        ),
        audit="task.submit",
        summed=True,
        raw=True,
        media=(JSON, NDJSON),
        most=BATCH_BYTES,
        headers=("Idempotency-Key",),
        example=[{"kind": "send_result", "payload": {"student_id": 2}}],
    ),
    Route(
        method="GET",
        path="/v1/batches/{id}",
        name="batches_get",
        summary="Count by state what came in as one batch, within the last seven days.",
        run=show_batch,
        roles=roles(Role.READ, Role.SUBMIT),
        tag="tasks",
        answers=BatchStates,
    ),
)
