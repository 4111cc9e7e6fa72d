"""Logs as JSON: one object a line, with ids and without anything secret (R9.3, S10, S11)."""

import asyncio
import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rota import Context, Rota
from rota.clock import new_rng
from rota.logs import (
    FIELDS,
    LOGGERS_MOST,
    JsonLines,
    Troubles,
    count_troubles,
    scrubbed,
    troubles,
)
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker

CANARY = "canary-51a9"
KEY = "rota_k7Q2M4XA9Z1B_" + "s" * 43 + "_abc123"


class Log:
    """What is logged, as it would come out of a process."""

    def __init__(self, *, tracebacks: bool = False) -> None:
        self._out = io.StringIO()
        self.handler = logging.StreamHandler(self._out)
        self.handler.setFormatter(JsonLines(tracebacks=tracebacks))

    @property
    def text(self) -> str:
        """All of it."""
        return self._out.getvalue()

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Each line as an object; a line that is none fails."""
        return [msgspec.json.decode(line) for line in self.text.splitlines()]


@pytest.fixture
def log() -> Iterator[Log]:
    """All that Rota logs, from `INFO` upward."""
    log = Log(tracebacks=True)
    logger = logging.getLogger("rota")
    level, runs = logger.level, logging.getLogger("rota.run").level
    logger.addHandler(log.handler)
    logger.setLevel(logging.INFO)
    logging.getLogger("rota.run").setLevel(logging.NOTSET)
    yield log
    logger.removeHandler(log.handler)
    logger.setLevel(level)
    logging.getLogger("rota.run").setLevel(runs)


def test_a_record_is_one_object_with_its_fields_in_order(log: Log) -> None:
    logging.getLogger("rota.x").warning(
        "held %d", 3, extra={"session": "s-1", "task_id": "t-1", "payload": CANARY}
    )
    (told,) = log.objects
    assert list(told) == ["ts", "level", "logger", "msg", "task_id", "session"]
    assert told | {"ts": ""} == {
        "ts": "", "level": "warning", "logger": "rota.x", "msg": "held 3",
        "task_id": "t-1", "session": "s-1",
    }  # fmt: skip
    assert len(told["ts"]) == len("2026-11-30T04:30:00.000000Z")


def test_line_breaks_cannot_begin_a_line(log: Log) -> None:
    """S10, case B179."""
    logging.getLogger("rota.x").warning(
        'sent to +91\n{"level":"info"}\r\x1b[2J\u2028', extra={"tenant": "a\nb"}
    )
    (told,) = log.objects
    assert log.text.count("\n") == 1
    assert "\x1b" not in log.text
    assert told["tenant"] == "a\nb"


def test_an_error_is_told_by_its_type(log: Log) -> None:
    try:
        raise ValueError("deep")
    except ValueError:
        logging.getLogger("rota.x").exception("it failed")
    (told,) = log.objects
    assert (told["error.type"], told["error.message"]) == ("ValueError", "deep")
    assert told["error.traceback"].startswith("Traceback")
    assert set(told) - {"error.message", "error.traceback"} <= {
        "ts", "level", "logger", "msg", *FIELDS
    }  # fmt: skip


SECRETS = {
    "key": KEY,
    "bearer": f"Authorization: Bearer {CANARY}",
    "webhook": f"whsec_{CANARY}==",
    "dsn": f"postgresql://rota:{CANARY}@db/rota",
    "option": f"postgresql://db/rota?user=rota&password={CANARY}",
    "token": f"http://host/x?token={CANARY}&a=1",
    "code": f"http://127.0.0.1:8300/#code={CANARY}",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_what_looks_like_a_secret_is_masked(log: Log, secret: str) -> None:
    """S11, case B177."""
    logging.getLogger("rota.x").warning("it is %s here", secret)
    logging.getLogger("rota.x").warning("field", extra={"outcome": secret})
    try:
        raise OSError(secret)
    except OSError:
        logging.getLogger("rota.x").exception("with a traceback")
    assert CANARY not in log.text
    assert "s" * 43 not in log.text


def test_warnings_and_errors_are_counted_by_their_logger() -> None:
    """R9.3: every warning has a counter; what a program makes up has a bound (S6)."""
    counting = Troubles()

    def say(name: str, level: int) -> None:
        counting.handle(logging.LogRecord(name, level, "", 0, "x", (), None))

    assert set(counting.counts.values()) == {0}
    for level in (logging.WARNING, logging.ERROR, logging.CRITICAL):
        say("rota.worker", level)
    assert counting.counts["rota.worker", "warning"] == 1
    assert counting.counts["rota.worker", "error"] == 2
    for n in range(300):
        say(f"rota.made-up-{n}", logging.WARNING)
    assert len(counting.counts) <= LOGGERS_MOST + 1
    assert sum(counting.counts.values()) == 303


def test_counting_is_set_up_once_and_hides_nothing() -> None:
    """Below a warning nothing is counted, and the handlers of a program hear all the same."""
    logger = logging.getLogger("rota")
    known = [*logger.handlers]
    try:
        count_troubles()
        count_troubles()
        assert logger.handlers.count(troubles) == 1
        assert logger.propagate
        before = troubles.counts["rota.worker", "warning"]
        logging.getLogger("rota.worker").info("nothing")
        assert troubles.counts["rota.worker", "warning"] == before
    finally:
        logger.handlers[:] = known


def test_the_id_of_a_key_stays_readable() -> None:
    assert scrubbed(f"key {KEY} is revoked") == "key rota_k7Q2M4XA9Z1B_… is revoked"
    assert scrubbed("rota_worker_slots_busy and rota_store_tasks") == (
        "rota_worker_slots_busy and rota_store_tasks"
    )


async def test_a_worker_says_which_task_it_speaks_of_and_nothing_of_its_content(
    log: Log, tmp_path: Path
) -> None:
    """R9.3, S11: neither payload nor header values, whatever becomes of the task."""
    app = Rota(f"sqlite:///{tmp_path / 'rota.db'}")
    done = asyncio.Event()

    @app.task(queue="sms", timeout=30)
    async def send(ctx: Context, phone: str, n: int) -> str:
        ctx.log.info("attempt %d", ctx.attempt)
        if n == 2:
            done.set()
            raise RuntimeError("no answer")
        return phone

    call = send.using(tenant="board", headers={"x-token": CANARY})
    first = await call.asubmit(CANARY, 1)
    await send.using(tenant="board", delay="10ms").asubmit(CANARY, 2)
    worker = Worker(app.registry, app.connect(), WorkerSettings(), rng=new_rng(1))
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(60):
        await done.wait()
        worker.drain()
        await running
    await asyncio.to_thread(app.close)
    told = [line for line in log.objects if line.get("task_id") == first.id]
    spoken, ended = told
    assert spoken["logger"] == "rota.task"
    assert spoken["msg"] == "attempt 1"
    assert (ended["logger"], ended["event"]) == ("rota.run", "task_run")
    for line in told:
        assert (line["kind"], line["queue"], line["tenant"]) == ("send", "sms", "board")
        assert (line["attempt"], line["fence"]) == (1, 1)
    assert ended["outcome"] == "completed"
    assert ended["duration_s"] >= 0
    failed = next(line for line in log.objects if line.get("outcome") == "failed")
    assert (failed["level"], failed["error.type"]) == ("warning", "RuntimeError")
    assert CANARY not in log.text
