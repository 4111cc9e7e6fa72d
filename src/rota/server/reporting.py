"""Reports of remote workers: what a worker says is done, and by fence alone (R3.2, R4.2)."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType, structs

from rota.backend import Report
from rota.clock import Micros, parse_id
from rota.config import (
    CHECKPOINT_BYTES,
    ERROR_TEXT_CHARS,
    RESULT_BYTES,
    TRACEBACK_CHARS,
)
from rota.errors import InvalidTask
from rota.http.wire import FINISH_MOST, NUMBER_MOST, Outcome, Said, Verdicts
from rota.model import AttemptError, Claimed, Note, State, Task
from rota.payload import clean, encode
from rota.policy.lifecycle import (
    Cancelled,
    Completed,
    Ending,
    Expired,
    Failed,
    Released,
    Snoozed,
    TimedOut,
    decide,
)
from rota.policy.retry import Backoff
from rota.server.holdings import Holding
from rota.server.place import Place
from rota.server.route import Answer, Call, In
from rota.server.submissions import RetryIn
from rota.times import duration, moment

Fence = Annotated[int, Meta(ge=0, le=NUMBER_MOST)]
Id = Annotated[str, Meta(max_length=64)]
Count = Annotated[int, Meta(ge=0, le=NUMBER_MOST)]
NO_POLICY = Backoff()


class ErrorIn(In, frozen=True, gc=False):
    """What an attempt failed of; long texts keep their beginning and end."""

    type: str
    message: str = ""
    traceback: str = ""


class FinishItem(In, frozen=True, gc=False):
    """How a task ended; the server decides what becomes of it.

    `error` goes with failed and timed_out; `permanent`, `retry_after` seconds in place of the
    policy's wait, or `retry_least` seconds that this is at least, with failed;
    `until` or `after` with snooze; `reason` with cancelled. `retry` is the policy of the kind where
    the task has none of its own. With `keep` false a task that completes leaves only its count.
    `seconds` is how long it ran.
    """

    id: Id
    fence: Fence
    outcome: Outcome
    result: Raw | UnsetType = UNSET
    error: ErrorIn | None = None
    permanent: bool = False
    retry_after: float | str | None = None
    retry_least: float | str | None = None
    until: str | None = None
    after: float | str | None = None
    reason: str = ""
    retry: RetryIn | None = None
    keep: bool = True
    seconds: Annotated[float, Meta(ge=0)] | None = None


class FinishIn(In, frozen=True):
    """A report of many tasks."""

    items: Annotated[list[FinishItem], Meta(max_length=FINISH_MOST)]


class NoteItem(In, frozen=True, gc=False):
    """How far a task is, and what a later run of it may go on from."""

    id: Id
    fence: Fence
    done: Count | None = None
    total: Count | None = None
    checkpoint: Raw | UnsetType = UNSET


class ProgressIn(In, frozen=True):
    """Notes of many tasks; durable when answered."""

    items: Annotated[list[NoteItem], Meta(max_length=FINISH_MOST)]


async def finish(call: Call, holding: Holding, given: FinishIn) -> Answer:
    """Carry out a report; each item gets a verdict of its own."""
    place = call.place
    said: list[Said | None] = [None] * len(given.items)
    known = await _known(place, holding, given.items)
    reports: list[Report] = []
    places: list[int] = []
    now = place.clock.now()
    for at, (item, task) in enumerate(zip(given.items, known, strict=True)):
        if task is None:
            continue
        try:
            reports.append(_report(place, holding, item, task, now))
        except InvalidTask as error:
            said[at] = Said(item.id, "invalid", problem=str(error))
        else:
            places.append(at)
    if reports:
        applied = await place.engine.finish(holding.session_id, reports)
        holding.drop(report.task.id for report in reports)
        for at, report, did in zip(places, reports, applied, strict=True):
            if did:
                said[at] = Said(report.task.id, "applied", _state_after(report))
    await _explain(place, holding, given.items, said)
    return Answer(Verdicts([one for one in said if one is not None]))


async def progress(call: Call, holding: Holding, given: ProgressIn) -> Answer:
    """Keep notes; those under an old fence change nothing."""
    place = call.place
    said: list[Said | None] = [None] * len(given.items)
    notes: list[Note] = []
    places: list[int] = []
    for at, item in enumerate(given.items):
        if parse_id(item.id) != item.id:
            continue
        try:
            notes.append(_note(item))
        except InvalidTask as error:
            said[at] = Said(item.id, "invalid", problem=str(error))
        else:
            places.append(at)
    kept = await place.engine.note(holding.session_id, notes) if notes else []
    for at, note, did in zip(places, notes, kept, strict=True):
        if did:
            said[at] = Said(note.id, "applied")
    await _explain(place, holding, given.items, said)
    return Answer(Verdicts([one for one in said if one is not None]))


async def _known(
    place: Place, holding: Holding, items: Sequence[FinishItem]
) -> list[Claimed | None]:
    """Return each task as it was handed out; what this process does not know is read once."""
    known = [holding.know(item.id, item.fence) for item in items]
    if None not in known:
        return known
    holding.replace(await place.engine.held(holding.session_id))
    return [
        task or holding.know(item.id, item.fence) for task, item in zip(known, items, strict=True)
    ]


async def _explain(
    place: Place,
    holding: Holding,
    items: Sequence[FinishItem] | Sequence[NoteItem],
    said: list[Said | None],
) -> None:
    """Give a verdict to what did not apply, by where the task is now."""
    left = [at for at, one in enumerate(said) if one is None]
    if not left:
        return
    tasks = await place.engine.get([items[at].id for at in left])
    for at, task in zip(left, tasks, strict=True):
        said[at] = _verdict(holding, items[at].id, items[at].fence, task)


def _verdict(holding: Holding, task_id: str, fence: int, task: Task | None) -> Said:
    if task is None:
        return Said(task_id, "unknown")
    if task.fence != fence or task.state is State.RUNNING:
        return Said(task_id, "stale")
    own = task.session in (None, holding.session_id)
    return Said(task_id, "duplicate" if own else "stale", task.state.value if own else None)


def _report(place: Place, holding: Holding, item: FinishItem, task: Claimed, now: Micros) -> Report:
    ending = _ending(item, task, holding.session_id, now)
    seconds = item.seconds
    if type(ending) is Completed:
        return Report(task, ending, NO_POLICY, item.keep, seconds)
    if item.retry is not None:
        policy = item.retry.checked()
    else:
        kind = place.app.registry.get(task.kind)
        policy = NO_POLICY if kind is None else kind.retry
    return Report(task, ending, policy, item.keep, seconds)


def _ending(item: FinishItem, task: Claimed, session_id: str, now: Micros) -> Ending:
    match item.outcome:
        case "completed":
            return Completed(_json(item.result, "result", RESULT_BYTES))
        case "failed":
            after, least = item.retry_after, item.retry_least
            return Failed(
                _error(item, task, session_id, now),
                permanent=item.permanent,
                after=None if after is None else duration(after, "retry_after"),
                least=None if least is None else duration(least, "retry_least"),
            )
        case "timed_out":
            return TimedOut(_error(item, task, session_id, now))
        case "snooze":
            return Snoozed(_until(item, now))
        case "cancelled":
            return Cancelled(clean(item.reason, ERROR_TEXT_CHARS) or "no longer wanted")
        case "released":
            return Released()
        case "expired":
            return Expired()


def _until(item: FinishItem, now: Micros) -> Micros:
    if item.until is not None:
        return moment(item.until, "until")
    if item.after is None:
        raise InvalidTask("until", "is missing: a snooze says until when, or after how long")
    return now + duration(item.after, "after")


def _error(item: FinishItem, task: Claimed, session_id: str, now: Micros) -> AttemptError:
    told = item.error or ErrorIn(type="Failed")
    return AttemptError(
        at=now,
        attempt=task.attempt,
        type=clean(told.type, 200) or "Failed",
        message=clean(told.message, ERROR_TEXT_CHARS),
        traceback=clean(told.traceback, TRACEBACK_CHARS),
        session=session_id,
    )


def _note(item: NoteItem) -> Note:
    checkpoint = _json(item.checkpoint, "checkpoint", CHECKPOINT_BYTES)
    if checkpoint is None and item.checkpoint is not UNSET:
        checkpoint = "null"
    return Note(item.id, item.fence, item.done, item.total, checkpoint)


def _json(raw: Raw | UnsetType, field: str, most: int) -> str | None:
    """Return a value as JSON that every store can keep; None for null."""
    if raw is UNSET or bytes(raw) == b"null":
        return None
    value: Any = msgspec.json.decode(raw)
    return encode(value, field, most=most)


def _state_after(report: Report) -> str:
    """Return where a report that applied has brought its task."""
    if type(report.ending) is Completed:
        return State.COMPLETED.value
    policy = report.backoff
    if report.task.retry is not None:
        policy = most_of(report.task, policy)
    return decide(report.task, report.ending, policy, now=0, chance=0.0).to.value


def most_of(task: Claimed, policy: Backoff) -> Backoff:
    """Return the policy that counts for a task: its own, if it can be read."""
    given = msgspec.json.decode(task.retry or "{}")
    most = given.get("max_attempts") if isinstance(given, dict) else None
    return structs.replace(policy, max_attempts=most) if isinstance(most, int) else policy
