"""Submitting one task (R1.2, R1.4)."""

from hashlib import sha256
from typing import Literal

from msgspec import Struct

from rota.access import Role
from rota.clock import Micros
from rota.errors import KeyBusy, RotaError, StoreError
from rota.model import NewTask
from rota.requests import Submission as Kept
from rota.server.batch import first_state
from rota.server.once import (
    IDEMPOTENCY,
    REPLAYED,
    alone,
    earlier_of,
    in_progress,
    kept_under,
    key_of,
    same,
)
from rota.server.problems import Problem
from rota.server.route import Answer, Call, Route, json, roles
from rota.server.submissions import Submission
from rota.times import show_instant
from rota.tracing import PARENT


class Submitted(Struct, frozen=True):
    """The task that there is now; `matched_by` says by what it was found if it was there before."""

    id: str
    created: bool
    matched_by: Literal["key", "idempotency_key"] | None
    state: str | None
    run_at: str | None


async def submit(call: Call) -> Answer:
    """Store one task and answer after its commit."""
    given: Submission = call.body
    place = call.place
    if IDEMPOTENCY in call.headers:
        return await _submit_once(call, given)
    task = await _task(call, given)
    try:
        accepted = await place.intake.put(task)
    except KeyBusy:
        raise in_progress() from None
    if accepted.created:
        return _created(task, place.clock.now())
    return await _found(call, accepted.id, "key")


async def _task(call: Call, given: Submission) -> NewTask:
    place = call.place
    await place.intake.kinds.look((given.kind,))
    now = place.clock.now()
    checker = place.intake.checker(call.caller, call.headers.get(PARENT))
    return checker.task(given, place.ids.new(now), now)


def _created(task: NewTask, now: Micros) -> Answer:
    shown = Submitted(task.id, True, None, first_state(task, now), show_instant(task.run_at))
    return Answer(shown, status=201, headers=(("Location", f"/v1/tasks/{task.id}"),))


async def _found(
    call: Call,
    task_id: str,
    by: Literal["key", "idempotency_key"],
    headers: tuple[tuple[str, str], ...] = (),
) -> Answer:
    (found,) = await call.backend.get([task_id])
    state, run_at = (found.state.value, show_instant(found.run_at)) if found else (None, None)
    shown = Submitted(task_id, False, by, state, run_at)
    return Answer(shown, headers=(*headers, ("Location", f"/v1/tasks/{task_id}")))


# -- once -----------------------------------------------------------------------------------------


async def _submit_once(call: Call, given: Submission) -> Answer:
    key, fingerprint = key_of(call), sha256(json(given)).hexdigest()
    with alone(call, "task", key):
        try:
            done = await _store_once(call, given, key, fingerprint)
        except StoreError:
            raise
        except (RotaError, Problem):
            # A repeat is answered by what the first one did, whatever is true of it by now.
            earlier = await earlier_of(call, "task", key, fingerprint)
            if earlier is None:
                raise
            done = earlier
        if isinstance(done, Answer):
            return done
        return await _found(call, same(done, fingerprint).task_ids[0], "idempotency_key", REPLAYED)


async def _store_once(call: Call, given: Submission, key: str, fingerprint: str) -> Answer | Kept:
    """Store a task and the request that brought it, or return the request that has its key."""
    task = await _task(call, given)
    kept = kept_under(call, "task", key, fingerprint, task.id)
    now = kept.created_at
    # Most are new and have no key of their own: these share commits, like those without a header.
    if task.key is None:
        if await call.place.intake.put_once(task, kept):
            return _created(task, now)
        if (earlier := await earlier_of(call, "task", key, fingerprint)) is not None:
            return earlier
    done = await call.backend.submit_once([task], kept)
    if not isinstance(done, list):
        return done
    if done[0].created:
        return _created(task, now)
    return await _found(call, done[0].id, "key")


ROUTES = (
    Route(
        method="POST",
        path="/v1/tasks",
        name="tasks_submit",
        summary="Store a task durably; answered after the commit it is part of.",
        run=submit,
        roles=roles(Role.SUBMIT),
        tag="tasks",
        takes=Submission,
        answers=Submitted,
        status=201,
        codes=(
            (200, ""),
            (403, "tenant_mismatch"),
            (409, "request_in_progress"),
            (422, "unknown_kind"),
            (422, "key_reused"),
            (429, "overloaded"),
        ),
        audit="task.submit",
        summed=True,
        headers=("Idempotency-Key",),
        example={
            "kind": "send_result",
            "payload": {"student_id": 1, "phone": "+91"},
            "queue": "sms",
            "tags": ["results"],
        },
    ),
)
