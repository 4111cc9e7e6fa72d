"""The course of a demonstration: a batch, a college, a bank, the death of a worker, the count."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec

from rota.clock import Ids, SystemClock
from rota.demo.audit import Asked, Audit, audit
from rota.demo.books import Books, ran_again, read_books
from rota.demo.feeder import REMINDERS, Feeder
from rota.demo.follower import Follower
from rota.demo.live import Live
from rota.demo.provider import Provider, create_provider
from rota.demo.report import Report, make_report
from rota.demo.results_file import read_results, write_results
from rota.demo.settings import DemoSettings
from rota.demo.tasks import PASSWORD, REMINDER, RESULT, demo_app, provider_file
from rota.demo.watch import Watch
from rota.demo.workers import Workers

CLOSED_SECONDS = 30.0
"""So long Rota may take to close its books once the last message is recorded."""


class Course:
    """One run against one store, in one folder."""

    def __init__(self, settings: DemoSettings, directory: Path, url: str, live: Live) -> None:
        self._settings = settings
        self._directory = directory
        self._url = url
        self._live = live
        self._clock = SystemClock()
        self._results = directory / "results.csv"
        self._provider = provider_file(directory)
        # Of its own, so that other runs on the same PostgreSQL neither help nor disturb.
        run = Ids().new(self._clock.now())[-12:]
        self._queue = f"demo-{run}"
        self._demo = demo_app(url, self._queue, lambda: Provider(self._provider))
        self._feeder = Feeder(self._demo, run)
        self._seconds = 0.0
        self._killed = 0

    async def run(self) -> tuple[Audit, Books]:
        """Run to the end and return what the provider and what Rota say about it."""
        # Whoever stops it with SIGTERM gets the same clean end as with Ctrl-C.
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, os.kill, os.getpid(), signal.SIGINT)
        books = None
        try:
            await asyncio.to_thread(self._prepare)
            books = await self._work()
            return await asyncio.to_thread(self._audit), books
        finally:
            if self._settings.named and self._feeder.tasks and not (books and books.closed):
                await self._feeder.withdraw(self._queue)
            await asyncio.to_thread(self._demo.app.close)

    def report(self, found: Audit) -> Report:
        """Return the figures of the run, once it is over."""
        return make_report(
            found,
            students=self._settings.students,
            seconds=self._seconds,
            killed=self._killed,
        )

    def _prepare(self) -> None:
        create_provider(self._provider)
        self._demo.app.migrate()

    async def _work(self) -> Books:
        lease = self._settings.lease
        with Workers(self._url, self._queue, self._directory, lease) as workers:
            watch = Watch(self._provider)
            follower = Follower(self._settings, watch, workers, self._live, self._clock)
            try:
                await self._in_thread("results.csv is written", self._write)
                began = self._clock.monotonic()
                await self._feed()
                await self._send(follower, watch)
                books = await self._closed_books()
                self._seconds = self._clock.monotonic() - began
            finally:
                self._killed = follower.killed
                watch.close()
        again = await ran_again(self._demo, self._queue)
        return msgspec.structs.replace(books, again=again)

    def _write(self) -> None:
        write_results(self._results, self._settings.students)

    async def _feed(self) -> None:
        await self._in_thread(
            "the board's file is read, its tasks are accepted",
            lambda: self._feeder.submit_results(self._results),
        )
        await self._in_thread(
            f"a college's {REMINDERS} reminders are accepted behind them",
            self._feeder.submit_reminders,
        )
        self._live.say("a bank's one-time passwords follow, two a second")

    async def _in_thread(self, what: str, work: Callable[[], object]) -> None:
        began = self._clock.monotonic()
        thread = asyncio.create_task(asyncio.to_thread(work))
        try:
            await asyncio.shield(thread)
        finally:
            # It cannot be cancelled; nothing may be handed in after the clean-up.
            await asyncio.wait([thread])
        self._live.say(f"{what} ({self._clock.monotonic() - began:.2f} s)")

    async def _send(self, follower: Follower, watch: Watch) -> None:
        over = asyncio.Event()
        passwords = asyncio.create_task(self._feeder.submit_passwords(over))
        try:
            await follower.until(lambda: watch.sent[RESULT] >= self._settings.students)
            over.set()
            await passwords
            await follower.until(
                lambda: (
                    watch.sent[REMINDER] >= REMINDERS
                    and watch.sent[PASSWORD] >= len(self._feeder.passwords)
                )
            )
        finally:
            passwords.cancel()

    async def _closed_books(self) -> Books:
        """Return Rota's books once they are closed, or as they are when patience ends."""
        until = self._clock.monotonic() + CLOSED_SECONDS
        while True:
            books = await read_books(self._demo, self._queue, self._feeder.tasks)
            if books.closed or self._clock.monotonic() > until:
                return books
            await self._clock.sleep(0.1)

    def _audit(self) -> Audit:
        students = (student.roll_number for student in read_results(self._results))
        asked = Asked(students, self._feeder.reminders, self._feeder.passwords)
        return audit(self._provider, asked)
