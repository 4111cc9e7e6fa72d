"""The worker protocol: beats, reports and their verdicts (R3, R8.4)."""

import asyncio
from typing import Any

import pytest

from rota.clock import ManualClock
from rota.config import DAY
from rota.engine import Engine
from rota.figures import Measure
from rota.model import State
from rota.server.front import Front
from tests.server.hand import Hand, done, state_of
from tests.support.asking import Asker
from tests.support.factories import Make


@pytest.fixture
def hand(asker: Asker, runner: asyncio.Runner) -> Hand:
    """A worker with a session."""
    one = Hand(asker.using("worker"))
    runner.run(one.open())
    return one


# -- reports ------------------------------------------------------------------------------------


async def test_each_item_of_a_report_has_its_own_verdict(
    hand: Hand, engine: Engine, make: Make
) -> None:
    """Pitfalls 1 and 2: done, done already, another's, never heard of."""
    await engine.submit(make.tasks(2, queue="sms"))
    one, other = await hand.got()
    first = await hand.finish(done(one, result={"sent": 1}))

    verdicts = await hand.finish(
        done(one),
        done(other, fence=99),
        {"id": make.id(), "fence": 1, "outcome": "completed"},
        {"id": "no id", "fence": 1, "outcome": "completed"},
        done(other, result="x" * 300_000),
        done(other),
    )

    assert first == [{"id": one["id"], "verdict": "applied", "state": "completed"}]
    assert [item["verdict"] for item in verdicts] == [
        "duplicate", "stale", "unknown", "unknown", "invalid", "applied",
    ]  # fmt: skip
    assert (await state_of(engine, one["id"])).result == {"sent": 1}


@pytest.mark.parametrize("seconds", [1e14, 1e305])
async def test_an_absurd_run_time_spoils_no_sum(
    hand: Hand, engine: Engine, make: Make, seconds: float
) -> None:
    """S8: the work is done all the same, and counts as the longest run that counts."""
    await engine.submit(make.tasks(1, queue="sms"))
    (task,) = await hand.got()

    (said,) = await hand.finish(done(task, seconds=seconds))

    assert said["verdict"] == "applied"
    await engine.flush()
    counts = engine.measuring.totals["sms", "send_result"]
    assert counts[Measure.RAN] == 30 * DAY


OUTCOMES = [
    ({"outcome": "completed", "result": [1]}, State.COMPLETED),
    ({"outcome": "failed", "error": {"type": "E", "message": "no"}}, State.SCHEDULED),
    ({"outcome": "failed", "permanent": True}, State.FAILED),
    ({"outcome": "failed", "retry": {"max_attempts": 1}}, State.FAILED),
    ({"outcome": "failed", "retry_after": "15m"}, State.SCHEDULED),
    ({"outcome": "timed_out"}, State.SCHEDULED),
    ({"outcome": "snooze", "after": 60}, State.SCHEDULED),
    ({"outcome": "snooze", "until": "2033-01-01T00:00:00Z"}, State.SCHEDULED),
    ({"outcome": "cancelled", "reason": "moved away"}, State.CANCELLED),
    ({"outcome": "released"}, State.READY),
    ({"outcome": "expired"}, State.CANCELLED),
]


@pytest.mark.parametrize(("item", "state"), OUTCOMES, ids=[str(n) for n in range(len(OUTCOMES))])
async def test_the_server_decides_what_becomes_of_a_task(
    hand: Hand, engine: Engine, make: Make, item: dict[str, Any], state: State
) -> None:
    """R4.1, R4.2: retry or dead letter is policy, never the worker's."""
    await engine.submit([make.task(queue="sms")])
    (task,) = await hand.got()

    (said,) = await hand.finish(done(task, **item))

    assert (said["verdict"], said["state"]) == ("applied", state)
    assert (await state_of(engine, task["id"])).state is state


