"""A long transaction of one caller holds up nobody else (PostgreSQL; SQLite has one writer)."""

import asyncio
from collections.abc import Iterator

import pytest

from rota import CancelOutcome, Rota, State, TaskKind
from rota.backend import Report
from rota.clock import ManualClock
from rota.config import LEASE, SECOND
from rota.engine import Engine
from rota.model import Claimed
from rota.policy.lifecycle import Completed
from rota.policy.retry import Backoff
from tests.support.places import Place
from tests.transactions.callers import Psycopg
from tests.transactions.elsewhere import engine_on, open_session

Send = TaskKind[[int], None]

AT_ONCE = 5.0
"""Seconds within which what waits for nobody is done, on a busy machine too."""


@pytest.fixture
def engine(place: Place, runner: asyncio.Runner) -> Iterator[Engine]:
    """What the nodes do, with a clock that stands still."""
    engine = engine_on(place)
    runner.run(engine.open())
    runner.run(engine.prune())  # makes the partitions of the next days, as nodes do all the time
    yield engine
    runner.run(engine.close())


@pytest.fixture
def stranger(place: Place, runner: asyncio.Runner) -> Iterator[Psycopg]:
    """A caller who takes a long time to commit."""
    stranger = Psycopg(place)
    runner.run(stranger.open())
    yield stranger
    runner.run(stranger.close())


async def test_others_submit_claim_and_finish_meanwhile(
    app: Rota, send: Send, engine: Engine, stranger: Psycopg
) -> None:
    """R1.3: with keys and without, of the same tenant and of others."""
    running = await send.asubmit(0)
    later = await send.using(delay="1h").asubmit(0)
    session, (held,) = await _claim(engine)
    await stranger.submit(send, 1)
    await stranger.submit(send, 2, key="theirs", tenant="board")
    await stranger.submit(send, 3, delay="1h")
    await stranger.cancel(app, later.id)
    await stranger.complete(held, session)
    assert await stranger.once("theirs")

    async with asyncio.timeout(AT_ONCE):
        mine = [await send.asubmit(4), await send.using(key="mine").asubmit(5)]
        mine.append(await send.using(key="mine", tenant="board").asubmit(6))
        mine.append(await send.using(key="mine-too", delay="1s").asubmit(7))
        _advance(engine, 2)
        assert (await engine.stage()).moved == 1
        other, claimed = await _claim(engine)
        assert {task.id for task in claimed} == {accepted.id for accepted in mine}
        assert all(await engine.finish(other, _completed(claimed)))
        await engine.sweep()
        await engine.prune()

    assert (await app.tasks.aget(running.id)).state is State.RUNNING
    await stranger.commit()
    assert (await app.tasks.aget(running.id)).state is State.COMPLETED
    assert (await app.tasks.aget(later.id)).state is State.CANCELLED
    assert len((await _claim(engine))[1]) == 2


async def test_what_lost_workers_held_is_taken_back_meanwhile(
    send: Send, engine: Engine, stranger: Psycopg
) -> None:
    """R3.1: all but what the open transaction completes; that is its own until it ends."""
    await send.asubmit(1)
    stopped, (completing,) = await _claim(engine)
    await send.asubmit(2)
    (also_held,) = (await engine.claim(stopped, ["default"], 10, [])).tasks
    await send.asubmit(3)
    _, (of_another,) = await _claim(engine)
    await stranger.complete(completing, stopped)
    _advance(engine, 2 * LEASE / SECOND)

    async with asyncio.timeout(AT_ONCE):
        assert await engine.reap() == 2
    _, again = await _claim(engine)
    assert {task.id for task in again} == {also_held.id, of_another.id}

    await stranger.rollback()
    assert await engine.reap() == 1


async def test_a_cancel_of_what_runs_holds_up_no_heartbeat(
    app: Rota, send: Send, engine: Engine, stranger: Psycopg
) -> None:
    """R3.1, R5.2: the worker is told after the commit, when a node has passed it on."""
    await send.asubmit(1)
    session, (task,) = await _claim(engine)
    assert await stranger.cancel(app, task.id, deadline="1m") is CancelOutcome.ACCEPTED
    pulse = engine.pulse()
    now = engine.clock.now()

    async with asyncio.timeout(AT_ONCE):
        before = await asyncio.to_thread(pulse.beat, session, now, now + LEASE)
        await stranger.commit()
        await engine.sweep()
        after = await asyncio.to_thread(pulse.beat, session, now, now + LEASE)

    pulse.close()
    assert before.cancels == ()
    assert [request.id for request in after.cancels] == [task.id]


async def _claim(engine: Engine) -> tuple[str, list[Claimed]]:
    session = await open_session(engine)
    return session, (await engine.claim(session, ["default"], 100, [])).tasks


def _advance(engine: Engine, seconds: float) -> None:
    assert isinstance(engine.clock, ManualClock)
    engine.clock.advance(seconds)


def _completed(tasks: list[Claimed]) -> list[Report]:
    return [Report(task, Completed(), Backoff()) for task in tasks]
