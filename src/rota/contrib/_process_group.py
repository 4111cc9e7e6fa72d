"""A program in a process group of its own, from its start until nothing of it is left."""

import asyncio
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rota.contrib._guard import Guard
from rota.payload import clean

KEPT_BYTES = 16 * 1024
"""Of each output stream so much is kept: half from its start, half from its end."""
LINGER = 0.2
"""What was still under way when the program ended is read for so many seconds."""

# The program begins when the guard knows of it: it is never without somebody who would end it. No
# shell reads its arguments; if this worker ends before the line comes, it does not begin at all.
BEGIN = 'read -r begin && exec "$@" <"$0"'


class Excerpt(asyncio.Protocol):
    """Keeps the first and the last part of a stream and drops the rest as it comes."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self._half = most // 2
        self._head = b""
        self._tail = b""
        self._length = 0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._length += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-self._half :]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if not self.over.done():
            self.over.set_result(None)

    @property
    def text(self) -> str:
        """What was kept, as text that every store can keep."""
        left_out = self._length - len(self._head) - len(self._tail)
        middle = f"\n… {left_out:,} bytes left out …\n" if left_out else ""
        parts = (self._head, self._tail) if left_out else (self._head + self._tail, b"")
        head, tail = (part.decode("utf-8", "replace") for part in parts)
        whole = head + middle + tail
        return clean(whole, len(whole))


class ProcessGroup:
    """A program that was started; what it starts itself is ended with it (R4.3).

    Only what begins a session of its own (`setsid`, a daemon) leaves the group.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, guard: Guard, out: Excerpt, err: Excerpt
    ) -> None:
        self._process = process
        self._guard = guard
        self._over = False
        self.out = out
        self.err = err
        guard.watch(process.pid)
        self._life = asyncio.create_task(self._live())

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        stdin: str | None,
        guard: Guard,
    ) -> "ProcessGroup":
        """Start a program, which is there and may be run."""
        # Whoever is cancelled while the program starts must not leave it behind.
        starting = asyncio.create_task(cls._start(argv, env, cwd, stdin, guard))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_kill_started)
            raise

    @classmethod
    async def _start(
        cls,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        stdin: str | None,
        guard: Guard,
    ) -> "ProcessGroup":
        (out, out_end), (err, err_end) = await _pipe(), await _pipe()
        begin, told = os.pipe()
        try:
            with _readable(stdin) as given:
                process = await asyncio.create_subprocess_exec(
                    *("/bin/sh", "-c", BEGIN, f"/dev/fd/{given.fileno()}", *argv),
                    stdin=begin,
                    stdout=out_end,
                    stderr=err_end,
                    env=dict(env),
                    cwd=cwd,
                    pass_fds=[given.fileno()],
                    start_new_session=True,
                )
            group = cls(process, guard, out, err)
            os.write(told, b"\n")
        except BaseException:
            _close(out, err)
            raise
        finally:
            for end in (out_end, err_end, begin, told):
                os.close(end)
        return group

    async def ended(self) -> int:
        """Return the exit code once nothing of the group is left; negative for a signal."""
        return await asyncio.shield(self._life)

    async def ends_within(self, seconds: float) -> bool:
        """Wait for the end for at most so long and say whether it came."""
        done, _ = await asyncio.wait([self._life], timeout=seconds)
        return bool(done)

    def terminate(self) -> None:
        """Ask every process of the group to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End every process of the group at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        # Once the group is gone its number may be another's.
        if not self._over:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    async def _live(self) -> int:
        try:
            code = await self._process.wait()
            streams = [self.out.over, self.err.over]
            await asyncio.wait(streams, timeout=LINGER)
            # What it left running holds its output open, and is not to outlive the task.
            self.kill()
            await asyncio.wait(streams, timeout=LINGER)
            return code
        finally:
            self.kill()
            self._over = True
            self._guard.forget(self._process.pid)
            _close(self.out, self.err)


def _kill_started(starting: "asyncio.Task[ProcessGroup]") -> None:
    if not starting.cancelled() and starting.exception() is None:
        starting.result().kill()


async def _pipe() -> tuple[Excerpt, int]:
    """Return a reader and the descriptor that it reads from the other end of."""
    # Not the event loop's own pipes: with those the end of a program is noticed only when
    # whatever it started has closed them too.
    ours, theirs = os.pipe()
    file = os.fdopen(ours, "rb", 0)
    try:
        _, excerpt = await asyncio.get_running_loop().connect_read_pipe(Excerpt, file)
    except BaseException:
        file.close()
        os.close(theirs)
        raise
    return excerpt, theirs


@contextmanager
def _readable(text: str | None) -> Iterator[IO[bytes]]:
    """Yield a file with what the program reads: never more than a payload holds."""
    if text is None:
        with Path(os.devnull).open("rb") as nothing:
            yield nothing
        return
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        yield file


def _close(*excerpts: Excerpt) -> None:
    for excerpt in excerpts:
        if excerpt.transport is not None:
            excerpt.transport.close()
