"""One worker process: an event loop, signals, and an orderly end."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from rota.backend import Backend
from rota.clock import Rng
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from rota.registry import Registry
from rota.sync import new_event_loop

log = logging.getLogger("rota.worker")

CHILD = "ROTA_CHILD"
"""Which of a supervisor's children a process is, from 0 on."""
SUPERVISED = "ROTA_SUPERVISED"
"""Set for the children of a supervisor: they stop when it is gone, and leave Ctrl-C to it."""


def run_here(
    registry: Registry,
    connect: Callable[[], Backend],
    settings: WorkerSettings,
    *,
    rng: Rng,
    version: str = "",
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
    watch: Callable[[Worker, Backend], "asyncio.Task[None]"] | None = None,
) -> int:
    """Run a worker in this process until it is told to stop; return the exit code.

    The first SIGTERM or SIGINT drains, the second hands back at once (R3.6). `beside` is started
    with it and holds up nothing; it is ended with it, and so is what `watch` starts.
    """

    async def main() -> int:
        backend = connect()
        worker = Worker(registry, backend, settings, rng=rng, version=version)
        _watch_signals(worker)
        log.info("worker %d takes %s", os.getpid(), worker.plan)
        others = [] if beside is None else [asyncio.create_task(beside())]
        if watch is not None:
            others.append(watch(worker, backend))
        await worker.run()
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        counts = worker.counts
        log.info("stopped; %d results reported, %d refused", counts.reported, counts.refused)
        return worker.stuck

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        if runner.run(main()):
            # Handlers that nothing ends would hold up the closing of the event loop for ever.
            _at_once(0)
    return 0


def leave(code: int) -> None:
    """End this process although handlers may still run in threads: their tasks are handed back."""
    if any(thread.name.startswith("rota-handler") for thread in threading.enumerate()):
        _at_once(code)
    logging.shutdown()


def _at_once(code: int) -> NoReturn:
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _watch_signals(worker: Worker) -> None:
    loop = asyncio.get_running_loop()
    asked = False

    def ask() -> None:
        nonlocal asked
        if asked:
            log.info("handing back what still runs")
            worker.stop()
        else:
            log.info("draining; once more to stop at once")
            worker.drain()
        asked = True

    loop.add_signal_handler(signal.SIGTERM, ask)
    loop.add_signal_handler(signal.SIGINT, ask)
    if os.environ.get(SUPERVISED):

        def parent_gone() -> None:
            loop.remove_reader(0)
            log.warning("the supervisor is gone")
            worker.drain()

        # The supervisor holds the other end and never writes: readable means that it is gone.
        loop.add_reader(0, parent_gone)
