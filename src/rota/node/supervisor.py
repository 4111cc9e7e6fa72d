"""Several worker processes under one: started, started again when they die, stopped together."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Sequence

from rota.backend import Backend
from rota.clock import Clock, new_rng
from rota.errors import RotaError
from rota.node.neighbours import Neighbours
from rota.node.process import CHILD, SUPERVISED
from rota.node.waiting import within

log = logging.getLogger("rota.supervisor")

SOON = 10.0
"""A child that lived shorter than this many seconds died young; its successor waits."""
LONGEST_WAIT = 30.0
BURIAL_SECONDS = 5.0


class Supervisor:
    """Keeps `processes` children of one command alive until it is told to stop.

    Through `connect` it tells the store of a child that died, so that its tasks run elsewhere at
    once rather than when its lease has run out.
    """

    def __init__(
        self,
        command: Sequence[str],
        processes: int,
        clock: Clock,
        connect: Callable[[], Backend] | None = None,
    ) -> None:
        self._command = command
        self._processes = processes
        self._clock = clock
        self._connect = connect
        self._children: dict[int, asyncio.subprocess.Process] = {}
        self._burials: set[asyncio.Task[None]] = set()
        self._ending = asyncio.Event()

    async def run(self) -> int:
        """Run until stopped; return the exit code: 0 if every child ended well."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signal, number)
        codes = await asyncio.gather(*(self._keep(number) for number in range(self._processes)))
        return max(codes)

    def _signal(self, number: int) -> None:
        self._ending.set()
        for child in self._children.values():
            child.send_signal(number)

    async def _keep(self, number: int) -> int:
        wait = 0.0
        while True:
            born = self._clock.monotonic()
            code = await self._child(number)
            if self._ending.is_set():
                return 0 if code in (0, -signal.SIGTERM, -signal.SIGINT) else 1
            young = self._clock.monotonic() - born < SOON
            wait = min(max(wait * 2, 1.0), LONGEST_WAIT) if young else 0.0
            log.error("a worker process ended with %d; starting another in %.0f s", code, wait)
            burial = asyncio.create_task(self._bury())
            self._burials.add(burial)
            burial.add_done_callback(self._burials.discard)
            if await within(wait, self._ending):
                return 1

    async def _child(self, number: int) -> int:
        # A session of its own, so that Ctrl-C reaches the children through us, once.
        child = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=os.environ | {SUPERVISED: "1", CHILD: str(number)},
        )
        self._children[child.pid] = child
        if self._ending.is_set():  # told to end while this one was being born
            child.terminate()
        try:
            return await child.wait()
        finally:
            del self._children[child.pid]

    async def _bury(self) -> None:
        """End the sessions of children that died; the lease would do it too, only later."""
        if self._connect is None:
            return
        backend = self._connect()
        try:
            async with asyncio.timeout(BURIAL_SECONDS):
                await backend.open()
                await Neighbours(backend, new_rng()).look()
        except (RotaError, TimeoutError) as error:
            log.warning("the store was not told of the death (%s)", str(error) or "no answer")
        finally:
            await backend.close()


def supervise(
    command: Sequence[str],
    processes: int,
    clock: Clock,
    connect: Callable[[], Backend] | None = None,
) -> int:
    """Run `processes` children of `command` until told to stop; return the exit code."""

    async def main() -> int:
        return await Supervisor(command, processes, clock, connect).run()

    return asyncio.run(main())
