"""Reports of remote workers: what a worker says is done, and by fence alone (R3.2, R4.2)."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType, structs

from rota.backend import Report
from rota.clock import Micros, parse_id
from rota.config import (
    CHECKPOINT_BYTES,
    DAY,
    ERROR_TEXT_CHARS,
    RESULT_BYTES,
    SECOND,
    TRACEBACK_CHARS,
)
from rota.errors import InvalidTask
from rota.http.wire import Said, Verdicts
from rota.model import AttemptError, Claimed, Note, State
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
from rota.server.reports import ErrorIn, FinishIn, FinishItem, NoteItem, ProgressIn
from rota.server.route import Answer, Call
from rota.server.verdicts import explain
from rota.times import duration, moment

NO_POLICY = Backoff()
_COMPLETED = State.COMPLETED.value


async def finish(call: Call, holding: Holding, given: FinishIn) -> Answer:
    """Carry out a report; each item gets a verdict of its own.

    Of several items about one hand-out the first is carried out, and the others come too late.
    """
    place = call.place
    said: list[Said | None] = [None] * len(given.items)
    known = await _known(place, holding, given.items)
    reports: list[Report] = []
    places: list[int] = []
    now = place.clock.now()
    met: set[tuple[str, int]] = set()
    for at, (item, task) in enumerate(zip(given.items, known, strict=True)):
        if task is None or (item.id, item.fence) in met:
            continue
        try:
            reports.append(_report(place, holding, item, task, now))
        except InvalidTask as error:
            said[at] = Said(item.id, "invalid", problem=str(error))
        else:
            met.add((item.id, item.fence))
            places.append(at)
    if reports:
        applied = await place.engine.finish(holding.session_id, reports)
        holding.drop(report.task.id for report in reports)
        for at, report, did in zip(places, reports, applied, strict=True):
            if did:
                said[at] = Said(report.task.id, "applied", _state_after(report))
    await explain(call, holding, given.items, said, frozenset(places))
    return Answer(Verdicts([one for one in said if one is not None]))


async def progress(call: Call, holding: Holding, given: ProgressIn) -> Answer:
    """Keep notes; those under an old fence change nothing."""
    place = call.place
    said: list[Said | None] = [None] * len(given.items)
    notes: list[Note] = []
    places: list[int] = []
    met: set[tuple[str, int]] = set()
    for at, item in enumerate(given.items):
        if parse_id(item.id) != item.id:
            continue
        if (item.id, item.fence) in met:
            said[at] = Said(item.id, "invalid", problem="comes twice in one report; join the two")
            continue
        met.add((item.id, item.fence))
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
    await explain(call, holding, given.items, said)
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


RAN_MOST: Final = 30 * DAY / SECOND
"""A longer run than this is counted as this: sums of what workers say stay numbers (S8)."""


def _report(place: Place, holding: Holding, item: FinishItem, task: Claimed, now: Micros) -> Report:
    ending = _ending(item, task, holding.session_id, now)
    seconds = None if item.seconds is None else min(item.seconds, RAN_MOST)
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
        return _COMPLETED
    policy = report.backoff
    if report.task.retry is not None:
        policy = most_of(report.task, policy)
    return decide(report.task, report.ending, policy, now=0, chance=0.0).to.value


def most_of(task: Claimed, policy: Backoff) -> Backoff:
    """Return the policy that counts for a task: its own, if it can be read."""
    given = msgspec.json.decode(task.retry or "{}")
    most = given.get("max_attempts") if isinstance(given, dict) else None
    return structs.replace(policy, max_attempts=most) if isinstance(most, int) else policy
