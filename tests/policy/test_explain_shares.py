"""What somebody set up that holds a task back: pauses, caps, rates, depths (R7.7, R7.8, R1.7)."""

from typing import Any

import pytest

from rota.config import HOUR, MINUTE, SECOND
from rota.explanations import sentences, view
from rota.model import PriorityClass, State
from rota.policy.overload import full_from
from rota.policy.reasons import (
    AtCap,
    AtGate,
    Expired,
    Explanation,
    InTurn,
    NotDue,
    NoWorker,
    OutOfTokens,
    Paused,
    PutOff,
    Reason,
)
from rota.schedule import GateUse
from rota.shares import (
    Depth,
    KindSettings,
    Limit,
    LimitUse,
    QueueSettings,
    Settings,
    TenantSettings,
    WhenFull,
)
from tests.policy.waiting import WORKER, task, why
from tests.support.factories import LATER, NOW

SCHEDULED, READY = State.SCHEDULED, State.READY
SINCE = NOW - HOUR
NEXT = InTurn(0, False)


def settings(*given: QueueSettings | TenantSettings | KindSettings) -> Settings:
    """All settings that there are."""
    return Settings(
        queues={one.name: one for one in given if isinstance(one, QueueSettings)},
        tenants={one.name: one for one in given if isinstance(one, TenantSettings)},
        kinds={one.name: one for one in given if isinstance(one, KindSettings)},
    )


def paused(kind: type[Any], name: str, reason: str | None = None) -> Any:
    """Settings of something that was paused an hour ago."""
    return kind(name=name, paused_at=SINCE, pause_reason=reason)


def use(running: int = 0, tokens: float | None = None, **limit: Any) -> LimitUse:
    """A limit of the task's queue and how much of it is in use."""
    return LimitUse(Limit(id="1", **{"queue": "sms"} | limit), running, tokens, NOW)


QUEUE, TENANT, KIND = (
    paused(QueueSettings, "sms", "provider down"),
    paused(TenantSettings, "board"),
    paused(KindSettings, "send"),
)
CAP = use(200, max_running=200)
RATE = use(tokens=0.25, rate=0.5, burst=5, tenant="board")
DEFERRING = QueueSettings(name="sms", max_depth=100, when_full=WhenFull.DEFER)

Case = tuple[str, Explanation, tuple[Reason, ...], str]
"""A name, what is found, the reasons that are expected, and what a person is told."""

