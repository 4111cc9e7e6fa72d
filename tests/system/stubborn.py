"""Handlers that do not listen, that outlive their session, and that tell how far they are."""

import asyncio
import os
import signal
import time

from rota import Context, Rota
from tests.system.provider import Provider
from tests.system.record import Record

LOOK_EVERY = 0.02


def add_stubborn(app: Rota, record: Record) -> None:
    """Register the handlers with an app."""
    _add_deaf(app, record)
    _add_outliving(app, record)
    _add_telling(app, record)


def _add_deaf(app: Rota, record: Record) -> None:
    @app.task
    async def deaf(ctx: Context, n: int) -> None:
        record.add("start", ctx, n)
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                record.add("cancelled", ctx, n)

    @app.task
    def deaf_in_thread(ctx: Context, n: int, seconds: float) -> None:
        record.add("start", ctx, n)
        time.sleep(seconds)
        record.add("end", ctx, n)


def _add_outliving(app: Rota, record: Record) -> None:
    """Register what runs, at its first hand-out, until a later one of it has ended."""

    def overtaken(n: int) -> bool:
        return any(event.fence > 1 for event in record.events("end", n))

    @app.task
    async def outlive(ctx: Context, n: int) -> None:
        record.add("start", ctx, n)
        while ctx.fence == 1 and not overtaken(n):  # noqa: ASYNC110 - told by another process
            await asyncio.sleep(LOOK_EVERY)
        record.add("end", ctx, n)

    @app.task
    def outlive_in_thread(ctx: Context, n: int) -> None:
        record.add("start", ctx, n)
        while ctx.fence == 1 and not overtaken(n):
            time.sleep(LOOK_EVERY)
        record.add("end", ctx, n)


def _add_telling(app: Rota, record: Record) -> None:
    provider = Provider(record.path.with_suffix(".provider"))

    @app.task
    async def counts(ctx: Context, n: int) -> None:
        for number in range(1_000_000):
            ctx.progress(number, 1_000_000)
            await asyncio.sleep(0.01)

    @app.task
    async def send_parts(ctx: Context, n: int, total: int, kill_after: int) -> int:
        begin = ctx.last_checkpoint or 0
        record.add("start", ctx, n)
        for number in range(begin, total):
            provider.send(f"{ctx.idempotency_key}/{number}")
            ctx.progress(number + 1, total)
            if number % 50 == 49:
                await ctx.checkpoint(number + 1, flush=True)
            if ctx.fence == 1 and number == kill_after:
                os.kill(os.getpid(), signal.SIGKILL)
        return int(begin)
