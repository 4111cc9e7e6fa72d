"""What another process sees of a place, and does to it.

A caller may have a SQLite of its own in this process, in which Rota's must not open the file.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from rota.backend import Report
from rota.clock import ManualClock, SystemClock, new_rng
from rota.config import LEASE
from rota.engine import Engine
from rota.model import Claimed
from rota.policy.lifecycle import Completed
from rota.policy.retry import Backoff
from tests.support.factories import Make
from tests.support.places import Dialect, Place

T = TypeVar("T")

ORDERS: dict[Dialect, str] = {"postgres": "public.orders", "sqlite": "main.orders"}
"""A table of the caller's own beside Rota's."""

_WAITING = "select (select count(*) from ready) + (select count(*) from scheduled)"


class Elsewhere:
    """The place as another process has it."""

    def __init__(self, place: Place, pool: ProcessPoolExecutor) -> None:
        self._place = place
        self._pool = pool

    async def tasks(self) -> int:
        """Count the tasks that wait."""
        return int((await self.rows(_WAITING))[0][0])

    async def orders(self) -> int:
        """Count the caller's own rows."""
        return int((await self.rows(f"select count(*) from {ORDERS[self._place.dialect]}"))[0][0])

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement there."""
        return await self._do(_rows, sql)

    async def work(self) -> list[str]:
        """Claim and complete whatever is ready, as a worker does; return the ids."""
        session_id, tasks = await self.claim()
        assert all([await self.finish(session_id, task) for task in tasks])
        return [task.id for task in tasks]

    async def claim(self) -> tuple[str, list[Claimed]]:
        """Claim whatever is ready as a worker that then says nothing any more."""
        return await self._do(_claim)

    async def finish(self, session_id: str, task: Claimed) -> bool:
        """Report that a handler returned, and say whether that was accepted."""
        return await self._do(_finish, session_id, task)

    async def leases_over(self) -> int:
        """Take back what workers hold that say nothing any more; return how many tasks."""
        return await self._do(_leases_over)

    async def _do(self, what: Callable[..., T], *values: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, what, self._place, *values)


def _rows(place: Place, sql: str) -> list[tuple[Any, ...]]:
    return asyncio.run(place.rows(sql))


def _claim(place: Place) -> tuple[str, list[Claimed]]:
    async def work(engine: Engine) -> tuple[str, list[Claimed]]:
        session_id = await open_session(engine)
        return session_id, (await engine.claim(session_id, ["default"], 10_000, [])).tasks

    return _with_engine(place, work)


def _finish(place: Place, session_id: str, task: Claimed) -> bool:
    async def work(engine: Engine) -> bool:
        (applied,) = await engine.finish(session_id, [Report(task, Completed(), Backoff())])
        return applied

    return _with_engine(place, work)


def _leases_over(place: Place) -> int:
    return _with_engine(place, Engine.reap, later=2 * LEASE)


def _with_engine(place: Place, work: Callable[[Engine], Awaitable[T]], later: int = 0) -> T:
    async def run() -> T:
        engine = engine_on(place, later)
        await engine.open()
        try:
            return await work(engine)
        finally:
            await engine.close()

    return asyncio.run(run())


def engine_on(place: Place, later: int = 0) -> Engine:
    """An engine on a place, not yet open; its clock stands still and may be ahead."""
    return Engine(place.store(), ManualClock(SystemClock().now() + later), new_rng())


async def open_session(engine: Engine) -> str:
    """Register a worker and return its session's id."""
    session = Make(engine.clock.now()).session(
        started_at=engine.clock.now(), lease_until=engine.clock.now() + LEASE
    )
    await engine.open_session(session)
    return session.id
