"""The child of `rota dev`: a server on one event loop and a worker on another one."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable

from rota import __version__
from rota.app import Rota
from rota.clock import new_rng
from rota.config import SECOND
from rota.dev.line import CODE, GO, LOADED, child_file
from rota.errors import ConfigurationError
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from rota.reconcile import at_start
from rota.server.run import Running
from rota.server.settings import ServerSettings
from rota.sync import new_event_loop

log = logging.getLogger("rota.dev")

Link = Callable[[str, str], None]
"""Shows where the server is, and a code to log in with, once and soon."""

LEASE = 10 * SECOND
"""Shorter than elsewhere: what a handler that blocked held at a change runs again sooner."""
HURRY = 0.4
"""After so many seconds calls that are under way are not waited for any more."""
END = 1.5
"""After so many seconds the process ends, whatever still runs: a person waits for it."""


class WorkerThread:
    """A worker on a loop and in a thread of its own: a handler that blocks holds up only others."""

    def __init__(self, app: Rota, settings: WorkerSettings) -> None:
        rng = new_rng()
        self._app = app
        self._rng = rng
        self._worker = Worker(app.registry, app.connect(), settings, rng=rng, version=__version__)
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._run, name="rota-dev-worker", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Hand back what runs, at once."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._worker.stop)

    async def ended(self) -> None:
        """Wait until it has ended."""
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._work())

    async def _work(self) -> None:
        app = self._app
        declaring = asyncio.create_task(
            at_start(app.connect, tuple(app.declarations), app.source, self._rng)
        )
        try:
            await self._worker.run()
        except Exception:
            log.exception("the worker ended")
        finally:
            declaring.cancel()
            await asyncio.gather(declaring, return_exceptions=True)


def run_child(app: Rota, settings: ServerSettings, concurrency: int, link: Link) -> int:
    """Serve and work until told to stop; return the exit code."""
    if (file := child_file()) is not None:
        os.write(file, LOADED)
        os.close(file)
        if sys.stdin.buffer.readline() != GO:
            return 0  # the parent has a newer one, or is gone
    # Here and not by server and worker at once: one of them would have to wait for the other.
    if app.url.startswith("sqlite:"):
        app.migrate()
    return asyncio.run(_Child(app, settings, concurrency, link).run())


class _Child:
    def __init__(self, app: Rota, settings: ServerSettings, concurrency: int, link: Link) -> None:
        self._link = link
        self._running = Running(app, settings, rng=new_rng(), on_listening=self._show_link)
        self._running.server.advice_level = logging.DEBUG
        self._address = f"{settings.address.rpartition(':')[0]}:{self._running.port}"
        self._worker: WorkerThread | None = None
        try:
            self._worker = WorkerThread(
                app, WorkerSettings(name="dev", concurrency=concurrency, lease=LEASE)
            )
        except ConfigurationError as error:
            log.warning("there is nothing to run yet: %s", error)

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        os.set_blocking(0, False)
        loop.add_reader(0, self._heard)
        if self._worker is not None:
            self._worker.start()
        await self._running.run()
        if self._worker is not None:
            self._worker.stop()
            await self._worker.ended()
        return 0

    def _heard(self) -> None:
        try:
            told = os.read(0, 1024)
        except BlockingIOError:
            return
        if not told:
            asyncio.get_running_loop().remove_reader(0)
            self._stop()
        elif CODE in told:
            self._show_link()

    def _show_link(self) -> None:
        self._link(self._address, self._running.server.place.logins.code())

    def _stop(self) -> None:
        loop = asyncio.get_running_loop()
        self._running.stop()
        if self._worker is not None:
            self._worker.stop()
        loop.call_later(HURRY, self._running.stop)
        # Whatever hangs, be it a handler that blocks: the lease hands its tasks to others.
        timer = threading.Timer(END, os._exit, (0,))
        timer.daemon = True
        timer.start()
