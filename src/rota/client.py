"""The client: submits, reads and changes tasks, from any thread and any event loop."""

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future

from msgspec import Struct

from rota.backend import Backend
from rota.call import Call
from rota.clock import Ids, Rng, give_way
from rota.errors import InvalidTask
from rota.model import Accepted, NewTask
from rota.outage import through_outage
from rota.outbox import Outbox
from rota.sync import Portal

BATCH = 2_000
BATCH_CHARS = 4 * 1024 * 1024
"""A batch of large payloads is sent before it has `BATCH` calls, so that memory stays bounded."""
UNDER_WAY = 2
"""So many batches are being committed at most while the next one is built."""
GIVE_WAY_EVERY = 100
PATIENCE = 30.0
"""A call waits this many seconds for a store that is away before it gives up."""


class Submitted(Struct, frozen=True):
    """What a `submit_many` did: tasks made, and tasks that a key had made before (R1.4)."""

    created: int = 0
    existing: int = 0

    @property
    def total(self) -> int:
        """How many calls were answered."""
        return self.created + self.existing

    def plus(self, answers: Sequence[Accepted]) -> "Submitted":
        """Return the sum with a further batch."""
        created = sum(answer.created for answer in answers)
        return Submitted(self.created + created, self.existing + len(answers) - created)


class BatchRefused(InvalidTask):
    """An item of a `submit_many` was refused; `stored` items before it are stored."""

    def __init__(self, index: int, stored: int, cause: InvalidTask) -> None:
        super().__init__(f"item {index}: {cause.field}", f"{cause.problem} ({stored} stored)")
        self.index = index
        self.stored = stored


class Client:
    """Runs every call on one private loop, against one backend that opens at first use."""

    def __init__(self, connect: Callable[[], Backend], rng: Rng) -> None:
        self._connect = connect
        self._rng = rng
        self._ids = Ids()
        self._start()

    def _start(self) -> None:
        self.portal = Portal()
        self.backend = self._connect()
        self._opened: asyncio.Task[None] | None = None
        self._plain: Outbox | None = None
        self._keyed: Outbox | None = None

    # -- single submits -------------------------------------------------------------------------

    def submit(self, call: Call) -> Accepted:
        """Store one task and answer after its commit."""
        task = self._task(call)
        return self._outbox(task).put(task).result()

    async def asubmit(self, call: Call) -> Accepted:
        """Store one task and answer after its commit."""
        task = self._task(call)
        return await self._outbox(task).aput(task)

    def _task(self, call: Call) -> NewTask:
        now = self.backend.clock.now()
        return call.task(self._ids.new(now), now)

    def _outbox(self, task: NewTask) -> Outbox:
        if self.portal.forked:
            self._start()
        if self._plain is None or self._keyed is None:
            loop = self.portal.loop
            self._plain = Outbox(self._submit, loop)
            # A key may be held by a stranger's open transaction for as long as that lasts; only
            # other submits with keys wait for it.
            self._keyed = Outbox(self._submit, loop)
        return self._plain if task.key is None else self._keyed

    async def _submit(self, tasks: Sequence[NewTask]) -> list[Accepted]:
        backend = await self.opened()
        # The ids are ours, so a repeat after an unknown outcome finds the first (R1.2, F5).
        return await through_outage(
            lambda: backend.submit(tasks), backend.clock, self._rng, patience=PATIENCE
        )

    async def opened(self) -> Backend:
        """Return the backend, connected; for coroutines on the private loop."""
        if self._opened is None or (self._opened.done() and self._opened.exception()):
            self._opened = asyncio.ensure_future(self._open())
        await asyncio.shield(self._opened)
        return self.backend

    async def _open(self) -> None:
        backend = self.backend
        await through_outage(backend.open, backend.clock, self._rng, patience=PATIENCE)

    # -- many -----------------------------------------------------------------------------------

    def submit_each(self, calls: Iterable[Call]) -> Iterator[list[Accepted]]:
        """Store the calls batch by batch while they are produced; yield each batch's answers.

        Batches are built while others are committed; no more than three are in memory.
        """
        source = iter(calls)
        under_way: deque[Future[list[Accepted]]] = deque()
        stored = 0
        while True:
            batch, refused = self._batch(source)
            while under_way and (len(under_way) == UNDER_WAY or refused or not batch):
                answers = under_way.popleft().result()
                stored += len(answers)
                yield answers
            if refused is not None:
                raise BatchRefused(stored + len(batch), stored, refused)
            if not batch:
                return
            under_way.append(self._send(batch))

    async def asubmit_each(
        self, calls: Iterable[Call] | AsyncIterable[Call]
    ) -> AsyncIterator[list[Accepted]]:
        """Do what `submit_each` does without blocking the caller's loop."""
        source = aiter(calls) if isinstance(calls, AsyncIterable) else iter(calls)
        under_way: deque[asyncio.Future[list[Accepted]]] = deque()
        stored = 0
        while True:
            batch, refused = (
                self._batch(source) if isinstance(source, Iterator) else await self._abatch(source)
            )
            while under_way and (len(under_way) == UNDER_WAY or refused or not batch):
                answers = await under_way.popleft()
                stored += len(answers)
                yield answers
            if refused is not None:
                raise BatchRefused(stored + len(batch), stored, refused)
            if not batch:
                return
            under_way.append(asyncio.wrap_future(self._send(batch)))

    def _send(self, batch: list[NewTask]) -> Future[list[Accepted]]:
        return self.portal.start(lambda: self._submit(batch))

    def _batch(self, source: Iterator[Call]) -> tuple[list[NewTask], InvalidTask | None]:
        calls: list[Call] = []
        chars = 0
        try:
            for call in source:
                calls.append(call)
                chars += len(call.payload)
                if len(calls) == BATCH or chars >= BATCH_CHARS:
                    break
                if len(calls) % GIVE_WAY_EVERY == 0:
                    give_way()
        except InvalidTask as error:
            return self._tasks(calls), error
        return self._tasks(calls), None

    async def _abatch(
        self, source: AsyncIterator[Call]
    ) -> tuple[list[NewTask], InvalidTask | None]:
        calls: list[Call] = []
        chars = 0
        try:
            async for call in source:
                calls.append(call)
                chars += len(call.payload)
                if len(calls) == BATCH or chars >= BATCH_CHARS:
                    break
        except InvalidTask as error:
            return self._tasks(calls), error
        return self._tasks(calls), None

    def _tasks(self, calls: Sequence[Call]) -> list[NewTask]:
        now = self.backend.clock.now()
        ids = self._ids.many(now, len(calls))
        return [call.task(task_id, now) for call, task_id in zip(calls, ids, strict=True)]

    # -- its own life ---------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the connections and the private loop; safe to call twice."""
        if self._opened is not None and not self.portal.forked:
            self.portal.run(self.backend.close)
        self.portal.stop()
        self._start()
