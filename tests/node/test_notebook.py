"""Progress and checkpoints are written in batches, durably when asked, under the fence (R3.5)."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rota import Context, LeaseLost
from rota.errors import StoreError, StoreUnavailable
from rota.model import Note
from rota.node import notebook
from rota.policy.lifecycle import Completed, Failed
from tests.node.fakes import claimed
from tests.node.running import Running


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits a second."""
    monkeypatch.setattr(notebook, "WITHIN", 0.005)


@contextlib.contextmanager
def writing(it: Running) -> Iterator[asyncio.Task[None]]:
    """The notebook writes while the block lasts; the clock runs for as long as it wants to wait."""

    async def run_the_clock() -> None:
        while True:
            await asyncio.sleep(0)
            it.clock.advance(1)

    tasks = [asyncio.create_task(it.notebook.run()), asyncio.create_task(run_the_clock())]
    try:
        yield tasks[0]
    finally:
        for task in tasks:
            task.cancel()


async def test_many_notes_of_a_run_make_one_write() -> None:
    it = Running()

    async def work(n: int, ctx: Context) -> Any:
        for done in range(100):
            ctx.progress(done, 100)
            ctx.checkpoint({"done": done})
        await ctx.flush()
        return ctx.last_checkpoint

    it.handles(work)
    with writing(it):
        (report,) = await it.run(claimed())

    assert report.ending == Completed('{"done":99}')
    assert it.backend.notes == [Note("task-1", 1, 99, 100, '{"done":99}')]


async def test_what_is_not_said_stays_as_it_is() -> None:
    it = Running()
    it.notebook.write(Note("a", 1, done=1, total=9))
    it.notebook.write(Note("a", 1, checkpoint="{}"))
    it.notebook.write(Note("a", 1, done=2))
    it.notebook.write(Note("a", 2, done=5))

    await it.notebook.settle()

    assert it.backend.notes == [Note("a", 1, 2, 9, "{}"), Note("a", 2, 5)]


async def test_notes_are_written_by_themselves() -> None:
    it = Running()

    async def work(n: int, ctx: Context) -> None:
        ctx.progress(1)
        await it.backend.noted.wait()

    it.handles(work)
    with writing(it):
        await it.run(claimed())

    assert it.backend.notes == [Note("task-1", 1, done=1)]


async def test_a_flush_waits_for_the_store_also_in_a_thread() -> None:
    """R3.5: durable before `checkpoint` returns."""
    it = Running()
    seen: list[int] = []

    def work(n: int, ctx: Context) -> None:
        ctx.checkpoint([1, 2], flush=True)
        seen.append(len(it.backend.notes))
        ctx.flush()

    it.handles(work)
    it.backend.note_faults.extend(StoreUnavailable("away") for _ in range(3))
    with writing(it):
        (report,) = await it.run(claimed())

    assert report.ending == Completed()
    assert seen == [1]
    assert [note.checkpoint for note in it.backend.notes] == ["[1,2]"]
    it.slots.close()


async def test_under_an_old_fence_the_handler_is_told_and_stopped() -> None:
    """R3.2: nothing of it is reported."""
    it = Running()
    told: list[str] = []
    it.backend.refuse_note = lambda note: note.id == "task-1"

    async def work(n: int, ctx: Context) -> None:
        try:
            await ctx.checkpoint(n, flush=True)
        except LeaseLost as error:
            told.append(error.task_id)
            raise

    it.handles(work)
    with writing(it):
        reports = await it.run(claimed(1), claimed(2))

    assert told == ["task-1"]
    assert [r.task.id for r in reports] == ["task-2"]


async def test_a_thread_is_told_of_an_old_fence_where_it_checks() -> None:
    it = Running()
    it.backend.refuse_note = lambda note: True
    told = threading.Event()

    def work(n: int, ctx: Context) -> None:
        ctx.progress(1)
        while True:
            try:
                ctx.check()
            except LeaseLost:
                told.set()
                raise

    it.handles(work)
    with writing(it):
        reports = await it.run(claimed())

    assert told.is_set()
    assert reports == []
    it.slots.close()


async def test_what_the_store_cannot_keep_is_told_to_whoever_waits() -> None:
    it = Running()
    it.backend.note_faults.append(StoreError("no"))

    async def work(n: int, ctx: Context) -> None:
        await ctx.checkpoint(1, flush=True)

    it.handles(work)
    with writing(it):
        (report,) = await it.run(claimed())

    assert isinstance(report.ending, Failed)
    assert report.ending.error.type == "StoreError"


async def test_whoever_waits_when_the_session_ends_is_told() -> None:
    """R3.4: no thread may wait for ever."""
    it = Running()
    waiting = it.notebook.flush(("task-1", 1))

    it.notebook.close()
    it.notebook.write(Note("task-1", 1, done=1))

    with pytest.raises(LeaseLost):
        await waiting
    with pytest.raises(LeaseLost):
        it.notebook.flush(("task-1", 1))
    assert not it.notebook.pending


async def test_a_write_of_unknown_outcome_loses_nothing_that_came_meanwhile() -> None:
    it = Running()
    it.backend.note_faults.append(StoreUnavailable("cut"))
    it.notebook.write(Note("a", 1, done=1, checkpoint="1"))
    with pytest.raises(StoreUnavailable):
        await it.notebook.settle()
    it.notebook.write(Note("a", 1, done=2))

    await it.notebook.settle()

    assert it.backend.notes == [Note("a", 1, 2, None, "1")]


async def test_large_numbers_of_runs_are_written_in_several_batches() -> None:
    it = Running()
    for number in range(notebook.BATCH + 1):
        it.notebook.write(Note(f"task-{number}", 1, done=1))

    await it.notebook.settle()

    assert it.backend.note_batches == [notebook.BATCH, 1]


@pytest.mark.parametrize("value", [object(), "x" * 70_000, float("nan")])
async def test_a_checkpoint_that_cannot_be_kept_fails_for_good(value: Any) -> None:
    """Running it again would not help."""
    it = Running()

    async def work(n: int, ctx: Context) -> None:
        ctx.checkpoint(value)

    it.handles(work)
    (report,) = await it.run(claimed())

    assert isinstance(report.ending, Failed)
    assert report.ending.permanent
    assert "checkpoint" in report.ending.error.message
    assert not it.notebook.pending


@pytest.mark.parametrize("done", [-1, 1.5, True, "3"])
async def test_progress_is_counted_in_whole_numbers(done: Any) -> None:
    it = Running()

    async def work(n: int, ctx: Context) -> None:
        ctx.progress(done)

    it.handles(work)
    (report,) = await it.run(claimed())

    assert isinstance(report.ending, Failed)
    assert "whole numbers" in report.ending.error.message


async def test_the_checkpoint_of_an_earlier_run_is_there() -> None:
    """R3.5."""
    it = Running()

    async def work(n: int, ctx: Context) -> Any:
        return [ctx.last_checkpoint, ctx.idempotency_key, ctx.fence]

    it.handles(work)
    (report,) = await it.run(claimed(fence=7, checkpoint='{"done":[1,2]}'))

    assert report.ending == Completed('[{"done":[1,2]},"task-1",7]')
