"""The client: submits, reads and changes tasks, from any thread and any event loop."""

import asyncio
import atexit
import weakref
from collections import deque
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import Struct

from rota.backend import Backend
from rota.call import Call
from rota.clock import Ids, Rng, give_way
from rota.errors import InvalidTask, RotaError
from rota.model import Accepted, NewTask
from rota.outage import through_outage
from rota.outbox import Outbox
from rota.sync import Portal
from rota.tracing import Tracer, sending
from rota.transactions import Home, Inside

T = TypeVar("T")

BATCH = 2_000
BATCH_CHARS = 4 * 1024 * 1024
"""A batch of large payloads is sent before it has `BATCH` calls, so that memory stays bounded."""
UNDER_WAY = 2
"""So many batches are being committed at most while the next one is built."""
GIVE_WAY_EVERY = 100
PATIENCE = 30.0
"""A call waits this many seconds for a store that is away before it gives up."""


PARTING = 1.0
"""The end of a process waits so many seconds at most for its last statistics to be written."""


def _part(known: "weakref.ref[Client]") -> None:
    client = known()
    if client is not None:
        client.part()


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
    """An item of a `submit_many` was refused, by `cause`; `stored` items before it are stored."""

    def __init__(self, index: int, stored: int, cause: InvalidTask) -> None:
        super().__init__(f"item {index}: {cause.field}", f"{cause.problem} ({stored} stored)")
        self.index = index
        self.stored = stored
        self.cause = cause


