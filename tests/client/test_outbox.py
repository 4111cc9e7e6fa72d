"""Concurrent single submits share a commit, and each is answered after it (design §5)."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from rota.errors import StoreError, StoreUnavailable
from rota.model import Accepted, NewTask
from rota.outbox import BATCH, Outbox
from tests.support.factories import Make


class Commits:
    """A store's place: it keeps what it is given, in batches, when it is let to."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.refused: set[str] = set()
        self.gate = asyncio.Event()
        self.gate.set()

    async def submit(self, tasks: Sequence[NewTask]) -> list[Accepted]:
        """Commit a batch, or refuse it for one task's sake."""
        await self.gate.wait()
        bad = [task.id for task in tasks if task.id in self.refused]
        if bad:
            raise StoreError(f"cannot keep {bad[0]}")
        self.batches.append([task.id for task in tasks])
        return [Accepted(task.id) for task in tasks]


async def test_what_comes_while_a_commit_is_under_way_shares_the_next_one(make: Make) -> None:
    commits = Commits()
    outbox = Outbox(commits.submit, asyncio.get_running_loop())
    tasks = make.tasks(10)
    commits.gate.clear()

    first = asyncio.create_task(outbox.aput(tasks[0]))
    for _ in range(5):  # the first one is on its way and waits for its commit
        await asyncio.sleep(0)
    others = [asyncio.create_task(outbox.aput(task)) for task in tasks[1:]]
    await asyncio.sleep(0)
    commits.gate.set()
    answers = await asyncio.gather(first, *others)

    assert [task.id for task in tasks] == [answer.id for answer in answers]
    assert [len(batch) for batch in commits.batches] == [1, 9]


async def test_nobody_is_answered_before_the_commit(make: Make) -> None:
    """R1.2."""
    commits = Commits()
    outbox = Outbox(commits.submit, asyncio.get_running_loop())
    commits.gate.clear()

    waiting = asyncio.create_task(outbox.aput(make.task()))
    for _ in range(20):
        await asyncio.sleep(0)
    before = waiting.done()
    commits.gate.set()
    await waiting

    assert not before


async def test_a_batch_is_bounded(make: Make) -> None:
    commits = Commits()
    outbox = Outbox(commits.submit, asyncio.get_running_loop())

    await asyncio.gather(*(outbox.aput(task) for task in make.tasks(2 * BATCH)))

    assert max(len(batch) for batch in commits.batches) == BATCH


async def test_one_callers_fault_is_not_the_others(make: Make) -> None:
    commits = Commits()
    outbox = Outbox(commits.submit, asyncio.get_running_loop())
    tasks = make.tasks(5)
    commits.refused.add(tasks[2].id)

    answers = await asyncio.gather(*(outbox.aput(t) for t in tasks), return_exceptions=True)

    assert isinstance(answers[2], StoreError)
    assert [t.id for n, t in enumerate(tasks) if n != 2] == [
        answer.id for answer in answers if isinstance(answer, Accepted)
    ]


async def test_all_hear_of_a_store_that_is_away(make: Make) -> None:
    """R3.7: the outcome is not known, and nothing is tried one by one meanwhile."""
    tries = []

    async def submit(tasks: Sequence[NewTask]) -> list[Accepted]:
        tries.append(len(tasks))
        raise StoreUnavailable("away")

    outbox = Outbox(submit, asyncio.get_running_loop())

    answers = await asyncio.gather(
        *(outbox.aput(task) for task in make.tasks(3)), return_exceptions=True
    )

    assert all(isinstance(answer, StoreUnavailable) for answer in answers)
    assert sum(tries) == 3


async def test_threads_and_loops_share_one_outbox(make: Make) -> None:
    commits = Commits()
    outbox = Outbox(commits.submit, asyncio.get_running_loop())
    tasks = make.tasks(40)
    got: list[str] = []

    def blocking(own: Sequence[NewTask]) -> None:
        got.extend(outbox.put(task).result(timeout=60).id for task in own)

    def awaiting(own: Sequence[NewTask]) -> None:
        async def work() -> None:
            answers = await asyncio.gather(*(outbox.aput(task) for task in own))
            got.extend(answer.id for answer in answers)

        asyncio.run(work())

    threads = [
        threading.Thread(target=blocking, args=(tasks[:20],)),
        threading.Thread(target=awaiting, args=(tasks[20:],)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)

    assert sorted(task.id for task in tasks) == sorted(got)


async def test_a_caller_that_gave_up_disturbs_nobody(make: Make) -> None:
    commits = Commits()
    outbox = Outbox(commits.submit, asyncio.get_running_loop())
    commits.gate.clear()
    tasks = make.tasks(2)

    gone, stays = (asyncio.create_task(outbox.aput(task)) for task in tasks)
    for _ in range(5):
        await asyncio.sleep(0)
    gone.cancel()
    commits.gate.set()
    answer = await stays

    assert tasks[1].id == answer.id
    with pytest.raises(asyncio.CancelledError):
        await gone
