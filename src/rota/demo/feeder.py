"""Submits: the board's results, the college's reminders, and passwords while the batch runs."""

import asyncio
from pathlib import Path

from rota.client import Submitted
from rota.clock import Micros, new_rng, wall
from rota.demo.results_file import read_results
from rota.demo.tasks import CHUNK, DemoApp
from rota.model import State

REMINDERS = 50
PASSWORD_EVERY = 0.5
PHONE = "+910000000000"
EXAM = "class 10, 2026"
SEED = 10


class Feeder:
    """Hands the demo's work in, and remembers when it asked for what.

    `reminders` and `passwords` say for each recipient when Rota was asked.
    """

    def __init__(self, demo: DemoApp, run: str) -> None:
        self._demo = demo
        self._run = run
        self.reminders: dict[str, Micros] = {}
        self.passwords: dict[str, Micros] = {}
        self.tasks = 0

    def submit_results(self, results: Path) -> Submitted:
        """Submit the students of the file as tasks of 500, lazily, in one call (R1.5)."""
        # The key makes it safe to hand the same file in again after a crash of this program.
        kind = self._demo.send_results.using(tenant="board", key=f"results-{self._run}")
        calls = kind.split(read_results(results), into="students", size=CHUNK, exam=EXAM)
        submitted = self._demo.app.submit_many(calls)
        self.tasks += submitted.created
        return submitted

    def submit_reminders(self) -> Submitted:
        """Submit the college's reminders, behind everything that the board has handed in."""
        kind = self._demo.remind.using(tenant="college")
        students = [f"college-{number}" for number in range(1, REMINDERS + 1)]
        self.reminders = dict.fromkeys(students, wall())
        submitted = self._demo.app.submit_many(
            kind.using(key=f"{self._run}/{student}").bind(EXAM, student, PHONE)
            for student in students
        )
        self.tasks += submitted.created
        return submitted

    async def submit_passwords(self, over: asyncio.Event) -> None:
        """Submit a one-time password twice a second until the batch is over."""
        rng = new_rng(SEED)
        kind = self._demo.send_otp.using(tenant="bank")
        while not over.is_set():
            parent = f"parent-{len(self.passwords) + 1}"
            self.passwords[parent] = wall()
            await kind.asubmit(parent, PHONE, f"{rng.randrange(10**6):06d}")
            self.tasks += 1
            try:
                async with asyncio.timeout(PASSWORD_EVERY):
                    await over.wait()
            except TimeoutError:
                continue

    async def withdraw(self, queue: str) -> None:
        """Cancel what has not started, so that a store that stays is not left with it."""
        tasks = self._demo.app.tasks
        while waiting := await tasks.alist(queue=queue, state=(State.READY, State.SCHEDULED)):
            for task in waiting:
                await tasks.acancel(task.id)
