"""Commands run only on workers that allow them; a crontab needs no Python code (R8.2)."""

import asyncio
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from rota import Rota, State
from rota.cli.worker import child_options
from rota.clock import new_rng
from rota.contrib.command import add_command
from rota.errors import UnknownKind
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from tests.cli.conftest import ROTA
from tests.system.harness import wait_until


@pytest.fixture
def app(tmp_path: Path) -> Any:
    """An app that knows commands and has one other task."""
    app = Rota(f"sqlite:///{tmp_path / 'rota.db'}")
    app.task(name="other")(lambda: None)
    add_command(app)
    with app:
        yield app


async def worked(app: Rota, settings: WorkerSettings, until: str) -> list[str]:
    """Run a worker until a task is over; return the kinds that it says it takes."""
    worker = Worker(app.registry, app.connect(), settings, rng=new_rng(1))
    running = asyncio.create_task(worker.run())
    await app.tasks.aresult(until, timeout=60)
    backend = app.connect()
    await backend.open()
    (session,) = await backend.sessions()
    await backend.close()
    worker.drain()
    await running
    return list(session.kinds)


async def test_a_worker_that_does_not_allow_commands_never_takes_one(app: Rota) -> None:
    command = await app.asubmit("command", {"argv": ["true"]})
    other = await app.asubmit("other", {})

    kinds = await worked(app, WorkerSettings(), until=other.id)

    task = await app.tasks.aget(command.id)
    assert kinds == ["other"]
    assert (task.state, task.fence) == (State.READY, 0)


async def test_a_worker_that_allows_them_runs_them(app: Rota) -> None:
    command = await app.asubmit("command", {"shell": "echo $ROTA_TASK_ID"})

    kinds = await worked(app, WorkerSettings(allow=("command",)), until=command.id)

    assert kinds == ["command", "other"]
    result = (await app.tasks.aget(command.id)).result
    assert (result["exit_code"], result["stdout"]) == (0, f"{command.id}\n")


def test_what_is_allowed_must_be_there(tmp_path: Path) -> None:
    app = Rota(f"sqlite:///{tmp_path / 'rota.db'}")
    app.task(name="other")(lambda: None)

    with pytest.raises(UnknownKind, match="'command' is not registered"):
        Worker(app.registry, app.connect(), WorkerSettings(allow=("command",)), rng=new_rng(1))


def test_children_are_told_as_well() -> None:
    from rota.cli.options import Common

    assert "--allow-commands" in child_options(WorkerSettings(allow=("command",)), Common())
    assert "--allow-commands" not in child_options(WorkerSettings(), Common())


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_worker_however_it_ends(
    app: Rota, tmp_path: Path, how: signal.Signals
) -> None:
    """R3.4, R3.6: asked to stop it hands the task back; killed, its guard ends the command."""
    app.migrate()
    script = "trap '' TERM; sleep 600 & echo $! $$ > pids; wait"
    task = app.submit("command", {"shell": script, "cwd": str(tmp_path)})
    words = ["--allow-commands", "--grace", "0", "--url", app.url]
    worker = subprocess.Popen([*ROTA, "worker", *words], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        file = tmp_path / "pids"
        wait_until(lambda: file.exists() and len(file.read_text().split()) == 2)
        worker.send_signal(how)
        code = worker.wait(60)
    finally:
        worker.kill()
        worker.wait()
    group = [int(word) for word in file.read_text().split()]
    wait_until(lambda: not any(_runs(pid) for pid in group))

    if how is signal.SIGTERM:
        assert code == 0
        assert app.tasks.get(task.id).state is State.READY
    else:
        assert code == -signal.SIGKILL


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
