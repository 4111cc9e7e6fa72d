"""The app that the benchmarks run: handlers that do nothing, or tell when they began."""

import asyncio
import os
import time
from typing import Any, NamedTuple

from rota import Rota
from rota.task import TaskKind

MARKS_VARIABLE = "ROTA_BENCH_MARKS"
"""The file descriptor to which `mark` and `hold` write."""


class Bench(NamedTuple):
    """The app and its kinds."""

    app: Rota
    noop: TaskKind[..., Any]
    mark: TaskKind[..., Any]
    hold: TaskKind[..., Any]


def bench_app(url: str) -> Bench:
    """Return the app against a store."""
    app = Rota(url)
    marks = int(os.environ.get(MARKS_VARIABLE, "-1"))

    @app.task
    async def noop(student_id: int, phone: str) -> None:
        """Do nothing: what is measured is everything around it."""

    @app.task
    async def mark(number: int) -> None:
        """Tell when it began, by a single write."""
        os.write(marks, b"%d %d\n" % (number, time.time_ns() // 1000))

    @app.task
    async def hold(number: int, seconds: float) -> None:
        """Take some time; tell when that began and when it ended."""
        os.write(marks, b"+%d %d\n" % (number, time.time_ns() // 1000))
        if seconds:
            await asyncio.sleep(seconds)
        os.write(marks, b"-%d %d\n" % (number, time.time_ns() // 1000))

    return Bench(app, noop, mark, hold)


def phone(number: int) -> str:
    """Return a value that makes the payload of `noop` about 60 bytes long."""
    return f"+91-98{number % 10**8:08d}-results"
