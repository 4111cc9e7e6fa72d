"""A trace goes through a server: the client's submit and the worker's run, both far from the store.

R9.3: it works over HTTP as on a store.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota import Rota
from rota.clock import new_rng
from rota.contrib.otel import instrument
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from tests.cli.served import Served
from tests.contrib.test_otel import Traced, linked, of, place

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server on a file of its own."""
    served = Served(f"sqlite:///{tmp_path}/served.db")
    yield served
    served.close()


async def test_a_run_far_away_is_linked_to_a_submit_far_away(
    served: Served, tmp_path: Path
) -> None:
    traced = Traced(tmp_path)
    key = await asyncio.to_thread(served.key, ["submit", "read", "worker"])
    app = traced.app = Rota(served.url, token=key)
    instrument(app, tracer_provider=traced.provider)

    @app.task(queue="sms")
    async def send(n: int) -> None:
        traced.over()

    worker = Worker(app.registry, app.connect(), WorkerSettings(), rng=new_rng(1))
    running = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(60):
            await send.asubmit(1)
            await traced.ended.wait()
    finally:
        worker.drain()
        await running
    await asyncio.to_thread(app.close)
    (sent,), (run,) = traced.spans("send"), traced.spans("process")
    assert linked(run) == [place(sent.context)]
    assert of(run, "messaging.message.id") == of(sent, "messaging.message.id")
    assert of(run, "rota.fence") == 1
