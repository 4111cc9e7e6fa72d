"""The examples of the how-to pages on handlers do what the pages say."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rota import CancelOutcome, State
from rota.clock import new_rng
from rota.config import SECOND
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from tests.docs.pages import module_of

Page = Callable[[str], ModuleType]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The examples of a page, with their store in a folder of this test's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "school", raising=False)
    opened: list[ModuleType] = []

    def load(name: str) -> ModuleType:
        opened.append(module_of(name, tmp_path))
        return opened[-1]

    yield load
    for module in opened:
        module.app.close()
    sys.modules.pop("school", None)  # what another test calls so is another


async def ended(school: ModuleType, task_id: str, *, cancel: bool = False) -> Any:
    """Run a worker until the task is over and return the task; cancel it once it runs."""
    app = school.app
    settings = WorkerSettings(app_path="school:app")
    worker = Worker(app.registry, app.connect(), settings, rng=new_rng(1))
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(60):
        while not (task := await app.tasks.aget(task_id)).finished_at and not task.errors:
            await asyncio.sleep(0.01)
            if cancel and task.state is State.RUNNING:
                cancel = await app.tasks.acancel(task_id) is not CancelOutcome.ACCEPTED
    worker.drain()
    await running
    return task


async def test_a_soft_limit_is_handled(page: Page) -> None:
    """docs/how-to/time-limits.md."""
    school = page("time-limits.md")
    school.fetch_results.kind.soft_timeout = SECOND // 10

    task = await ended(school, (await school.fetch_results.asubmit(school="north")).id)

    assert task.state is State.COMPLETED
    assert task.result[0] == "north/0"


async def test_a_hard_limit_ends_the_run(page: Page) -> None:
    """docs/how-to/time-limits.md."""
    school = page("time-limits.md")
    limited = school.fetch_results.using(timeout=0.1)

    task = await ended(school, (await limited.asubmit(school="north")).id)

    assert [error.type for error in task.errors] == ["TimedOut"]


async def test_plain_functions_and_processes_do_their_work(page: Page) -> None:
    """docs/how-to/time-limits.md."""
    school = page("time-limits.md")

    marked = await ended(school, (await school.mark_papers.asubmit(papers=[1, 2, 3])).id)
    ranked = await ended(school, (await school.rank_schools.asubmit(year=10)).id)

    assert (marked.result, ranked.result) == (3, 285)


@pytest.mark.parametrize(
    ("kind", "argument"), [("send_all", "students"), ("move_money", "transfers")]
)
async def test_an_async_handler_stops_when_it_is_asked(
    page: Page, kind: str, argument: str
) -> None:
    """docs/how-to/cancelling.md."""
    school = page("cancelling.md")
    many = {argument: list(range(10_000))}

    accepted = await getattr(school, kind).asubmit(**many)
    task = await ended(school, accepted.id, cancel=True)

    assert (task.state, task.reason) == (State.CANCELLED, "cancelled by request")


async def test_a_plain_function_stops_when_it_is_asked(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/how-to/cancelling.md: what was done until then is its result."""
    school = page("cancelling.md")
    pause = asyncio.run_coroutine_threadsafe
    loop = asyncio.get_running_loop()

    def slowly(number: int) -> int:
        pause(asyncio.sleep(0.01), loop).result()
        return 1

    monkeypatch.setattr(school, "print_report", slowly)

    accepted = await school.print_reports.asubmit(classes=list(range(10_000)))
    task = await ended(school, accepted.id, cancel=True)

    assert task.state is State.COMPLETED
    assert 0 < task.result < 10_000


async def test_a_run_goes_on_from_the_checkpoint(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/how-to/checkpoints.md: an error in the middle costs what came after the checkpoint."""
    school = page("checkpoints.md")
    sent: list[str] = []

    async def send(key: str, student: int) -> None:
        if student == 250 and len(sent) < 300:
            sent.extend([""] * 300)
            raise ConnectionError("away")
        sent.append(key)

    monkeypatch.setattr(school, "send", send)
    accepted = await school.send_results.asubmit(students=list(range(500)))
    failed = await ended(school, accepted.id)
    await school.app.tasks.aretry(accepted.id)
    done = await completed(school, accepted.id)

    assert (failed.checkpoint, failed.progress.done) == (200, 250)
    assert done.result == 300


async def completed(school: ModuleType, task_id: str) -> Any:
    """Run a worker until the task has completed and return the task."""
    settings = WorkerSettings(app_path="school:app")
    worker = Worker(school.app.registry, school.app.connect(), settings, rng=new_rng(1))
    running = asyncio.create_task(worker.run())
    await school.app.tasks.aresult(task_id, timeout=60)
    worker.drain()
    await running
    return await school.app.tasks.aget(task_id)


async def test_a_plain_function_makes_checkpoints_too(page: Page) -> None:
    """docs/how-to/checkpoints.md."""
    school = page("checkpoints.md")

    task = await completed(school, (await school.import_marks.asubmit(rows=list(range(120)))).id)

    assert task.result == 120
