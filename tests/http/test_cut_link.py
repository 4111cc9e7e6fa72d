"""Links that break after the commit: nothing is lost, nothing is done twice (R1.2, R3.2, S13)."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rota.backend import Report
from rota.clock import Rng, new_rng
from rota.config import LEASE
from rota.errors import StoreUnavailable
from rota.http.backend import HttpBackend
from rota.model import State, TaskFilter, rank_of
from rota.policy.lifecycle import Completed
from rota.policy.retry import Backoff
from rota.store.sqlite import SQLiteStore
from tests.support.cutting import Cutting
from tests.support.factories import Make
from tests.support.serving import KEY, Served, Serving

TRIES = 300
CUT = 0.4


class Fate:
    """Cuts every so many links of the requests that a test is about."""

    def __init__(self, rng: Rng) -> None:
        self._rng = rng
        self.words: tuple[str, ...] = ()

    def __call__(self, path: str) -> bool:
        return path.endswith(self.words) and self._rng.random() < CUT if self.words else False


@pytest.fixture
def fate() -> Fate:
    """What is cut."""
    return Fate(new_rng(7))


@pytest.fixture
def proxy(listening: Serving, migrated_file: Path, tmp_path: Path, fate: Fate) -> Iterator[Cutting]:
    """Two servers on one file, taken in turn, and the links to them."""
    path = Path(shutil.copy(migrated_file, tmp_path / "rota.db"))
    with (
        Serving() as second,
        listening.on(SQLiteStore(path)) as one,
        second.on(SQLiteStore(path)) as other,
        Cutting([one.url, other.url], fate) as proxy,
    ):
        yield proxy


@pytest.fixture
def backend(proxy: Cutting, runner: asyncio.Runner) -> Iterator[Any]:
    """A client that goes through the proxy."""
    one = HttpBackend(proxy.url, KEY)
    runner.run(one.open())
    yield one
    runner.run(one.close())


async def surely(call: Any) -> Any:
    """Repeat a call until its answer is definite."""
    while True:
        try:
            return await call()
        except StoreUnavailable:
            continue


async def opened(backend: HttpBackend, make: Make) -> str:
    """Open a session."""
    now = backend.clock.now()
    session = make.session(started_at=now, lease_until=now + LEASE)
    await backend.open_session(session)
    return session.id


async def submitted(backend: HttpBackend, make: Make, count: int) -> list[str]:
    """Submit tasks one by one, each until the answer is definite."""
    ids = []
    for _ in range(count):
        now = backend.clock.now()
        task = make.task(queue="sms", run_at=now, created_at=now, rank=rank_of(now, 5))
        await surely(lambda task=task: backend.call("submit", [task]))
        ids.append(task.id)
    return ids


async def test_a_submit_is_stored_once(
    proxy: Cutting, backend: HttpBackend, make: Make, fate: Fate
) -> None:
    """R1.2."""
    fate.words = ("/submit",)

    ids = await submitted(backend, make, TRIES)

    fate.words = ()
    stored = await backend.call("get", ids)
    assert all(stored)
    counts = await backend.call("count", TaskFilter(), 10_000)
    assert counts == {State.READY: TRIES}
    assert proxy.cuts > TRIES * CUT / 2


async def test_a_claim_and_its_report_are_carried_out_once(
    proxy: Cutting, backend: HttpBackend, make: Make, fate: Fate
) -> None:
    """S13: by number and by fence, at two servers in turn, as a worker does it."""
    ids = await submitted(backend, make, TRIES)
    session = await opened(backend, make)
    fate.words = ("/claim", "/finish", "/held")
    taken: dict[str, int] = {}
    left = TRIES

    while left:
        try:
            tasks = (await backend.claim(session, ["sms"], 3, ())).tasks
        except StoreUnavailable:
            # The claimer's way: what is held and not known here was taken by the lost claim.
            held = await surely(lambda: backend.held(session))
            tasks = [task for task in held if task.id not in taken]
        for task in tasks:
            taken[task.id] = taken.get(task.id, 0) + 1
        reports = [Report(task, Completed(None), Backoff()) for task in tasks]
        if reports:
            applied = await surely(lambda r=reports: backend.finish(session, r))
            assert all(applied)
        left -= len(tasks)

    fate.words = ()
    assert taken == dict.fromkeys(ids, 1)
    found = await backend.call("get", ids)
    assert {(task.state, task.fence, task.attempt) for task in found} == {(State.COMPLETED, 1, 1)}
    assert proxy.cuts > 50


async def test_waiting_claims_whose_callers_are_gone_take_nothing(
    served: Served, make: Make
) -> None:
    """Pitfall 3: poll requests of the dead."""
    backend = HttpBackend(served.url, KEY)
    await backend.open()
    session = await opened(backend, make)
    asked = b'{"request":1,"queues":["sms"],"slots":5,"wait_s":20}'
    path = f"/v1/sessions/{session}/claim"
    waiting = asyncio.ensure_future(backend._link.ask("POST", path, asked))
    await until(lambda: served.place.waiting.waiting == 1)

    waiting.cancel()
    await until(lambda: served.place.waiting.waiting == 0)
    (task_id,) = await submitted(backend, make, 1)
    other = await opened(backend, Make(2))
    (task,) = (await backend.claim(other, ["sms"], 5, ())).tasks

    assert (task.id, task.fence) == (task_id, 1)
    assert await backend.held(session) == []
    await backend.close()


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that the server's thread does."""
    while not true():  # noqa: ASYNC110 - it is another thread that acts
        await asyncio.sleep(0.005)
