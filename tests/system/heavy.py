"""Handlers that run in processes; `app` is what the processes of a pool import."""

import os
import threading
from pathlib import Path

from rota import Backoff, Context, Rota
from tests.system.handlers import burn_here, make_app
from tests.system.record import Record

URL_VARIABLE = "ROTA_TEST_URL"
RECORD_VARIABLE = "ROTA_TEST_RECORD"
APP_PATH = "tests.system.heavy:app"


def with_heavy(app: Rota, record: Record) -> Rota:
    """Add the kinds that run in processes."""

    @app.task(executor="process")
    def burn_in_process(ctx: Context, n: int, seconds: float) -> None:
        burn_here(record, ctx, n, seconds)

    @app.task(executor="process", retry=Backoff(base=0.01))
    def hold_in_process(ctx: Context, n: int, first: float = 0.0) -> None:
        record.add("start", ctx, n)
        threading.Event().wait(first if ctx.attempt == 1 else 0.0)
        record.add("end", ctx, n)

    return app


def from_environment() -> Rota:
    """Return the app of the worker that started this process."""
    record = Path(os.environ[RECORD_VARIABLE])
    return with_heavy(make_app(os.environ[URL_VARIABLE], record), Record(record))


if URL_VARIABLE in os.environ:
    app = from_environment()
