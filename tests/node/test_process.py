"""What is done beside a worker in its process starts with it, and holds up nothing (R6.8)."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from rota import Rota
from rota.clock import new_rng
from rota.node.process import run_here
from rota.node.settings import WorkerSettings


@pytest.mark.parametrize("goes_on", [False, True])
def test_it_starts_with_the_worker_and_ends_with_it(tmp_path: Path, goes_on: bool) -> None:
    app = Rota(f"sqlite:///{tmp_path / 'rota.db'}")
    done: list[str] = []

    @app.task
    async def report() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    async def beside() -> None:
        done.append("begun")
        try:
            await asyncio.Event().wait() if goes_on else None
        finally:
            done.append("ended")

    with app:
        report.submit()
        code = run_here(app.registry, app.connect, WorkerSettings(), rng=new_rng(1), beside=beside)

    assert (code, done) == (0, ["begun", "ended"])
