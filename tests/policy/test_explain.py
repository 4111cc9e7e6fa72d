"""Every reason that a task can have to be where it is, with its numbers (R7.8)."""

import msgspec
import pytest

from rota.config import LEASE, MINUTE, SECOND
from rota.explanations import sentences, view
from rota.model import AttemptError, State
from rota.policy.reasons import (
    AtGate,
    Cancelling,
    Expired,
    Explanation,
    Finished,
    InTurn,
    NotDue,
    NoWorker,
    Reason,
    Running,
)
from rota.schedule import GateUse
from tests.policy.waiting import WORKER, task, why
from tests.support.factories import LATER, NOW

FAULT = (AttemptError(NOW, 2, "E", "boom"),)


SCHEDULED, READY, RUNNING = State.SCHEDULED, State.READY, State.RUNNING
HELD = {"session": WORKER.id, "started_at": NOW - MINUTE, "attempt": 1}

CODES = {
    "not_due", "in_turn", "at_gate", "no_worker", "expired", "cancelling", "running", "finished",
}  # fmt: skip
GATE = {"concurrency_key": "printer", "max_concurrency": 3}

Case = tuple[str, Explanation, tuple[Reason, ...], str]
"""A name, what is found, the reasons that are expected, and what a person is told."""

CASES: list[Case] = [
    (
        "delay",
        why(task(SCHEDULED, run_at=LATER)),
        (NotDue(LATER, "delay", 0, None),),
        "Not due yet: in 1h",
    ),
    (
        "retry",
        why(task(SCHEDULED, run_at=LATER, attempt=2, errors=FAULT), max_attempts=5),
        (NotDue(LATER, "retry", 2, 5),),
        "attempt 2 of 5 failed",
    ),
    (
        "snooze",
        why(task(SCHEDULED, run_at=LATER, snoozes=1)),
        (NotDue(LATER, "snooze", 0, None),),
        "Snoozed: it runs again in 1h",
    ),
    (
        "retry or snooze",
        why(task(SCHEDULED, run_at=LATER, snoozes=1, attempt=2, errors=FAULT)),
        (NotDue(LATER, "again", 2, None),),
        "Runs again in 1h",
    ),
    ("next", why(task(READY), WORKER), (InTurn(0, False),), "Is the next in its lane"),
    (
        "in turn",
        why(task(READY), WORKER, ahead=1840, ahead_cap=10_000),
        (InTurn(1840, False),),
        "1,840 ahead in its lane (queue sms, class normal, tenant board)",
    ),
    (
        "far behind",
        why(task(READY), WORKER, ahead=10_000, ahead_cap=10_000),
        (InTurn(10_000, True),),
        "10,000 or more ahead",
    ),
    (
        "about to be staged",
        why(task(SCHEDULED), WORKER),
        (InTurn(0, False),),
        "Is the next in its lane",
    ),
    (
        "at its gate",
        why(task(SCHEDULED, at_gate=True, **GATE), WORKER, gate=GateUse(3, 12), ahead_cap=100),
        (AtGate("printer", 3, 3, 12, False),),
        "Waits at its gate printer: 3 of 3 inside, 12 waiting.",
    ),
    (
        "at its gate with many",
        why(task(SCHEDULED, at_gate=True, **GATE), gate=GateUse(3, 100), ahead_cap=100),
        (NoWorker("sms", "send", 0, 0, 0), AtGate("printer", 3, 3, 100, True)),
        "100 or more waiting",
    ),
    (
        "behind an earlier run of its schedule",
        why(
            task(SCHEDULED, schedule="01a2", concurrency_key="schedule:01a2", max_concurrency=1),
            WORKER,
            gate=GateUse(1, 2),
        ),
        (AtGate("schedule:01a2", 1, 1, 2, False),),
        "Waits at the gate of its schedule: 1 of 1 inside, 2 waiting.",
    ),
    (
        "about to be let in",
        why(task(SCHEDULED, **GATE), WORKER, gate=GateUse(2, 0), ahead_cap=100),
        (AtGate("printer", 2, 3, 1, False),),
        "(2 of 3 inside): there is room, it is let in shortly",
    ),
    (
        "not due, with a gate",
        why(task(SCHEDULED, run_at=LATER, **GATE), WORKER),
        (NotDue(LATER, "delay", 0, None),),
        "Not due yet",
    ),
    (
        "through its gate",
        why(task(READY, **GATE), WORKER, ahead=2, ahead_cap=100),
        (InTurn(2, False),),
        "2 ahead in its lane",
    ),
    (
        "no worker",
        why(task(READY)),
        (NoWorker("sms", "send", 0, 0, 0), InTurn(0, False)),
        "No worker is live. Start one: rota worker APP --queue sms",
    ),
    (
        "one has the queue and another the kind",
        why(
            task(READY),
            msgspec.structs.replace(WORKER, kinds=("other",)),
            msgspec.structs.replace(WORKER, queues=("mail",)),
            msgspec.structs.replace(WORKER, queues=("mail",), kinds=()),
        ),
        (NoWorker("sms", "send", 3, 1, 1), InTurn(0, False)),
        "of 3 live 1 take the queue and 1 know the kind",
    ),
    (
        "a worker takes its queue by a pattern",
        why(task(READY), msgspec.structs.replace(WORKER, queues=("*", "!mail"))),
        (InTurn(0, False),),
        "Is the next in its lane",
    ),
    (
        "a worker takes all queues but this one",
        why(task(READY), msgspec.structs.replace(WORKER, queues=("*", "!sms"))),
        (NoWorker("sms", "send", 1, 0, 1), InTurn(0, False)),
        "of 1 live 0 take the queue and 1 know the kind",
    ),
    (
        "expired",
        why(task(READY, expires_at=NOW), WORKER),
        (Expired(NOW),),
        "about to be cancelled",
    ),
    (
        "asked to stop and handed back",
        why(task(READY, cancel_requested_at=NOW - SECOND), WORKER),
        (Cancelling(NOW - SECOND),),
        "Was asked to stop at",
    ),
    (
        "running",
        why(task(RUNNING, **HELD), WORKER, max_attempts=5),
        (
            Running(
                WORKER.id, "worker-1", "node-1", 4711, NOW - MINUTE, 1, 5, None, alive=True
            ),
        ),
        "Runs for 1m on worker-1 (node-1, pid 4711), attempt 1 of 5.",
    ),
    (
        "asked to stop",
        why(task(RUNNING, cancel_requested_at=NOW, **HELD), WORKER),
        (
            Running(
                WORKER.id, "worker-1", "node-1", 4711, NOW - MINUTE, 1, None, NOW, alive=True
            ),
        ),
        "It was asked to stop at",
    ),
    (
        "its worker is gone",
        why(
            task(RUNNING, **HELD), msgspec.structs.replace(WORKER, closed_at=NOW - SECOND)
        ),
        (
            Running(
                WORKER.id, "worker-1", "node-1", 4711, NOW - MINUTE, 1, None, None,
                alive=False, until=NOW + LEASE,
            ),
        ),
        "Its worker is gone: it is given to another once its lease is over, in 30s",
    ),
    (
        "its worker is forgotten",
        why(task(RUNNING, **HELD)),
        (
            Running(
                WORKER.id, None, None, None, NOW - MINUTE, 1, None, None, alive=False
            ),
        ),
        "it is given to another soon",
    ),
    (
        "completed",
        why(task(State.COMPLETED, finished_at=NOW, attempt=1)),
        (Finished(State.COMPLETED, NOW, None, 1),),
        "Completed at",
    ),
    (
        "expired and cancelled",
        why(task(State.CANCELLED, finished_at=NOW, reason="expired", expires_at=NOW)),
        (Expired(NOW),),
        "before it was started: cancelled",
    ),
    (
        "failed",
        why(task(State.FAILED, finished_at=NOW, reason="permanent", attempt=3)),
        (Finished(State.FAILED, NOW, "permanent", 3),),
        "Replay: rota dead-letters replay",
    ),
    (
        "replayed",
        why(task(State.FAILED, finished_at=NOW, attempt=3, replayed_as="0193")),
        (Finished(State.FAILED, NOW, None, 3, "0193"),),
        "It was replayed as 0193",
    ),
    (
        "discarded",
        why(task(State.FAILED, finished_at=NOW, attempt=3, discarded_at=NOW)),
        (Finished(State.FAILED, NOW, None, 3, None, NOW),),
        "Undo: rota dead-letters restore",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_each_case_has_its_reasons_and_its_words(case: Case) -> None:
    """R7.8."""
    _, explained, expected, words = case

    assert explained.reasons == expected
    assert words in " ".join(sentences(explained))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_each_reason_is_shown_with_its_code_and_until_when(case: Case) -> None:
    """R7.8: the codes are what scripts go by."""
    _, explained, _, words = case

    shown = view(explained)

    assert words in shown["summary"]
    assert len(shown["sentences"]) == len(shown["reasons"])
    assert (shown["task"], shown["as_of"]) == (explained.task.id, "2027-01-15T08:00:00.000000Z")
    for reason in shown["reasons"]:
        assert reason["code"] in CODES
        assert reason["until"] is None or reason["until"].endswith("Z")
        assert not [v for v in reason.values() if isinstance(v, int) and v > SECOND]
