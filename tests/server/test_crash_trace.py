"""The crash and the zombie of http-and-cli.md §5, second by second (R3.1-R3.4, R3.8, S13)."""

import asyncio

from rota.clock import ManualClock, new_rng
from rota.engine import Engine
from rota.figures import Measure
from rota.model import State
from rota.server.front import Front
from rota.server.place import Place as ServerPlace
from tests.server.hand import Hand, done, state_of
from tests.support.asking import Asker, KnownKeys, Told
from tests.support.factories import NOW, Make


class Times:
    """The times of the trace, on the clock of the test."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def at(self, seconds: float) -> None:
        """Let it be so many seconds after the beginning."""
        self._clock.advance(seconds - (self._clock.now() - NOW) / 1_000_000)


async def opened(asker: Asker, name: str) -> Hand:
    """A worker with a session."""
    hand = Hand(asker.using("worker"))
    assert (await hand.open(name)).status == 201
    return hand


async def beat(hand: Hand) -> Told:
    """A sign of life."""
    return await hand.ask("heartbeat", {"seq": 1})


async def handed_out_before(asker: Asker, times: int) -> None:
    """Somebody else had the task so often, and gave it back each time."""
    other = await opened(asker, "before")
    for _ in range(times):
        (task,) = await other.got()
        await other.finish(done(task, outcome="released"))
    await other.ask("close", {})


async def waits(server: Front, claiming: "asyncio.Future[Told]") -> None:
    """Let a claim come to where it waits."""
    while not server.place.waiting.waiting and not claiming.done():  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0.001)


async def test_a_worker_that_was_taken_for_dead_changes_nothing(  # noqa: PLR0915 - one trace
    asker: Asker, engine: Engine, server: Front, clock: ManualClock, make: Make
) -> None:
    """The trace: lease 30, beat 10, margin 3; A is stopped at 14.0 and goes on at 55.0."""
    times = Times(clock)
    await engine.submit([make.task(queue="sms")])
    await handed_out_before(asker, 6)

    # 0.0: A claims T under fence 7, B waits.
    a, b = await opened(asker, "A"), await opened(asker, "B")
    (task,) = await a.got(1)
    assert (task["fence"], task["attempt"]) == (7, 1)
    assert [await b.got(number) for number in range(1, 9)] == [[]] * 8

    # 10.0: A beats, and may trust its lease until 37.0; the store frees T at 40.0.
    times.at(10)
    told = (await beat(a)).json
    assert told["lease_left"] == 30.0
    assert 10 + told["lease_left"] - 3 == 37.0
    note = {"id": task["id"], "fence": 7, "done": 120, "total": 500, "checkpoint": 120}
    assert (await a.ask("progress", {"items": [note]})).json["items"][0]["verdict"] == "applied"

    # 14.0: A is stopped. B beats on, and nobody takes T from A before its lease is over.
    for seconds in (20, 30, 39.9):
        times.at(seconds)
        assert (await beat(b)).status == 200
        assert await engine.reap() == 0
    claiming = asyncio.ensure_future(b.claim(9, wait_s=20))
    await waits(server, claiming)

    # 40.1: the reaper; 40.2: B is handed T under fence 8, with what A has kept.
    times.at(40.1)
    assert await engine.reap() == 1
    assert (await state_of(engine, task["id"])).lost == 1
    times.at(40.2)
    server.place.waiting.heard(0)
    (again,) = (await claiming).json["tasks"]
    assert (again["id"], again["fence"], again["last_checkpoint"]) == (task["id"], 8, 120)

    # 44.0: B completes T, and does not hear so; 44.3: it repeats that.
    times.at(44)
    (first,) = await b.finish(done(again, result="sent"))
    times.at(44.3)
    (second,) = await b.finish(done(again, result="sent"))
    assert (first["verdict"], second["verdict"], second["state"]) == (
        "applied", "duplicate", "completed",
    )  # fmt: skip
    ended = await state_of(engine, task["id"])

    # 55.0: A goes on. Its beat and its report are too late, and leave no mark but one count.
    times.at(55)
    line = (task["queue"], task["kind"])
    assert engine.measuring.totals[line][Measure.STALE] == 0
    assert [(await beat(a)).code, (await a.ask("finish", {"items": [done(task)]})).code] == [
        "session_gone", "session_gone",
    ]  # fmt: skip
    assert await state_of(engine, task["id"]) == ended
    assert (ended.state, ended.result, ended.fence) == (State.COMPLETED, "sent", 8)
    totals = engine.measuring.totals[line]
    assert (totals[Measure.STALE], totals[Measure.COMPLETED], totals[Measure.LOST]) == (1, 1, 1)

    # 55.2: it opens another session and works on.
    times.at(55.2)
    assert await (await opened(asker, "A2")).got(1) == []


async def test_what_lies_ready_again_was_not_done_by_the_one_who_lost_it(
    asker: Asker, engine: Engine, clock: ManualClock, make: Make
) -> None:
    """R3.2: the fence is still the newest, and yet the report is no repeat of one that applied."""
    await engine.submit(make.tasks(2, queue="sms"))
    a = await opened(asker, "A")
    lost, ended = await a.got(1)
    assert (await a.finish(done(ended)))[0]["verdict"] == "applied"
    clock.advance(31)
    await engine.reap()

    # One of them was done in time, so the worker hears of both what is true.
    verdicts = await a.finish(done(ended), done(lost), done(lost, outcome="failed"))

    assert [one["verdict"] for one in verdicts] == ["duplicate", "stale", "stale"]
    assert (await a.ask("finish", {"items": [done(lost)]})).code == "session_gone"
    assert (await state_of(engine, lost["id"])).state is State.READY


async def test_a_claim_that_waits_here_takes_nothing_once_it_was_repeated_there(
    asker: Asker, engine: Engine, server: Front, make: Make, keys: KnownKeys
) -> None:
    """S13: two servers behind a balancer; the worker gave up on the first and has its answer."""
    there = Front(ServerPlace(server.place.app, engine, rng=new_rng(5)), server.table, keys)
    here = await opened(asker, "A")
    moved = Hand(Asker(there, "worker"), here.session)
    claiming = asyncio.ensure_future(here.claim(1, slots=1, wait_s=20))
    await waits(server, claiming)
    await engine.submit(make.tasks(3, queue="sms"))

    (taken,) = await moved.got(1, slots=1)
    server.place.waiting.heard(0)
    late = (await claiming).json
    repeated = (await moved.claim(1, slots=1)).json

    # The number is used up: the one that waited says what is held, and so does every repeat.
    assert [late["repeated"], repeated["repeated"]] == [True, True]
    assert [task["id"] for task in late["tasks"]] == [taken["id"]]
    assert repeated["tasks"] == [taken]
    assert len(await here.got(2, slots=2)) == 2
    assert (await moved.claim(1)).code == "superseded"
