"""Handlers of every sort, with every outcome, that do next to nothing."""

from typing import Any

from rota import Backoff, Context, Retry, Rota, Snooze

FIVE = ("mixed_async", "mixed_thread", "mixed_failing", "mixed_snoozing", "mixed_result")


def add_mixed(app: Rota) -> None:
    """Register the handlers with an app."""

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
