"""Handlers of every sort, with every outcome, that do next to nothing."""

import ctypes
import gc
import sys
from typing import Any

import apsw

from rota import Backoff, Context, Retry, Rota, Snooze

FIVE = ("mixed_async", "mixed_thread", "mixed_failing", "mixed_snoozing", "mixed_result")


class _Allocated(ctypes.Structure):
    """What glibc tells of its memory; `uordblks` are the bytes that are in use."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


_libc = ctypes.CDLL("libc.so.6")
_libc.mallinfo2.restype = _Allocated


def add_mixed(app: Rota) -> None:
    """Register the handlers with an app."""

    @app.task
    async def in_use(n: int) -> list[int]:
        # Without SQLite's caches, which have a bound of their own and are given back when idle.
        gc.collect()
        return [sys.getallocatedblocks(), _libc.mallinfo2().uordblks - apsw.memory_used()]

    @app.task
    async def mixed_async(n: int) -> None:
        pass

    @app.task
    def mixed_thread(n: int) -> int:
        return n

    @app.task(retry=Backoff(max_attempts=2, base=0))
    async def mixed_failing(ctx: Context, n: int) -> None:
        if n % 100 == 2:
            raise ValueError(f"number {n} never goes")
        if ctx.attempt == 1:
            raise Retry(f"number {n} does not go yet", after=0.01)

    @app.task
    async def mixed_snoozing(ctx: Context, n: int) -> None:
        ctx.progress(n, n + 1)
        if ctx.fence == 1:
            raise Snooze(0.01)

    @app.task
    async def mixed_result(ctx: Context, n: int) -> dict[str, Any]:
        ctx.checkpoint(n)
        return {"n": n, "text": "x" * (n % 500), "list": list(range(n % 20))}
