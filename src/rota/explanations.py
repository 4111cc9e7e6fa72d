"""Why a task is where it is, in words and as JSON: for the command line, HTTP and the dashboard."""

from typing import Any, assert_never

import msgspec

from rota.clock import Micros
from rota.model import State, Task
from rota.policy.reasons import (
    AtCap,
    AtGate,
    Cancelling,
    Expired,
    Explanation,
    Finished,
    InTurn,
    NotDue,
    NoWorker,
    OutOfTokens,
    Paused,
    PutOff,
    Reason,
    Running,
)
from rota.share_words import shared
from rota.times import show_duration, show_instant

_INSTANTS = {
    "until",
    "since",
    "requested_at",
    "cancel_requested_at",
    "expired_at",
    "finished_at",
    "discarded_at",
}


def view(explained: Explanation) -> dict[str, Any]:
    """Return an explanation with every reason's code and numbers, and a sentence for people."""
    return {
        "task": explained.task.id,
        "state": explained.task.state.value,
        "as_of": show_instant(explained.as_of),
        "summary": " ".join(sentences(explained)),
        "sentences": sentences(explained),
        "reasons": [_reason(reason) for reason in explained.reasons],
    }


def sentences(explained: Explanation) -> list[str]:
    """Return a sentence for each reason."""
    return [_sentence(reason, explained) for reason in explained.reasons]


def _reason(reason: Reason) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(reason)
    return {
        name: show_instant(value) if name in _INSTANTS and value is not None else value
        for name, value in fields.items()
    }


def _sentence(reason: Reason, explained: Explanation) -> str:
    task, now = explained.task, explained.as_of
    match reason:
        case NotDue():
            return _not_due(reason, now)
        case InTurn():
            return _in_turn(reason, task)
        case AtGate():
            return _at_gate(reason, task)
        case NoWorker():
            return _no_worker(reason)
        case Paused() | AtCap() | OutOfTokens() | PutOff():
            return shared(reason, task, now)
        case Expired(at):
            when = f" at {show_instant(at)}" if at is not None else ""
            done = "cancelled" if task.state is State.CANCELLED else "about to be cancelled"
            return f"Expired{when} before it was started: {done}."
        case Cancelling(at):
            return f"Was asked to stop at {show_instant(at)}: about to be cancelled."
        case Running():
            return _running(reason, now)
        case Finished():
            return _finished(reason, task)
        case _:
            assert_never(reason)


def _not_due(reason: NotDue, now: Micros) -> str:
    when = f"in {show_duration(reason.until - now)}, at {show_instant(reason.until)}"
    match reason.why:
        case "delay":
            return f"Not due yet: {when}."
        case "retry":
            return f"Is tried again {when}: {_attempt(reason)} failed."
        case "snooze":
            return f"Snoozed: it runs again {when}."
        case "again":
            return f"Runs again {when}, after {_attempt(reason)} or a snooze."


def _attempt(reason: NotDue | Running) -> str:
    most = f" of {reason.max_attempts}" if reason.max_attempts else ""
    return f"attempt {reason.attempt}{most}"


def _in_turn(reason: InTurn, task: Task) -> str:
    lane = f"queue {task.queue}, class {task.priority_class.name.lower()}"
    lane += f", tenant {task.tenant}" if task.tenant else ""
    if reason.ahead == 0:
        return f"Is the next in its lane ({lane})."
    more = " or more" if reason.capped else ""
    return f"Waits for its turn: {reason.ahead:,}{more} ahead in its lane ({lane})."


def _at_gate(reason: AtGate, task: Task) -> str:
    own = reason.key == f"schedule:{task.schedule}"
    gate = "the gate of its schedule" if own else f"its gate {reason.key}"
    more = " or more" if reason.capped else ""
    inside = f"{reason.inside:,} of {reason.room:,} inside"
    if reason.inside < reason.room:
        return f"Waits at {gate} ({inside}): there is room, it is let in shortly."
    return f"Waits at {gate}: {inside}, {reason.waiting:,}{more} waiting."


def _no_worker(reason: NoWorker) -> str:
    start = f"Start one: rota worker APP --queue {reason.queue}"
    if reason.workers == 0:
        return f"No worker is live. {start}"
    return (
        f"No live worker takes queue {reason.queue} and knows kind {reason.kind}: of "
        f"{reason.workers} live {reason.taking_queue} take the queue and {reason.knowing_kind} "
        f"know the kind. {start}"
    )


def _running(reason: Running, now: Micros) -> str:
    since = "" if reason.since is None else f" for {show_duration(max(now - reason.since, 0))}"
    where = f" on {reason.worker} ({reason.host}, pid {reason.pid})" if reason.worker else ""
    text = f"Runs{since}{where}, {_attempt(reason)}."
    if not reason.alive:
        soon = "soon" if reason.until is None else f"once its lease is over, {_lease(reason, now)}"
        text += f" Its worker is gone: it is given to another {soon}."
    if reason.cancel_requested_at is not None:
        text += f" It was asked to stop at {show_instant(reason.cancel_requested_at)}."
    return text


def _lease(reason: Running, now: Micros) -> str:
    until = reason.until or now
    return f"in {show_duration(until - now)}" if until > now else "which it is"


def _finished(reason: Finished, task: Task) -> str:
    when = "" if reason.finished_at is None else f" at {show_instant(reason.finished_at)}"
    why = f": {reason.reason}" if reason.reason else ""
    text = f"{reason.state.value.capitalize()}{when}{why}."
    if reason.state is not State.FAILED:
        return text
    if reason.replayed_as is not None:
        return f"{text} It was replayed as {reason.replayed_as}."
    if reason.discarded_at is not None:
        return f"{text} It was discarded. Undo: rota dead-letters restore {task.id}"
    return f"{text} Replay: rota dead-letters replay {task.id}"
