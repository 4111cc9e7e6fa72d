"""The app whose tasks the tests of this folder run: every handler writes down what it does."""

import asyncio
import os
import signal
import time
from pathlib import Path

from rota import Backoff, Context, Retry, Rota
from tests.system.effects import add_effects
from tests.system.mixed import add_mixed
from tests.system.record import Record
from tests.system.stubborn import add_stubborn


def make_app(url: str, path: Path) -> Rota:
    """Return the app on a store; its handlers write to the record at `path`.

    `seconds` is how long a run takes, `first` how long the run of the first hand-out takes; `wait`
    takes until the record is released.
    """
    app = Rota(url)
    record = Record(path)

    @app.task
    async def note(ctx: Context, n: int, seconds: float = 0.0, first: float = 0.0) -> None:
        record.add("start", ctx, n)
        try:
            await asyncio.sleep(first if first and ctx.fence == 1 else seconds)
        except asyncio.CancelledError:
            record.add("cancelled", ctx, n)
            raise
        record.add("end", ctx, n)

    @app.task
    async def wait(ctx: Context, n: int) -> None:
        record.add("start", ctx, n)
        while not record.released:  # noqa: ASYNC110 - told by another process
            await asyncio.sleep(0.02)
        record.add("end", ctx, n)

    @app.task
    def hold(ctx: Context, n: int, seconds: float = 0.0, first: float = 0.0) -> None:
        record.add("start", ctx, n)
        time.sleep(first if first and ctx.fence == 1 else seconds)
        record.add("end", ctx, n)

    @app.task
    async def kill_worker(ctx: Context, n: int) -> None:
        record.add("start", ctx, n)
        os.kill(os.getpid(), signal.SIGKILL)

    @app.task(retry=Backoff(max_attempts=3))
    async def retry_once(ctx: Context, n: int, after: float) -> None:
        record.add("start", ctx, n)
        if ctx.attempt == 1:
            raise Retry("not yet", after=after)
        record.add("end", ctx, n)

    @app.task
    async def nothing(n: int) -> int:
        return n

    _add_burning(app, record)
    add_stubborn(app, record)
    add_effects(app, record)
    add_mixed(app)
    return app


def _add_burning(app: Rota, record: Record) -> None:
    @app.task
    async def burn(ctx: Context, n: int, seconds: float) -> None:
        burn_here(record, ctx, n, seconds)

    @app.task
    def burn_in_thread(ctx: Context, n: int, seconds: float) -> None:
        burn_here(record, ctx, n, seconds)


def burn_here(record: Record, ctx: Context, n: int, seconds: float) -> None:
    """Keep the interpreter busy with pure Python, as a handler that parses much would.

    It ends after so many seconds or, at the latest a tenth of one later, when it is released.
    """
    record.add("start", ctx, n)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not record.released:
        pause = time.monotonic() + 0.1
        while time.monotonic() < pause:
            sum(range(1000))
    record.add("end", ctx, n)