async def test_a_task_that_was_taken_away_is_no_duplicate(
    hand: Hand, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R5.2: the fence is right and the session too; what the worker did counts all the same not."""
    await engine.submit(make.tasks(3, queue="sms"))
    slow, willing, other = await hand.got()
    await engine.cancel([slow["id"], willing["id"]], clock.now())
    assert (await hand.finish(done(willing, outcome="cancelled")))[0]["verdict"] == "applied"
    clock.advance(1)
    await engine.sweep()

    verdicts = await hand.finish(
        done(slow), done(slow, outcome="cancelled"), done(willing, outcome="cancelled"), done(other)
    )

    assert [one["verdict"] for one in verdicts] == ["stale", "duplicate", "duplicate", "applied"]
    assert (await state_of(engine, slow["id"])).state is State.CANCELLED


async def test_an_item_that_comes_twice_in_a_report_is_carried_out_once(
    hand: Hand, engine: Engine, make: Make
) -> None:
    """R3.2: the first of them; and one completion is counted, not two."""
    (made,) = make.tasks(1, queue="sms")
    await engine.submit([made])
    (task,) = await hand.got()
    note = {"id": task["id"], "fence": 1, "done": 1}

    notes = (await hand.ask("progress", {"items": [note, note | {"done": 2}]})).json["items"]
    verdicts = await hand.finish(done(task), done(task, outcome="failed"), done(task))

    assert [one["verdict"] for one in notes] == ["applied", "invalid"]
    assert [one["verdict"] for one in verdicts] == ["applied", "stale", "duplicate"]
    assert engine.measuring.totals[made.queue, made.kind][Measure.COMPLETED] == 1


async def test_a_report_tells_nothing_of_what_is_out_of_reach(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """S2, S13: a task of another tenant looks as if it were not, whatever fence is guessed."""
    (other,) = make.tasks(1, queue="sms", tenant="college")
    await engine.submit([other])
    board = Hand(asker.using("worker@board"))
    await board.open()
    guesses = [
        {"id": task_id, "fence": 0, "outcome": outcome}
        for task_id in (other.id, make.id())
        for outcome in ("completed", "failed", "released")
    ]

    verdicts = await board.finish(*guesses)

    assert {one["verdict"] for one in verdicts} == {"unknown"}


async def test_a_server_that_has_forgotten_reads_what_is_held(
    hand: Hand, engine: Engine, make: Make, server: Front
) -> None:
    """Another server handed it out, or this one was restarted."""
    await engine.submit([make.task(queue="sms", retry='{"max_attempts":1}')])
    (task,) = await hand.got()
    server.place.holdings.forget(hand.session)

    (said,) = await hand.finish(done(task, outcome="failed"))

    assert (said["verdict"], said["state"]) == ("applied", "failed")


async def test_notes_are_kept_under_the_right_fence(hand: Hand, engine: Engine, make: Make) -> None:
    """R3.2, R3.5."""
    await engine.submit([make.task(queue="sms")])
    (task,) = await hand.got()
    note = {"id": task["id"], "fence": 1, "done": 3, "total": 9, "checkpoint": {"at": 3}}

    items = [note, note | {"fence": 2}, note | {"id": "no id"}]
    told = await hand.ask("progress", {"items": items})

    assert [item["verdict"] for item in told.json["items"]] == ["applied", "stale", "unknown"]
    await hand.finish(done(task, outcome="released"))
    (again,) = await hand.got()
    assert again["last_checkpoint"] == {"at": 3}


# -- beats --------------------------------------------------------------------------------------


async def test_a_beat_renews_the_lease_and_tells_what_is_to_stop(
    hand: Hand, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R3.1, R5.2."""
    await engine.submit([make.task(queue="sms")])
    (task,) = await hand.got()
    await engine.cancel([task["id"]], clock.now() + 60_000_000)
    clock.advance(20)

    told = await hand.ask("heartbeat", {"seq": 41, "held": 1})
    clock.advance(20)
    later = await hand.ask("heartbeat", {"seq": 42, "held": 1})

    assert told.json["cancel"] == [{"id": task["id"], "fence": 1, "deadline_s": 40.0}]
    assert (told.json["seq"], told.json["lease_left"]) == (41, 30.0)
    assert later.status == 200


async def test_a_worker_that_differs_twice_is_told_to_look(
    hand: Hand, engine: Engine, make: Make
) -> None:
    """http-and-cli.md §5: once is a report under way."""
    await engine.submit(make.tasks(2, queue="sms"))
    await hand.got()

    beats = [(await hand.ask("heartbeat", {"held": 1})).json["resync"] for _ in range(3)]
    known = (await hand.ask("heartbeat", {"held": 2})).json["resync"]

    assert (beats, known) == ([False, True, False], False)
    assert len((await hand.ask("held")).json["tasks"]) == 2


async def test_what_was_taken_away_is_told(
    hand: Hand, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R5.2: a handler that ignored its deadline."""
    await engine.submit(make.tasks(2, queue="sms"))
    task, _ = await hand.got()
    await engine.cancel([task["id"]], clock.now())
    clock.advance(1)
    await engine.sweep()

    beats = [(await hand.ask("heartbeat", {"held": 1})).json for _ in range(2)]

    assert [beat["lost"] for beat in beats] == [[], [{"id": task["id"], "fence": 1}]]
    assert beats[1]["resync"] is False


async def test_a_drain_is_told_at_the_next_beat(hand: Hand, asker: Asker) -> None:
    """R3.6."""
    told = await asker.ask("POST", f"/v1/sessions/{hand.session}/drain")

    assert told.status == 200
    assert (await hand.ask("heartbeat", {})).json["state"] == "drain"
    assert (await hand.claim()).json["state"] == "drain"


async def test_closing_hands_back_what_is_held_and_may_be_repeated(
    hand: Hand, engine: Engine, make: Make
) -> None:
    """R3.6: no attempt is spent."""
    await engine.submit(make.tasks(3, queue="sms"))
    tasks = await hand.got()

    told = [(await hand.ask("close", {})).json for _ in range(2)]

    assert told == [{"released": 3}, {"released": 0}]
    back = [await state_of(engine, task["id"]) for task in tasks]
    assert {(task.state, task.attempt, task.lost) for task in back} == {(State.READY, 0, 0)}
    assert (await hand.claim()).status == 410


# -- what does not fit --------------------------------------------------------------------------

BAD = [
    ("claim", {"request": 0, "queues": ["sms"], "slots": 1}),
    ("claim", {"request": 1, "queues": [], "slots": 1}),
    ("claim", {"request": 1, "queues": ["a b"], "slots": 1}),
    ("claim", {"request": 1, "queues": ["sms"], "slots": 1_001}),
    ("claim", {"request": 1, "queues": ["sms"], "slots": 1, "wait_s": 31}),
    ("claim", {"request": 1.5, "queues": ["sms"], "slots": 1}),
    ("claim", {"request": 1, "queues": ["sms"], "slots": 1, "wants": {}}),
    ("heartbeat", {"seq": -1}),
    ("heartbeat", {"lease": 1e9}),
    ("progress", {"items": [{"id": "x", "fence": 1, "done": -1}]}),
    ("finish", {"items": [{"id": "x", "fence": 1, "outcome": "done"}]}),
    ("finish", {"items": [{"id": "x", "fence": 2**60, "outcome": "completed"}]}),
    ("finish", {"items": [{"id": "x", "fence": 1, "outcome": "completed"}] * 1_001}),
]


@pytest.mark.parametrize(("verb", "body"), BAD, ids=[str(n) for n in range(len(BAD))])
async def test_what_does_not_fit_is_refused_and_named(hand: Hand, verb: str, body: Any) -> None:
    """S8."""
    told = await hand.ask(verb, body)

    assert (told.status, told.code) == (422, "validation_failed")
    assert told.json["errors"]


@pytest.mark.parametrize(
    "item",
    [
        {"outcome": "completed", "result": {"a": "\0"}},
        {"outcome": "snooze"},
        {"outcome": "snooze", "until": "tomorrow"},
        {"outcome": "failed", "retry_after": -1},
        {"outcome": "failed", "retry": {"max_attempts": 0}},
    ],
    ids=["nul", "no end", "no instant", "negative", "no attempts"],
)
async def test_an_item_that_does_not_fit_holds_up_no_other(
    hand: Hand, engine: Engine, make: Make, item: dict[str, Any]
) -> None:
    """http-and-cli.md §5: `invalid`, to be reported again as failed."""
    await engine.submit(make.tasks(2, queue="sms"))
    bad, good = await hand.got()

    verdicts = await hand.finish(done(bad, **item), done(good))

    assert [one["verdict"] for one in verdicts] == ["invalid", "applied"]
    assert verdicts[0]["problem"]
    assert (await state_of(engine, bad["id"])).state is State.RUNNING
