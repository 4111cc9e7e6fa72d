"""A broken line costs at most an answer; the store connects again by itself (R3.7)."""

import asyncio
from contextlib import suppress

import pytest

from rota.config import LEASE
from rota.errors import StoreUnavailable
from rota.model import Accepted, NewTask, State
from rota.store.base import Store
from tests.conformance.steps import counts, open_worker, take, take_all
from tests.support.factories import NOW, Make, completed
from tests.support.places import Place

pytestmark = pytest.mark.parametrize("place", ["postgres"], indirect=True)

CUT = """
    select pg_terminate_backend(pid)
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
"""


async def submitted(store: Store, batch: list[NewTask]) -> list[Accepted]:
    """Submit as a caller does: repeat what has no answer."""
    while True:
        try:
            return await store.submit(batch, NOW)
        except StoreUnavailable:
            continue


async def test_work_goes_on_after_every_reset(place: Place, store: Store, make: Make) -> None:
    """B146, F18: three times in a row, nothing else escapes and nothing is stored twice."""
    for n in range(3):
        await place.rows(CUT)
        batch = make.tasks(5)
        assert await submitted(store, batch) == [Accepted(task.id) for task in batch]
        assert await counts(store) == {State.READY: 5 * (n + 1)}


async def test_resets_under_load_lose_nothing_and_double_nothing(
    place: Place, store: Store, make: Make
) -> None:
    """B111, F5: whether a call was cut before or after its commit, its repeat is safe."""
    batches = [make.tasks(20) for _ in range(40)]

    async def caller(mine: list[list[NewTask]]) -> None:
        for batch in mine:
            assert await submitted(store, batch) == [Accepted(task.id) for task in batch]

    callers = [asyncio.create_task(caller(batches[n::4])) for n in range(4)]
    while not all(task.done() for task in callers):
        await place.rows(CUT)
        await asyncio.wait(callers, timeout=0.02)
    await asyncio.gather(*callers)

    assert await counts(store) == {State.READY: 800}


async def test_a_report_is_repeated_until_its_answer_is_known(
    place: Place, store: Store, make: Make
) -> None:
    """B116, B111: 500 finishes through resets; each counts once."""
    await store.submit(make.tasks(500), NOW)
    session = await open_worker(store, make)
    held = await take_all(store, session)

    async def report() -> None:
        for n in range(0, 500, 25):
            batch = [completed(task) for task in held[n : n + 25]]
            while True:
                try:
                    await store.finish(session, batch, NOW)
                except StoreUnavailable:
                    continue
                break

    reporting = asyncio.create_task(report())
    while not reporting.done():
        await place.rows(CUT)
        await asyncio.wait([reporting], timeout=0.02)
    await reporting

    assert await counts(store) == {State.COMPLETED: 500}


async def test_a_claim_whose_answer_was_lost_is_read_again(
    place: Place, store: Store, make: Make
) -> None:
    """F5: what was handed out is held, whether or not the session heard of it."""
    tasks = make.tasks(100)
    await store.submit(tasks, NOW)
    session = await open_worker(store, make)
    answered: set[str] = set()
    for n in range(20):
        cut = asyncio.create_task(place.rows(CUT if n % 2 else "select 1"))
        with suppress(StoreUnavailable):
            answered |= {task.id for task in await take(store, session, 5)}
        await cut
    held: set[str] | None = None
    while held is None:
        with suppress(StoreUnavailable):
            held = {task.id for task in await store.held(session, 200)}

    assert answered
    assert answered <= held


async def test_a_pulse_beats_again_after_a_reset(place: Place, store: Store, make: Make) -> None:
    """B122, R3.4: the lease outlives a cut line."""
    session = await open_worker(store, make)
    pulse = store.pulse()

    def renew(at: int) -> bool:
        for _ in range(3):
            try:
                return pulse.beat(session, at, at + LEASE).alive
            except StoreUnavailable:
                continue
        raise AssertionError("the line does not come back")

    beats = []
    for n in range(3):
        beats.append(await asyncio.to_thread(renew, NOW + n))
        await place.rows(CUT)
    await asyncio.to_thread(pulse.close)

    assert beats == [True] * 3
