"""Handlers for the processes of a pool; a module that can be imported, as the processes do."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

from rota import Context, Fail, Retry, Rota, Snooze

START_SECONDS = "ROTA_TEST_START_SECONDS"
"""A variable: so long it takes to import this, as it does on a machine with much else to do."""
threading.Event().wait(float(os.environ.get(START_SECONDS, "0")))

app = Rota("sqlite:///unused.db")
log = logging.getLogger("tests.pool")

hooked: list[str] = []


@app.before
def say_before(ctx: Context) -> None:
    """A hook runs where the handler does."""
    hooked.append(f"before {os.getpid()}")


@app.resource
def opened() -> Iterator[str]:
    """Opened once in each process."""
    yield f"opened in {os.getpid()}"
    sys.stderr.write("resource closed\n")
    sys.stderr.flush()


@app.task(executor="process", fail_on=KeyError)
def do(what: str, ctx: Context, resource: str = opened) -> Any:
    """Do as a test says."""
    return globals()[f"do_{what}"](ctx, resource)


def do_facts(ctx: Context, resource: str) -> Any:
    """Tell what is known here."""
    return {
        "pid": os.getpid(),
        "main": threading.current_thread() is threading.main_thread(),
        "facts": [ctx.task_id, ctx.attempt, ctx.fence, ctx.last_checkpoint],
        "deadline": ctx.deadline is not None,
        "resource": resource,
        "hooked": hooked[-1:],
        "loop": asyncio.run(_loop()),
    }


async def _loop() -> str:
    return "a loop of its own"


def do_pid(ctx: Context, resource: str) -> int:
    """Tell the process."""
    return os.getpid()


def do_die(ctx: Context, resource: str) -> None:
    """Be killed, as by the system that has no memory left."""
    os.kill(os.getpid(), signal.SIGKILL)


def do_leave(ctx: Context, resource: str) -> None:
    """End the process."""
    os._exit(3)


def do_exit(ctx: Context, resource: str) -> None:
    """Raise what usually ends a process."""
    sys.exit(3)


def do_wait(ctx: Context, resource: str) -> None:
    """Wait for ever, deaf to everything."""
    ctx.progress(1)
    threading.Event().wait()


def do_children(ctx: Context, resource: str) -> None:
    """Start a process that outlives this one unless it is killed with it, and wait."""
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    ctx.checkpoint(child.pid, flush=True)
    child.wait()


def do_check(ctx: Context, resource: str) -> None:
    """Wait until told to stop."""
    ctx.progress(1)
    pause = threading.Event()
    while True:
        ctx.check()
        pause.wait(0.005)


def do_checkpoints(ctx: Context, resource: str) -> Any:
    """Make some, the last durable."""
    for n in range(3):
        ctx.progress(n, 3)
        ctx.checkpoint({"n": n})
    ctx.flush()
    return ctx.last_checkpoint


def do_fail(ctx: Context, resource: str) -> None:
    """Raise."""
    raise ValueError("in the process")


def do_fail_for_good(ctx: Context, resource: str) -> None:
    """Raise what the kind takes for permanent."""
    raise KeyError("nobody")


def do_give_up(ctx: Context, resource: str) -> None:
    """Raise."""
    raise Fail("never")


def do_retry(ctx: Context, resource: str) -> None:
    """Raise."""
    raise Retry(after=7)


def do_retry_later(ctx: Context, resource: str) -> None:
    """Raise."""
    raise Retry(least=9)


def do_snooze(ctx: Context, resource: str) -> None:
    """Raise."""
    raise Snooze(30)


def do_object(ctx: Context, resource: str) -> Any:
    """Return what is no JSON."""
    return object()


def do_log(ctx: Context, resource: str) -> None:
    """Log in two ways."""
    ctx.log.warning("from the handler")
    try:
        raise RuntimeError("deep")
    except RuntimeError:
        log.exception("with a %s", "traceback")


@app.task(executor="process")
def square(n: int) -> int:
    """Need nothing of Rota's."""
    return n * n
