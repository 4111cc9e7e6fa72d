"""A worker as a whole, on a store in a file: what its parts tell each other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import pytest

from rota import Backoff, Context, Fail, Rota, State
from rota.clock import new_rng
from rota.errors import ConfigurationError
from rota.model import AttemptError
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker


class Site:
    """An app with a worker in this process."""

    def __init__(self, folder: Path) -> None:
        self.app = Rota(f"sqlite:///{folder / 'rota.db'}")
        self.seen: list[Any] = []
        self.done = asyncio.Event()

    async def work(self, *submits: Awaitable[Any], **settings: Any) -> Worker:
        """Run a worker until a handler or hook says that it is done."""
        for submit in submits:
            await submit
        worker = Worker(
            self.app.registry, self.app.connect(), WorkerSettings(**settings), rng=new_rng(1)
        )
        running = asyncio.create_task(worker.run())
        async with asyncio.timeout(60):
            await self.done.wait()
            worker.drain()
            await running
        await asyncio.to_thread(self.app.close)
        return worker


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An empty store."""
    return Site(tmp_path)


async def test_a_dead_letter_is_told_once_the_store_has_it(site: Site) -> None:
    """R4.4."""

    @site.app.task(retry=Backoff(max_attempts=2, base=0.01))
    async def failing(n: int) -> None:
        raise Fail("never") if n == 1 else ValueError("again")

    @site.app.on_dead_letter
    async def tell(ctx: Context, error: AttemptError) -> None:
        state = (await site.app.tasks.aget(ctx.task_id)).state
        site.seen.append((error.type, error.attempt, state))
        if len(site.seen) == 2:
            site.done.set()

    await site.work(failing.asubmit(n=1), failing.asubmit(n=2))

    assert sorted(site.seen) == [("Fail", 1, State.FAILED), ("ValueError", 2, State.FAILED)]


async def test_resources_are_closed_when_the_worker_stops(site: Site) -> None:
    """R8.2: after the last handler that uses them."""

    @site.app.resource
    async def database() -> AsyncIterator[str]:
        site.seen.append("open")
        yield "db"
        site.seen.append("close")

    @site.app.task
    async def work(n: int, db: str = database) -> None:
        site.done.set()
        await asyncio.sleep(0)
        site.seen.append(db)

    await site.work(work.asubmit(n=1))

    assert site.seen == ["open", "db", "close"]


async def test_a_kind_may_leave_no_row_of_what_went_well(site: Site) -> None:
    """R9.5."""

    @site.app.task(keep=False)
    async def quick(n: int) -> None:
        if n == 2:
            site.done.set()

    @site.app.task
    async def kept(n: int) -> None: ...

    await site.work(kept.asubmit(n=1), quick.asubmit(n=1), quick.asubmit(n=2))

    assert [task.kind for task in site.app.tasks.list()] == ["kept"]


async def test_rules_of_a_kind_decide_about_its_errors(site: Site) -> None:
    """R4.2: permanent at the first attempt."""

    class Overloaded(Exception):
        retry_after = 3_600

    @site.app.task(fail_on=KeyError)
    async def failing(n: int) -> None:
        if n == 2:
            raise Overloaded
        raise KeyError("no such student")

    @site.app.on_failure
    def tell(ctx: Context, error: BaseException) -> None:
        site.seen.append(type(error).__name__)
        if len(site.seen) == 2:
            site.done.set()

    await site.work(failing.asubmit(n=1), failing.asubmit(n=2))

    assert sorted(site.seen) == ["KeyError", "Overloaded"]
    (failed,) = site.app.tasks.list(state=State.FAILED)
    (waiting,) = site.app.tasks.list(state=State.SCHEDULED)
    assert (failed.attempt, failed.reason) == (1, "permanent")
    assert 3_600_000_000 <= waiting.run_at - waiting.errors[0].at < 3_610_000_000


def test_a_handler_that_no_process_could_import_is_refused_at_once(site: Site) -> None:
    @site.app.task(executor="process")
    def work(n: int) -> None: ...

    with pytest.raises(ConfigurationError, match="task work: a process must be able to import it"):
        Worker(site.app.registry, site.app.connect(), WorkerSettings(), rng=new_rng(1))
    Worker(site.app.registry, site.app.connect(), WorkerSettings(app_path="a:b"), rng=new_rng(1))


@pytest.mark.parametrize("options", [{"pool": -1}, {"pool_tasks": 0}, {"concurrency": 0}])
def test_settings_that_cannot_work_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        WorkerSettings(**options)  # type: ignore[arg-type]
