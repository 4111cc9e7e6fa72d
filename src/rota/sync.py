"""The private event loop of an app: one implementation, an async and a blocking face (design §3).

Every call of an app runs on this loop, whatever thread or loop it came from, so that many callers
share one set of connections and one commit.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

TURNS = 3
"""So many turns of a loop are enough for its transports to close."""


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop, the fastest that is there."""
    try:
        import uvloop
    except ImportError:  # no wheel for this platform: the standard loop does the same, slower
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class Portal:
    """An event loop in a thread of its own, started at first use and again after a fork."""

    def __init__(self, name: str = "rota") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The running loop."""
        with self._lock:
            # A fork copies the memory but not the thread: what is here is of no use there.
            if self._loop is None or self._pid != os.getpid():
                self._begin()
            assert self._loop is not None
            return self._loop

    def _begin(self) -> None:
        loop = new_event_loop()
        thread = threading.Thread(target=self._run, args=(loop,), name=self._name, daemon=True)
        try:
            thread.start()
            self._pid, self._thread, self._loop = os.getpid(), thread, loop
        except BaseException:
            # Interrupted, by Ctrl-C for one: whether the thread has begun cannot be told, so it is
            # told to end, and nobody waits for it.
            self._loop = None
            loop.call_soon_threadsafe(loop.stop)
            raise

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        # What somebody began and did not wait for must not meet a loop that is closed.
        loop.run_until_complete(_end_all())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    @property
    def forked(self) -> bool:
        """Say whether this process is a fork of the one that started the loop."""
        return self._pid not in (0, os.getpid())

    def start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Start a coroutine on the loop and return its future at once."""
        loop = self.loop  # first: whoever is interrupted here has begun nothing
        return asyncio.run_coroutine_threadsafe(work(), loop)

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the loop and wait for it, from any other thread."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a blocking call on Rota's own event loop would wait for itself")
        future = self.start(work)
        try:
            return future.result()
        finally:
            # Whoever waits may be interrupted; nothing shall go on waiting in their name.
            future.cancel()

    async def arun(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the loop and await it from another loop."""
        return await asyncio.wrap_future(self.start(work))

    def stop(self) -> None:
        """End the loop and its thread; safe to call twice."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None and self._pid == os.getpid():
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


async def _end_all() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    # A transport that was closed meanwhile lets go of its socket in the next turns of the loop.
    for _ in range(TURNS):
        await asyncio.sleep(0)
