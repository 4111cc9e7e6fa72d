"""The parent of `rota dev`: watches the files, and has the newest good state of the code run."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from watchfiles import Change, PythonFilter, awatch

from rota.dev.line import CHILD, CODE, GO, LOADED

END = 2.0
"""A child that has not ended after so many seconds is killed."""


class Child:
    """One state of the code: imported first, then served."""

    def __init__(self, process: asyncio.subprocess.Process, told: asyncio.StreamReader) -> None:
        self._process = process
        self._told = told

    @classmethod
    async def born(cls, command: Sequence[str]) -> "Child":
        """Start a process that imports the code."""
        reads, writes = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                # A session of its own: Ctrl-C reaches it through us, once.
                start_new_session=True,
                pass_fds=(writes,),
                env=os.environ | {CHILD: str(writes)},
            )
        finally:
            os.close(writes)
        told = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(told), os.fdopen(reads, "rb")
        )
        return cls(process, told)

    async def loaded(self) -> bool:
        """Wait until the code is imported; False if it could not be."""
        if await self._told.readline() == LOADED:
            return True
        await self._process.wait()
        return False

    async def ended(self) -> int:
        """Wait for its end."""
        return await self._process.wait()

    def tell(self, words: bytes) -> None:
        """Tell it something, if it still listens."""
        if self._process.stdin is not None and self._process.returncode is None:
            self._process.stdin.write(words)

    async def end(self) -> None:
        """End it: in good order, or after a while by force."""
        if self._process.returncode is None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.terminate()
        try:
            async with asyncio.timeout(END):
                await self._process.wait()
        except TimeoutError:
            os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()


class Parent:
    """Runs the newest state of the code that can be imported, until told to stop."""

    def __init__(
        self,
        command: Sequence[str],
        changes: AsyncIterator[set[str]] | None,
        say: Callable[[str], None],
    ) -> None:
        self._command = command
        self._changes = changes
        self._say = say
        self._serving: Child | None = None
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End everything."""
        self._stopping.set()

    def ask_for_link(self) -> None:
        """Have a new link printed."""
        if self._serving is not None:
            self._serving.tell(CODE)

    async def run(self) -> int:
        """Run until stopped; return the exit code."""
        work = asyncio.ensure_future(self._work())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((work, stopping), return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else 0
        finally:
            for task in (work, stopping):
                task.cancel()
            await asyncio.gather(work, stopping, return_exceptions=True)
            if self._serving is not None:
                await self._serving.end()

    async def _work(self) -> int:
        await self._take_over()
        if self._changes is None:
            return 2 if self._serving is None else await self._serving.ended()
        watching = asyncio.ensure_future(self._watch_end())
        try:
            async for names in self._changes:
                self._say(f"changed: {', '.join(sorted(names)[:3])}")
                watching.cancel()
                await self._take_over()
                watching = asyncio.ensure_future(self._watch_end())
        finally:
            watching.cancel()
        return 0

    async def _take_over(self) -> None:
        """Let the present state of the code run, if it can be imported."""
        fresh = await Child.born(self._command)
        try:
            good = await fresh.loaded()
        except asyncio.CancelledError:
            await fresh.end()
            raise
        if not good:
            old = "; what ran before goes on" if self._serving is not None else ""
            wait = "" if self._changes is None else "; waiting for the next change"
            self._say(f"the code cannot be loaded{old}{wait}")
            return
        before, self._serving = self._serving, fresh
        if before is not None:
            await before.end()
        fresh.tell(GO)

    async def _watch_end(self) -> None:
        if self._serving is not None:
            code = await self._serving.ended()
            self._serving = None
            self._say(f"it ended by itself ({code}); waiting for the next change")


def python_files(folders: Sequence[Path]) -> AsyncIterator[set[str]]:
    """Yield the names of Python files that have changed, a few at a time."""
    here = Path.cwd()

    async def changes() -> AsyncIterator[set[str]]:
        async for found in awatch(*folders, watch_filter=PythonFilter(), debounce=400):
            yield {_shown(Path(path), here) for _, path in _sorted(found)}

    return changes()


def _sorted(found: set[tuple[Change, str]]) -> list[tuple[Change, str]]:
    return sorted(found, key=lambda one: one[1])


def _shown(path: Path, here: Path) -> str:
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def run_parent(
    command: Sequence[str], folders: Sequence[Path], *, reload: bool, say: Callable[[str], None]
) -> int:
    """Run children of `command` until Ctrl-C or SIGTERM; return the exit code."""

    async def main() -> int:
        parent = Parent(command, python_files(folders) if reload else None, say)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, parent.stop)
        if sys.stdin.isatty():

            def typed() -> None:
                if os.read(0, 1024):
                    parent.ask_for_link()
                else:
                    loop.remove_reader(0)

            loop.add_reader(0, typed)
        return await parent.run()

    return asyncio.run(main())
