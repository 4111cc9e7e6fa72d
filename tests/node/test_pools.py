"""Pools: slots of their own for some queues, all under one session (R7.6)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rota import Rota, State
from rota.backend import Claim
from rota.clock import new_rng
from rota.errors import StoreUnavailable
from rota.model import Claimed
from rota.node.claimer import Claimer
from rota.node.counts import Counts
from rota.node.pools import REFRESH, PoolQueues, Pools
from rota.node.queue_names import plan_queues
from rota.node.reporter import Reporter
from rota.node.settings import WorkerSettings
from rota.node.slots import Slots
from rota.node.worker import Worker
from rota.registry import Kind, Registry
from tests.node.fakes import FakeBackend, claimed


class QueueBackend(FakeBackend):
    """Hands out by queue, and counts how often it is asked which queues have work."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.looks: list[tuple[str, ...]] = []
        self.answers = asyncio.Event()
        self.answers.set()
        self.slow: tuple[str, ...] = ()

    async def queues_with_work(self) -> list[str]:
        """Return them."""
        self.asked += 1
        return sorted({task.queue for task in self.ready})

    async def claim(
        self, session_id: str, queues: Sequence[str], slots: int, avoid: Sequence[str], **more: Any
    ) -> Claim:
        """Hand out of these queues; the answer for slow ones comes when the test says so."""
        self.looks.append(tuple(queues))
        others = [task for task in self.ready if task.queue not in queues]
        self.ready = type(self.ready)(task for task in self.ready if task.queue in queues)
        try:
            got = await super().claim(session_id, queues, slots, avoid, **more)
        finally:
            self.ready.extend(others)
        if set(queues) & set(self.slow):
            await self.answers.wait()
        return got


