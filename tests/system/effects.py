"""Handlers that write to the database that their tasks lie in, and die while they do."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import psycopg

from rota import Context, Rota, effects
from tests.system.record import Record

TABLE = {"sqlite": "sent", "postgres": "public.sent"}
"""One row for each effect; nothing in it keeps a row from being there twice."""


def add_effects(app: Rota, record: Record) -> None:
    """Register the handlers with an app; their transactions are in its database."""

    @app.task
    def send_each(ctx: Context, n: int, total: int, kill_after: int) -> int:
        record.add("start", ctx, n)
        begin = ctx.last_checkpoint or 0
        with connected(app.url) as (db, table):
            for number in range(begin, total):
                with transaction(db):
                    if effects.once(db, f"{ctx.idempotency_key}/{number}"):
                        db.execute(f"insert into {table} (n) values ({number})")
                if number % 50 == 49:
                    ctx.checkpoint(number + 1, flush=True)
                if ctx.fence == 1 and number == kill_after:
                    os.kill(os.getpid(), signal.SIGKILL)
        return int(begin)

    @app.task
    def send_and_complete(ctx: Context, n: int, kill: str = "") -> None:
        record.add("start", ctx, n)
        with connected(app.url) as (db, table):
            with transaction(db):
                db.execute(f"insert into {table} (n) values ({n})")
                ctx.complete(db, {"sent": n})
                if kill == "before" and ctx.fence == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
            if kill == "after":
                os.kill(os.getpid(), signal.SIGKILL)
        record.add("end", ctx, n)


@contextmanager
def connected(url: str) -> Iterator[tuple[Any, str]]:
    """A connection of the handler's own, and the name of its table."""
    if url.startswith("sqlite"):
        db = apsw.Connection(url.removeprefix("sqlite:///"))
        db.set_busy_timeout(10_000)
        try:
            yield db, TABLE["sqlite"]
        finally:
            db.close()
    else:
        with psycopg.connect(url, autocommit=True) as line:
            yield line, TABLE["postgres"]


def transaction(db: Any) -> Any:
    """A transaction, committed at the end of the block."""
    return db if isinstance(db, apsw.Connection) else db.transaction()