class Client:
    """Runs every call on one private loop, against one backend that opens at first use."""

    def __init__(
        self,
        connect: Callable[[], Backend],
        rng: Rng,
        patience: float = PATIENCE,
        tracer: Callable[[], Tracer | None] = lambda: None,
    ) -> None:
        self._tracer = tracer
        self._connect = connect
        self._rng = rng
        self._patience = patience
        self._ids = Ids()
        self._parting = False
        self._start()

    def _start(self) -> None:
        self.portal = Portal()
        self.backend = self._connect()
        self._opened: asyncio.Task[None] | None = None
        self._plain: Outbox[NewTask, Accepted] | None = None
        self._keyed: Outbox[NewTask, Accepted] | None = None
        self._home: Home | None = None

    # -- single submits -------------------------------------------------------------------------

    def submit(self, call: Call, connection: Any = None) -> Accepted:
        """Store one task and answer after its commit; with a `connection` in its transaction."""
        if connection is not None:
            with sending(self._tracer(), [self._task(call)]) as tasks:
                return self.inside(connection).submit(tasks)[0]
        if not self._connected:
            self.portal.run(self.opened)
        with sending(self._tracer(), [self._task(call)]) as (task,):
            return self._outbox(task).put(task).result()

    async def asubmit(self, call: Call, connection: Any = None) -> Accepted:
        """Store one task and answer after its commit; with a `connection` in its transaction."""
        if connection is not None:
            with sending(self._tracer(), [self._task(call)]) as tasks:
                return (await self.inside(connection).asubmit(tasks))[0]
        if not self._connected:
            await self.portal.arun(self.opened)
        with sending(self._tracer(), [self._task(call)]) as (task,):
            return await self._outbox(task).aput(task)

    @property
    def _connected(self) -> bool:
        """Say whether the store's time is known: tasks are dated by that, not by this machine's."""
        if self.portal.forked:
            self._start()
        opened = self._opened
        return opened is not None and opened.done() and opened.exception() is None

    def inside(self, connection: Any) -> Inside:
        """Return what is done in the transaction of a caller's own connection."""
        if self._home is None:
            # Where the backend is a server it knows of the store, and this process does not.
            store = getattr(self.backend, "store", None)
            dialect = None if store is None else store.traits.dialect
            self._home = Home(self.backend.clock, dialect, getattr(store, "path", None))
        return Inside(connection, self._home)

    def _task(self, call: Call) -> NewTask:
        now = self.backend.clock.now()
        return call.task(self._ids.new(now), now)

    def _outbox(self, task: NewTask) -> Outbox[NewTask, Accepted]:
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
        # The ids are ours, so a repeat after an unknown outcome finds the first (R1.2, F5).
        return await self.patiently(lambda backend: backend.submit(tasks))

    async def patiently(self, call: Callable[[Backend], Awaitable[T]]) -> T:
        """Carry out what may be repeated, waiting for a store that is away (R3.7)."""
        backend = await self.opened()
        return await through_outage(
            lambda: call(backend), backend.clock, self._rng, patience=self._patience
        )

    async def opened(self) -> Backend:
        """Return the backend, connected; for coroutines on the private loop."""
        if self._opened is None or (self._opened.done() and self._opened.exception()):
            self._opened = asyncio.ensure_future(self._open())
        await asyncio.shield(self._opened)
        return self.backend

    async def _open(self) -> None:
        backend = self.backend
        await through_outage(backend.open, backend.clock, self._rng, patience=self._patience)
        if not self._parting:
            self._parting = True
            atexit.register(_part, weakref.ref(self))

    def part(self) -> None:
        """Write down what was counted before the process ends, if nobody has closed the app."""
        if self._opened is not None and not self.portal.forked and self._connected:
            with suppress(RotaError, TimeoutError):
                self.portal.start(self.backend.flush).result(PARTING)

    def wake(self) -> None:
        """Tell sleeping workers to look; does not wait for that, and it may be lost."""
        if self.portal.forked:
            self._start()
        store = getattr(self.backend, "store", None)
        # Who works on a file sees that it has changed, whoever changed it.
        if store is None or not store.traits.embedded:
            self.portal.start(self._wake)

    async def _wake(self) -> None:
        with suppress(RotaError):
            backend = await self.opened()
            await backend.wake()

    # -- many -----------------------------------------------------------------------------------

    def submit_each(
        self, calls: Iterable[Call], connection: Any = None
    ) -> Iterator[list[Accepted]]:
        """Store the calls batch by batch while they are produced; yield each batch's answers.

        Batches are built while others are committed; no more than three are in memory. With a
        `connection` it is the caller who commits.
        """
        source = iter(calls)
        if connection is not None:
            yield from self._each_inside(source, self.inside(connection))
            return
        if not self._connected:
            self.portal.run(self.opened)
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
        self, calls: Iterable[Call] | AsyncIterable[Call], connection: Any = None
    ) -> AsyncIterator[list[Accepted]]:
        """Do what `submit_each` does without blocking the caller's loop."""
        source = aiter(calls) if isinstance(calls, AsyncIterable) else iter(calls)
        if connection is not None:
            async for answers in self._aeach_inside(source, self.inside(connection)):
                yield answers
            return
        if not self._connected:
            await self.portal.arun(self.opened)
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

    def _each_inside(self, source: Iterator[Call], inside: Inside) -> Iterator[list[Accepted]]:
        stored = 0
        while True:
            batch, refused = self._batch(source)
            if refused is not None:
                raise BatchRefused(stored + len(batch), stored, refused)
            if not batch:
                return
            with sending(self._tracer(), batch) as tasks:
                answers = inside.submit(tasks)
            stored += len(answers)
            yield answers

    async def _aeach_inside(
        self, source: Iterator[Call] | AsyncIterator[Call], inside: Inside
    ) -> AsyncIterator[list[Accepted]]:
        stored = 0
        while True:
            batch, refused = (
                self._batch(source) if isinstance(source, Iterator) else await self._abatch(source)
            )
            if refused is not None:
                raise BatchRefused(stored + len(batch), stored, refused)
            if not batch:
                return
            with sending(self._tracer(), batch) as tasks:
                answers = await inside.asubmit(tasks)
            stored += len(answers)
            yield answers

    def _send(self, batch: list[NewTask]) -> Future[list[Accepted]]:
        tracer = self._tracer()
        if tracer is None:
            return self.portal.start(lambda: self._submit(batch))
        tasks, ended = tracer.sending(batch)
        future = self.portal.start(lambda: self._submit(tasks))
        future.add_done_callback(lambda f: ended(None if f.cancelled() else f.exception()))
        return future

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