CASES: list[Case] = [
    (
        "paused queue",
        why(task(READY), WORKER, settings=settings(QUEUE)),
        (Paused("queue", "sms", SINCE, "provider down"), NEXT),
        "Queue sms is paused since 2027-01-15T07:00:00.000000Z (provider down). "
        "Resume it: rota queues resume sms",
    ),
    (
        "paused tenant",
        why(task(READY), WORKER, settings=settings(TENANT)),
        (Paused("tenant", "board", SINCE, None), NEXT),
        "Tenant board is paused since 2027-01-15T07:00:00.000000Z. "
        "Resume it: rota tenants resume board",
    ),
    (
        "paused tenant without a name",
        why(task(READY, tenant=""), WORKER, settings=settings(paused(TenantSettings, ""))),
        (Paused("tenant", "", SINCE, None), NEXT),
        'Tenant "" is paused',
    ),
    (
        "paused kind",
        why(task(READY), WORKER, settings=settings(KIND)),
        (Paused("kind", "send", SINCE, None), NEXT),
        "Resume it: rota kinds resume send",
    ),
    (
        "others are paused",
        why(
            task(READY),
            WORKER,
            settings=settings(
                paused(QueueSettings, "mail"),
                paused(TenantSettings, "school"),
                paused(KindSettings, "other"),
                QueueSettings(name="sms", max_depth=1),
            ),
        ),
        (NEXT,),
        "Is the next",
    ),
    (
        "at its cap",
        why(task(READY), WORKER, limits=(CAP,), ahead=1840, ahead_cap=10_000),
        (AtCap("sms", None, 200, 200), InTurn(1840, False)),
        "Queue sms runs 200 of 200 tasks. Raise its limit: rota limits set --queue sms "
        "--max-running N Waits for its turn: 1,840 ahead",
    ),
    (
        "above a cap that was lowered",
        why(task(READY), WORKER, limits=(use(200, max_running=50, tenant="board"),)),
        (AtCap("sms", "board", 200, 50), NEXT),
        "Tenant board in queue sms runs 200 of 50 tasks. Raise its limit: rota limits set "
        "--queue sms --tenant board --max-running N",
    ),
    (
        "room under its cap",
        why(task(READY), WORKER, limits=(use(199, max_running=200),)),
        (NEXT,),
        "Is the next",
    ),
    (
        "out of tokens",
        why(task(READY), WORKER, limits=(RATE,)),
        (OutOfTokens("sms", "board", 0.5, 5, NOW + 1_500_000), NEXT),
        "Tenant board in queue sms may start 30/m, 5 at once: the next in 1.5s, "
        "at 2027-01-15T08:00:01.500000Z.",
    ),
    (
        "a token is left",
        why(task(READY), WORKER, limits=(use(tokens=1.0, rate=0.5, burst=5),)),
        (NEXT,),
        "Is the next",
    ),
    (
        "due and not staged yet",
        why(task(SCHEDULED), WORKER, limits=(CAP,), settings=settings(QUEUE)),
        (Paused("queue", "sms", SINCE, "provider down"), AtCap("sms", None, 200, 200), NEXT),
        "Queue sms is paused",
    ),
    (
        "everything at once",
        why(
            task(READY), settings=settings(QUEUE, TENANT, KIND), limits=(CAP, RATE), ahead=3
        ),
        (
            Paused("queue", "sms", SINCE, "provider down"),
            Paused("tenant", "board", SINCE, None),
            Paused("kind", "send", SINCE, None),
            NoWorker("sms", "send", 0, 0, 0),
            AtCap("sms", None, 200, 200),
            OutOfTokens("sms", "board", 0.5, 5, NOW + 1_500_000),
            InTurn(3, False),
        ),
        "3 ahead",
    ),
    (
        "at its gate in a paused queue",
        why(
            task(SCHEDULED, at_gate=True, concurrency_key="printer", max_concurrency=1),
            WORKER,
            settings=settings(QUEUE),
            gate=GateUse(1, 2),
        ),
        (
            Paused("queue", "sms", SINCE, "provider down"),
            AtGate("printer", 1, 1, 2, False),
        ),
        "Waits at its gate printer",
    ),
    (
        "not due, in a paused queue",
        why(task(SCHEDULED, run_at=LATER), settings=settings(QUEUE)),
        (NotDue(LATER, "delay", 0, None), Paused("queue", "sms", SINCE, "provider down")),
        "Not due yet: in 1h",
    ),
    (
        "put off: its queue is full",
        why(
            task(SCHEDULED, run_at=NOW + MINUTE, priority=8),
            settings=settings(DEFERRING),
            queue_depth=Depth("sms", 120),
            depth_cap=200,
        ),
        (NotDue(NOW + MINUTE, "delay", 0, None), PutOff("queue", "sms", 120, 100, False)),
        "Queue sms has 120 tasks waiting, with a depth of 100: what comes of class low is put off.",
    ),
    (
        "put off: its tenant is full",
        why(
            task(SCHEDULED, run_at=NOW + MINUTE, priority=1),
            settings=settings(DEFERRING, TenantSettings(name="board", max_depth=10)),
            queue_depth=Depth("sms", 120),
            tenant_depth=Depth("board", 200),
            depth_cap=200,
        ),
        (NotDue(NOW + MINUTE, "delay", 0, None), PutOff("tenant", "board", 200, 10, True)),
        "Tenant board has 200 or more tasks waiting",
    ),
    (
        "its class is not put off yet",
        why(
            task(SCHEDULED, run_at=NOW + MINUTE, priority=5),
            settings=settings(DEFERRING),
            queue_depth=Depth("sms", 149),
        ),
        (NotDue(NOW + MINUTE, "delay", 0, None),),
        "Not due yet",
    ),
    (
        "critical is never put off",
        why(
            task(SCHEDULED, run_at=NOW + MINUTE, priority=0),
            settings=settings(DEFERRING),
            queue_depth=Depth("sms", 10_000),
        ),
        (NotDue(NOW + MINUTE, "delay", 0, None),),
        "Not due yet",
    ),
    (
        "a full queue refuses, and puts nothing off",
        why(
            task(SCHEDULED, run_at=NOW + MINUTE, priority=8),
            settings=settings(QueueSettings(name="sms", max_depth=100)),
            queue_depth=Depth("sms", 1_000),
        ),
        (NotDue(NOW + MINUTE, "delay", 0, None),),
        "Not due yet",
    ),
    (
        "a snooze is no putting off",
        why(
            task(SCHEDULED, run_at=NOW + MINUTE, priority=8, snoozes=1),
            settings=settings(DEFERRING),
            queue_depth=Depth("sms", 1_000),
        ),
        (NotDue(NOW + MINUTE, "snooze", 0, None),),
        "Snoozed",
    ),
    (
        "expired in a paused queue",
        why(task(READY, expires_at=NOW), WORKER, settings=settings(QUEUE)),
        (Expired(NOW),),
        "about to be cancelled",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_each_case_has_its_reasons_and_its_words(case: Case) -> None:
    """R7.8: several reasons stand together."""
    _, explained, expected, words = case

    assert explained.reasons == expected
    assert words in " ".join(sentences(explained))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_each_reason_is_shown_with_its_code_and_until_when(case: Case) -> None:
    _, explained, _, words = case

    shown = view(explained)

    assert words in shown["summary"]
    for reason in shown["reasons"]:
        assert reason["until"] is None or reason["until"].endswith("Z")
        assert not [v for v in reason.values() if isinstance(v, int) and v > SECOND]


def test_a_paused_queue_is_shown_with_since_when_and_why() -> None:
    (reason, _) = view(why(task(READY), WORKER, settings=settings(QUEUE)))["reasons"]

    assert reason == {
        "code": "paused", "what": "queue", "name": "sms", "reason": "provider down",
        "since": "2027-01-15T07:00:00.000000Z", "until": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("depth", "expected"),
    [(1, (None, 2, 2, 1)), (7, (None, 14, 11, 7)), (100, (None, 200, 150, 100))],
)
def test_the_lower_a_class_the_sooner_it_is_turned_away(
    depth: int, expected: tuple[int | None, ...]
) -> None:
    """R1.7: low from the bound on, normal at half as much again, high at twice, critical never."""
    assert tuple(full_from(depth, cls) for cls in PriorityClass) == expected
