"""Runs a worker as a process: `python -m tests.system.worker_main URL RECORD --lease 1`."""

import argparse
import logging
import os
import sys
from pathlib import Path

from rota.clock import SystemClock, new_rng
from rota.config import SECOND
from rota.node import heart
from rota.node.process import leave, run_here
from rota.node.settings import WorkerSettings
from rota.node.supervisor import supervise
from rota.reconcile import at_start
from tests.system.handlers import make_app
from tests.system.heavy import APP_PATH, RECORD_VARIABLE, URL_VARIABLE, with_heavy
from tests.system.record import Record


def main() -> int:
    """Run until told to stop; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("record", type=Path)
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--queue", default="", help="words as for rota worker, with commas")
    parser.add_argument("--lease", type=float, default=30.0)
    parser.add_argument("--grace", type=float, default=30.0)
    parser.add_argument("--name", default="")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--pool", type=int, default=0)
    parser.add_argument("--recurring", default="", help="an expression that the app declares")
    parser.add_argument("--soonest", type=float, default=heart.SOONEST)
    given = parser.parse_args()
    heart.SOONEST = given.soonest
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(message)s")
    if given.processes > 1:
        command = [sys.executable, "-m", "tests.system.worker_main", *sys.argv[1:]]
        connect = make_app(given.url, given.record).connect
        return supervise([*command, "--processes", "1"], given.processes, SystemClock(), connect)
    app = make_app(given.url, given.record)
    if given.pool:
        # The processes of the pool import the app by themselves.
        os.environ |= {URL_VARIABLE: given.url, RECORD_VARIABLE: str(given.record)}
        with_heavy(app, Record(given.record))
    if given.recurring:
        app.schedule(given.recurring)(app.task(name="recurring")(lambda: None))
    settings = WorkerSettings(
        queues=tuple(filter(None, given.queue.split(","))),
        concurrency=given.concurrency,
        lease=round(given.lease * SECOND),
        grace=round(given.grace * SECOND),
        name=given.name,
        pool=given.pool,
        app_path=APP_PATH,
    )
    rng = new_rng()
    return run_here(
        app.registry,
        app.connect,
        settings,
        rng=rng,
        beside=lambda: at_start(app.connect, tuple(app.declarations), app.source, rng),
    )


if __name__ == "__main__":
    code = main()
    leave(code)
    sys.exit(code)