class Working:
    """The pools of one session with a handler of the test's own."""

    def __init__(self, words: Sequence[str], handler: Callable[..., Any]) -> None:
        self.backend = QueueBackend()
        self.plan = plan_queues(words, 10)
        registry = Registry()
        registry.add(Kind("work", handler))
        self.counts = Counts()
        backend: Any = self.backend
        self.reporter = Reporter(backend, "session", self.counts, new_rng(1), sent=lambda: None)
        self.pools = Pools(
            self.plan,
            [
                Slots(
                    registry,
                    pool.slots,
                    self.backend.clock,
                    report=self.reporter.add,
                    freed=partial(self._freed, number),
                )
                for number, pool in enumerate(self.plan.pools)
            ],
        )
        turn = asyncio.Lock()
        self.claimers = [
            Claimer(
                backend,
                "session",
                PoolQueues(backend, self.plan, number),
                slots=slots,
                reporter=self.reporter,
                counts=self.counts,
                rng=new_rng(1),
                turn=turn,
            )
            for number, slots in enumerate(self.pools.slots)
        ]

    def _freed(self, number: int) -> None:
        if hasattr(self, "claimers"):
            self.claimers[number].freed()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Run everything until something is so."""
        tasks = [asyncio.create_task(claimer.run()) for claimer in self.claimers]
        tasks.append(asyncio.create_task(self.reporter.run()))
        try:
            async with asyncio.timeout(60):
                while not condition():
                    await asyncio.sleep(0)
                    self.backend.clock.advance(0.01)
                    assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def running(self) -> list[list[str]]:
        """The ids of what each pool runs or has waiting."""
        return [sorted(task_id for task_id, _ in slots.hand_outs()) for slots in self.pools.slots]


async def endless(n: int) -> None:
    """Never end."""
    await asyncio.Event().wait()


async def quick_or_endless(n: int) -> None:
    """Never end, if the number is large."""
    if n >= 100:
        await asyncio.Event().wait()


def queue_of(*tasks: tuple[int, str]) -> list[Claimed]:
    """Tasks of queues."""
    return [claimed(number, queue=queue) for number, queue in tasks]


# -- which queues are looked at -------------------------------------------------------------------


async def test_a_pool_of_names_asks_nothing() -> None:
    """Only workers with patterns pay for them."""
    backend: Any = QueueBackend()
    queues = PoolQueues(backend, plan_queues(["sms", "mail"], 10))

    assert await queues.now(idle=True) == ("sms", "mail")
    assert backend.asked == 0


async def test_an_idle_pool_finds_a_new_queue_at_its_next_look() -> None:
    """R2.2."""
    backend: Any = QueueBackend()
    queues = PoolQueues(backend, plan_queues(["mail.*", "sms", "!*.bulk"], 10))
    before = await queues.now(idle=True)

    backend.ready += queue_of((1, "mail.a"), (2, "mail.bulk"), (3, "voice"), (4, "sms"))

    assert before == ("sms",)
    assert await queues.now(idle=True) == ("sms", "mail.a")


async def test_a_busy_pool_asks_about_once_a_second() -> None:
    backend: Any = QueueBackend()
    backend.ready += queue_of((1, "mail.a"))
    queues = PoolQueues(backend, plan_queues(["mail.*"], 10))
    await queues.now(idle=True)
    backend.ready += queue_of((2, "mail.b"))

    found = []
    for _ in range(21):
        found.append(await queues.now(idle=False))
        backend.clock.advance(REFRESH / 10)

    assert backend.asked == 3
    assert found[0] == ("mail.a",)
    assert found[-1] == ("mail.a", "mail.b")


async def test_each_pool_claims_from_its_own_queues() -> None:
    it = Working(["*", "transcode=2"], quick_or_endless)
    it.backend.ready += queue_of((1, "sms"), (2, "transcode"), (3, "mail"))

    await it.until(lambda: it.counts.reported == 3)

    assert set(it.backend.looks) <= {("transcode",), ("mail", "sms"), ("mail",), ("sms",)}


# -- slots of their own ---------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["sms=3", "long=2"], ["long=2", "*"], ["sms", "l*=2"]])
async def test_long_tasks_never_hold_a_short_tasks_slot(words: list[str]) -> None:
    """R7.6: however many of them wait."""
    it = Working(words, quick_or_endless)
    it.backend.ready += queue_of(*((n, "long") for n in range(100, 150)))
    await it.until(lambda: it.pools.busy == 2)

    it.backend.ready += queue_of(*((n, "sms") for n in range(50)))
    for claimer in it.claimers:
        claimer.kick()
    await it.until(lambda: it.counts.reported == 50)

    assert it.pools.busy == 2
    assert len(it.backend.ready) == 48


async def test_what_a_lost_answer_took_comes_to_its_own_pool() -> None:
    it = Working(["sms=2", "long=2"], endless)
    it.backend.takes_before_fault = True
    it.backend.claim_faults.extend([StoreUnavailable("cut"), StoreUnavailable("cut")])
    it.backend.ready += queue_of((1, "sms"), (2, "long"), (3, "sms"), (4, "long"))

    await it.until(lambda: it.pools.busy == 4)

    assert it.running() == [["task-1", "task-3"], ["task-2", "task-4"]]
    assert len(it.backend.taken) == 4


async def test_a_session_has_one_claim_under_way() -> None:
    """R7.3: the turns of tenants are carried from one to the next."""
    it = Working(["sms=2", "mail=2", "voice=2"], endless)
    it.backend.slow = ("sms", "mail", "voice")
    it.backend.answers.clear()
    it.backend.ready += queue_of((1, "sms"), (2, "mail"), (3, "voice"))
    tasks = [asyncio.create_task(claimer.run()) for claimer in it.claimers]
    began = []
    for _ in range(3):
        for _ in range(20):
            await asyncio.sleep(0)
        began.append(len(it.backend.looks))
        it.backend.answers.set()
        await asyncio.sleep(0)
        it.backend.answers.clear()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert began == [1, 2, 3]


# -- a worker with pools --------------------------------------------------------------------------


class Site:
    """An app with a worker in this process."""

    def __init__(self, folder: Path) -> None:
        self.app = Rota(f"sqlite:///{folder / 'rota.db'}")
        self.seen: list[Any] = []
        self.done = asyncio.Event()

    async def work(self, **settings: Any) -> Worker:
        """Run a worker until a handler says that it is done."""
        worker = Worker(
            self.app.registry, self.app.connect(), WorkerSettings(**settings), rng=new_rng(1)
        )
        running = asyncio.create_task(worker.run())
        try:
            async with asyncio.timeout(60):
                await self.done.wait()
        finally:
            worker.drain()
            await running
            await asyncio.to_thread(self.app.close)
        return worker


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An empty store."""
    return Site(tmp_path)


