"""Endings reach the store once, whatever the link does, and refusals are counted (R3.2)."""

import asyncio

from rota.backend import Report
from rota.clock import new_rng
from rota.errors import StoreUnavailable
from rota.model import Note
from rota.node.counts import Counts
from rota.node.notebook import Notebook
from rota.node.reporter import BATCH, Reporter
from rota.policy.lifecycle import Completed
from rota.policy.retry import Backoff
from tests.node.fakes import FakeBackend, claimed, endings

DONE = Completed()


class Reporting:
    """A reporter and what it reports to."""

    def __init__(self) -> None:
        self.backend = FakeBackend()
        self.counts = Counts()
        self.sent = 0
        self.reporter = Reporter(
            self.backend,  # type: ignore[arg-type]
            "session",
            self.counts,
            new_rng(1),
            sent=self._sent,
        )

    def _sent(self) -> None:
        self.sent += 1

    def add(self, *numbers: int) -> None:
        """Take in endings of these tasks."""
        for number in numbers:
            self.reporter.add(Report(claimed(number), DONE, Backoff()))

    async def step(self) -> None:
        """Report once; the clock runs for as long as the reporter wants to wait."""
        task = asyncio.create_task(self.reporter.step())
        while not task.done():
            await asyncio.sleep(0)
            self.backend.clock.advance(1)
        await task


async def test_endings_go_in_batches() -> None:
    it = Reporting()
    it.add(*range(BATCH + 3))

    await it.step()
    await it.step()

    assert it.backend.batches == [BATCH, 3]
    assert it.counts.reported == BATCH + 3
    assert it.reporter.pending == 0


async def test_a_report_is_repeated_until_the_store_is_back() -> None:
    """R3.7, F5: the same report, under the same fence."""
    it = Reporting()
    it.backend.finish_faults.extend(StoreUnavailable("away") for _ in range(4))
    it.add(1, 2)

    await it.step()

    assert [report.task.id for report in it.backend.reports] == ["task-1", "task-2"]
    assert it.counts.reported == 2


async def test_a_refused_report_is_counted() -> None:
    """R3.2."""
    it = Reporting()
    it.backend.refuse = lambda report: report.task.id == "task-2"
    it.add(1, 2, 3)

    await it.step()

    assert (it.counts.reported, it.counts.refused) == (2, 1)


async def test_a_refusal_after_an_unknown_outcome_is_not_counted() -> None:
    """F5: the first try may have arrived."""
    it = Reporting()
    it.backend.finish_faults.append(StoreUnavailable("cut"))
    it.backend.refuse = lambda report: True
    it.add(1)

    await it.step()

    assert it.counts.refused == 0


async def test_one_result_that_cannot_be_stored_costs_only_its_own_task() -> None:
    """Case B157: the task can be finished all the same, as a failure."""
    it = Reporting()
    it.backend.unstorable = lambda report: (
        report.task.id == "task-2" and isinstance(report.ending, Completed)
    )
    it.add(1, 2, 3)

    await it.step()

    assert [report.task.id for report in it.backend.reports] == ["task-1", "task-2", "task-3"]
    assert endings(it.backend.reports) == ["Completed", "Failed", "Completed"]


async def test_what_is_not_confirmed_is_known_as_held() -> None:
    it = Reporting()
    it.add(1)

    before = it.reporter.hand_outs()
    await it.step()

    assert before == {("task-1", 1)}
    assert it.reporter.hand_outs() == set()


async def test_flushed_waits_for_the_last_answer() -> None:
    """R3.6."""
    it = Reporting()
    it.add(1)
    flushed = asyncio.create_task(it.reporter.flushed())
    await asyncio.sleep(0)

    early = flushed.done()
    await it.step()
    await flushed

    assert not early


async def test_what_a_run_noted_is_written_before_its_ending() -> None:
    """R3.5: a task that is tried again finds its last checkpoint."""
    it = Reporting()
    notebook = Notebook(
        it.backend,  # type: ignore[arg-type]
        "session",
        new_rng(1),
        refused=lambda _hand_out, _told: None,
    )
    order: list[str] = []

    def note_it(what: str) -> bool:
        order.append(what)
        return False

    it.backend.refuse_note = lambda note: note_it("note")
    it.backend.refuse = lambda report: note_it("ending")
    it.reporter = Reporter(
        it.backend,  # type: ignore[arg-type]
        "session",
        it.counts,
        new_rng(1),
        sent=lambda: None,
        notebook=notebook,
    )
    notebook.write(Note("task-1", 1, checkpoint="1"))
    it.backend.note_faults.append(StoreUnavailable("away"))
    it.add(1)

    await it.step()

    assert order == ["note", "ending"]


async def test_a_task_that_was_completed_by_its_handler_is_reported_by_itself() -> None:
    """R3.5: a refusal says that its own transaction was committed; no other report waits for it."""
    it = Reporting()
    it.backend.refuse = lambda report: report.task.id == "task-2"
    it.add(1)
    it.reporter.add_alone(Report(claimed(2), DONE, Backoff()))
    known = it.reporter.hand_outs()

    await it.step()
    await it.reporter.flushed()

    assert known == {("task-1", 1), ("task-2", 1)}
    assert sorted(it.backend.batches) == [1, 1]
    assert (it.counts.reported, it.counts.refused, it.reporter.pending) == (2, 0, 0)


async def test_what_the_store_took_is_told() -> None:
    """R4.4: a hook hears of a dead letter only when it is one."""
    it = Reporting()
    told: list[str] = []
    it.backend.refuse = lambda report: report.task.id == "task-2"
    it.reporter = Reporter(
        it.backend,  # type: ignore[arg-type]
        "session",
        it.counts,
        new_rng(1),
        sent=lambda: None,
        applied=lambda report: told.append(report.task.id),
    )
    it.add(1, 2, 3)

    await it.step()

    assert told == ["task-1", "task-3"]
