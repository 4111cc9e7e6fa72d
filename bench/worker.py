"""The worker under measurement: the real one, on the loop that `rota worker` runs it on.

It answers questions on its standard input, a line each; nothing is asked while it is measured
other than when it has drained, which it looks at twenty times a second.
"""

import argparse
import asyncio
import logging
import signal
import sys
import time
from collections.abc import Callable

import apsw

from bench.app import bench_app
from rota.clock import new_rng
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from rota.sync import new_event_loop

LOOK = 0.05


class Statements:
    """Counts the statements on every SQLite connection of this process; looks for news apart."""

    def __init__(self) -> None:
        self.count = 0

    def hook(self, connection: apsw.Connection) -> None:
        """Count what this connection runs from now on."""
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, self._ran)

    def _ran(self, event: dict[str, object]) -> None:
        if "data_version" not in str(event["sql"]):
            self.count += 1


async def _drained(worker: Worker, tasks: int) -> str:
    """Return the processor time a task, from the first look that saw a report to the last."""
    counts = worker.counts
    while not counts.reported:  # noqa: ASYNC110 - nothing is added to a worker to measure it
        await asyncio.sleep(LOOK)
    began, before = time.process_time(), counts.reported
    while counts.reported < tasks:  # noqa: ASYNC110
        await asyncio.sleep(LOOK)
    done = counts.reported - before
    return str((time.process_time() - began) / done if done else 0.0)


async def _answer(worker: Worker, statements: Statements, question: str) -> str:
    word, _, argument = question.partition(" ")
    if word == "drained":
        return await _drained(worker, int(argument))
    return str(statements.count)


async def _answer_all(worker: Worker, statements: Statements) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await worker.ready.wait()
    _say("ready")
    while line := await reader.readline():
        question = line.decode().strip()
        _say(f"{question.partition(' ')[0]} {await _answer(worker, statements, question)}")
    worker.drain()  # the driver is gone


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def _work(url: str, concurrency: int, statements: Statements) -> None:
    app = bench_app(url).app
    settings = WorkerSettings(concurrency=concurrency)
    worker = Worker(app.registry, app.connect(), settings, rng=new_rng())
    stop: Callable[[], None] = worker.drain
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    answering = asyncio.create_task(_answer_all(worker, statements))
    await worker.run()
    answering.cancel()


def main() -> None:
    """Work until told to stop."""
    parser = argparse.ArgumentParser(prog="bench.worker")
    parser.add_argument("url")
    parser.add_argument("--traced", action="store_true")
    parser.add_argument("--concurrency", type=int, default=WorkerSettings().concurrency)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    statements = Statements()
    if options.traced:
        apsw.connection_hooks.append(statements.hook)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_work(options.url, options.concurrency, statements))


if __name__ == "__main__":
    main()
