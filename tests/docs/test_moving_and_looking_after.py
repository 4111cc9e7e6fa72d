"""The pages on moving over, backing up and tuning do what they say."""

import asyncio
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from apsw import Connection

from rota import Rota, State
from rota.clock import new_rng
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from tests.docs.pages import FOLDER, module_of

Page = Callable[[str], ModuleType]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The examples of a page, with their store in a folder of this test's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "school", raising=False)
    yield lambda name: module_of(name, tmp_path)
    sys.modules.pop("school", None)  # what another test calls so is another


async def test_what_comes_from_elsewhere_runs_as_shown(page: Page) -> None:
    """docs/how-to/come-over.md: an attempt that asks for another one, and many from a schedule."""
    school = page("come-over.md")
    app = school.app
    report = await school.morning_report.asubmit()
    settings = WorkerSettings(app_path="school:app")
    worker = Worker(app.registry, app.connect(), settings, rng=new_rng(1))
    running = asyncio.create_task(worker.run())

    assert await app.tasks.aresult(report.id, timeout=30) == 3
    mails = await app.tasks.alist(kind="send_mail")
    for mail in mails:
        sent = await app.tasks.aresult(mail.id, timeout=30)
        assert sent == f"mail {mail.payload['student_id']}, {mail.id}"
    worker.drain()
    await running

    assert {(await app.tasks.aget(mail.id)).attempt for mail in mails} == {2}
    assert [step.name for step in await app.schedules.aapply()] == ["morning_report"]
    app.close()


def test_a_backup_is_whole_and_goes_on_where_it_was_made(page: Page, tmp_path: Path) -> None:
    """docs/how-to/back-up.md."""
    with Rota("sqlite:///school.db") as app:

        @app.task
        def report(day: str) -> None: ...

        kept = report.submit("monday").id
        page("back-up.md")
        report.submit("tuesday")
    for left in tmp_path.glob("school.db*"):
        left.unlink()
    shutil.move("backup.db", "school.db")

    with Rota("sqlite:///school.db") as app:
        app.migrate()
        assert [(task.id, task.state) for task in app.tasks.list()] == [(kept, State.READY)]
    assert Connection("school.db").execute("pragma journal_mode").fetchall() == [("wal",)]


def test_a_store_is_bounded_as_shown(page: Page) -> None:
    """docs/how-to/tune.md."""
    school = page("tune.md")
    school.bound()
    with school.app as app:
        assert [use.limit.rate for use in app.limits.list()] == [500]
        assert app.queues.get("sms").max_depth == 100_000


@pytest.mark.parametrize("name", ["secure.md", "tune.md", "troubleshoot.md", "come-over.md"])
def test_every_option_that_is_named_is_one_of_a_command(name: str) -> None:
    told = (FOLDER.parent / "reference" / "cli.md").read_text("utf-8")
    named = set(re.findall(r"`(--[a-z-]+)", (FOLDER / name).read_text("utf-8")))
    assert {option for option in named if option not in told} == set()
