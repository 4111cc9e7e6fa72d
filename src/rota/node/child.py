"""A process of the pool, seen from the worker."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from rota.errors import LeaseLost, ProcessDied, StoreError
from rota.node.run import Run
from rota.node.wire import (
    Ended,
    Flushed,
    FromChild,
    Logged,
    Noted,
    Ready,
    Setup,
    Start,
    Tell,
    frame,
    received,
)
from rota.policy.lifecycle import Cancelled, Completed, Ending, Failed, Snoozed

log = logging.getLogger("rota.worker")

COMMAND = (sys.executable, "-m", "rota.node.child_main")
LINGER = 0.2
"""What a dead child said last is read for so many seconds."""
START_SECONDS = 60.0
"""Importing the app may take so long; what takes longer hangs."""


class Child:
    """Runs one handler at a time in a process of its own, which may die at any moment (R8.2).

    A new interpreter, not a fork: a copy of a process with threads is not safe to run in.
    """

    def __init__(self, process: asyncio.subprocess.Process, line: socket.socket) -> None:
        self._process = process
        self._line = line
        self._writer: asyncio.StreamWriter | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._run: Run | None = None
        self._ended: asyncio.Future[Ending] | None = None
        self._flushes: set[asyncio.Task[None]] = set()
        self._life: asyncio.Task[None] | None = None
        self._retiring = False
        self.alive = True
        self.done = 0

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @classmethod
    async def start(cls, setup: Setup) -> "Child":
        """Start a process and wait until it has the handlers; `ProcessDied` if it cannot."""
        ours, theirs = socket.socketpair()
        with theirs:
            # A session of its own: Ctrl-C is for the worker, which ends its children itself.
            process = await asyncio.create_subprocess_exec(
                *COMMAND,
                str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        child = cls(process, ours)
        try:
            await child._meet(setup)
        except BaseException:
            child.kill()
            await child.gone()
            raise
        return child

    async def _meet(self, setup: Setup) -> None:
        reader, self._writer = await asyncio.open_unix_connection(sock=self._line)
        self._life = asyncio.create_task(self._live(reader))
        self._writer.write(frame(setup))
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.shield(self._ready)
        except TimeoutError:
            raise ProcessDied(
                f"a process for handlers did not import them within {START_SECONDS:g} s"
            ) from None

    # -- a run ----------------------------------------------------------------------------------

    async def run(self, run: Run, now: int) -> Ending:
        """Run a handler to its end; `ProcessDied` if the process ends first."""
        self.done += 1
        self._run = run
        self._ended = asyncio.get_running_loop().create_future()
        run.child = self
        self._send(Start(run.claimed, run.session_id, now, run.deadline, run.soft_deadline))
        try:
            return await self._ended
        except asyncio.CancelledError:
            self.kill()  # nobody waits for it any more
            raise
        finally:
            run.child = self._run = self._ended = None

    def tell(self, what: Literal["cancel", "soft"]) -> None:
        """Pass something on to the handler."""
        self._send(Tell(what))

    def kill(self) -> None:
        """End the process at once."""
        self.alive = False
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                # Its group: with what the handler itself has started.
                os.killpg(self.pid, signal.SIGKILL)

    def when_gone(self, call: Callable[[], None]) -> None:
        """Call this once the process has ended and everything it said has been read."""
        if self._life is not None:
            self._life.add_done_callback(lambda _: call())

    async def gone(self) -> None:
        """Wait until then."""
        if self._life is not None:
            await asyncio.wait([self._life])

    async def retire(self, seconds: float) -> None:
        """Let the process end in good order, but kill it if that takes longer than this."""
        self.alive = False
        self._retiring = True
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write_eof()  # an idle child ends when its line does; it may still log
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            self.kill()
        await self.gone()

    def _send(self, message: Start | Tell | Flushed) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(message))

    # -- what it says ---------------------------------------------------------------------------

    async def _live(self, reader: asyncio.StreamReader) -> None:
        watching = asyncio.create_task(self._process.wait())
        # A process that the handler started may hold the line open after the child's death.
        loop = asyncio.get_running_loop()
        watching.add_done_callback(lambda _: loop.call_later(LINGER, reader.feed_eof))
        try:
            while True:
                self._hear(await received(reader))
        except (EOFError, OSError):
            pass
        except Exception:
            log.exception("a process of the pool cannot be understood")
        if not self._retiring:
            self.kill()
        died = ProcessDied(_how(await watching))
        for waiting in (self._ready, self._ended):
            if waiting is not None and not waiting.done():
                waiting.set_exception(died)
        if self._writer is not None:
            self._writer.close()

    def _hear(self, message: FromChild) -> None:
        match message:
            case Ready(problem=""):
                self._ready.set_result(None)
            case Ready(problem):
                self._ready.set_exception(ProcessDied(problem))
            case Logged():
                _log(message)
            case Noted():
                self._note(message)
            case Ended():
                if self._run is not None:
                    self._run.completed_here = message.completed_here
                if self._ended is not None and not self._ended.done():
                    self._ended.set_result(_ending(message))

    def _note(self, message: Noted) -> None:
        if (run := self._run) is None:
            return
        if message.note is not None:
            run.note(message.note)
        if message.flush:
            task = asyncio.create_task(self._flush(run))
            self._flushes.add(task)
            task.add_done_callback(self._flushes.discard)

    async def _flush(self, run: Run) -> None:
        try:
            await run.flush()
        except LeaseLost as lost:
            self._send(Flushed(lost=str(lost)))
        except StoreError as error:
            self._send(Flushed(problem=str(error)))
        else:
            self._send(Flushed())


def _ending(said: Ended) -> Ending:
    if said.completed:
        return Completed(said.result)
    if said.error is not None:
        return Failed(said.error, said.permanent, said.after, said.least)
    if said.until is not None:
        return Snoozed(said.until)
    return Cancelled(said.reason or "")


def _log(said: Logged) -> None:
    logger = logging.getLogger(said.logger)
    if logger.isEnabledFor(said.level):
        logger.log(said.level, "%s", said.message, extra=said.extra)


def _how(code: int) -> str:
    """Return how a process died, as a person would say it."""
    if code >= 0:
        return f"the process in which the handler ran ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    killed = "; perhaps the system had no memory left" if -code == signal.SIGKILL else ""
    return f"the process in which the handler ran was ended by {name}{killed}"