async def test_one_session_shows_all_queues_and_slots(site: Site) -> None:
    @site.app.task(queue="sms")
    async def look() -> None:
        site.done.set()

    await look.asubmit()
    await site.work(queues=("sms=50", "transcode=2", "mail"), concurrency=7)

    backend = site.app.connect()
    await backend.open()
    (session,) = await backend.sessions(live=False)
    await backend.close()
    assert (session.queues, session.slots) == (("mail", "sms", "transcode"), 59)


async def test_a_worker_takes_the_queues_of_its_patterns_and_no_others(site: Site) -> None:
    @site.app.task
    async def work(n: int) -> None:
        site.seen.append(n)
        if len(site.seen) == 2:
            site.done.set()

    for n, queue in enumerate(["mail.bulk", "sms", "mail.a"], start=1):
        await work.using(queue=queue).asubmit(n=n)
    later = asyncio.create_task(work.using(queue="mail.b", delay=0.01).asubmit(n=4))
    await site.work(queues=("mail.*=5", "!*.bulk", "voice"))
    await later

    states = await asyncio.to_thread(
        lambda: {task.queue: task.state for task in site.app.tasks.list()}
    )
    assert sorted(site.seen) == [3, 4]
    assert states == {
        "mail.bulk": State.READY,
        "sms": State.READY,
        "mail.a": State.COMPLETED,
        "mail.b": State.COMPLETED,
    }


async def test_pools_share_resources_and_the_end_of_the_worker(site: Site) -> None:
    """R8.2: opened once in each worker, closed once, after the handlers of every pool."""
    both = asyncio.Barrier(2)

    @site.app.resource
    async def database() -> AsyncIterator[str]:
        site.seen.append("open")
        yield "db"
        site.seen.append("close")

    @site.app.task
    async def work(n: int, db: str = database) -> None:
        await both.wait()
        site.done.set()
        await asyncio.sleep(0)
        site.seen.append(db)

    await work.using(queue="a").asubmit(n=1)
    await work.using(queue="b").asubmit(n=2)
    await site.work(queues=("a=1", "b=1"))

    assert site.seen == ["open", "db", "db", "close"]


async def test_a_stop_hands_back_what_runs_in_every_pool(site: Site) -> None:
    """R3.6, R5.2."""
    both = asyncio.Barrier(3)

    @site.app.task
    async def work(n: int) -> None:
        await both.wait()
        await asyncio.Event().wait()

    for queue in ("a", "b"):
        await work.using(queue=queue).asubmit(n=1)
    settings = WorkerSettings(queues=("a=1", "b=1"), grace=0)
    worker = Worker(site.app.registry, site.app.connect(), settings, rng=new_rng(1))
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(60):
        await both.wait()
        worker.drain()
        await running

    tasks = await asyncio.to_thread(lambda: list(site.app.tasks.list()))
    assert [(task.state, task.attempt) for task in tasks] == [(State.READY, 0)] * 2
    await asyncio.to_thread(site.app.close)


async def test_a_running_task_of_any_pool_can_be_cancelled(site: Site) -> None:
    """R5.2."""
    ids: list[str] = []
    both = asyncio.Barrier(2)

    @site.app.task
    async def work(n: int) -> None:
        await both.wait()
        await site.app.tasks.acancel(ids[n])
        try:
            await asyncio.Event().wait()
        finally:
            site.seen.append(n)
            if len(site.seen) == 2:
                site.done.set()

    ids += [(await work.using(queue="ab"[n]).asubmit(n=n)).id for n in range(2)]
    await site.work(queues=("a=1", "b=1"))

    states = await asyncio.to_thread(lambda: [task.state for task in site.app.tasks.list()])
    assert states == [State.CANCELLED] * 2
