"""Concurrent single submits share one commit, and each is answered after it (design §5)."""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, TypeVar

from rota.errors import Overloaded, RotaError, StoreError, StoreUnavailable

BATCH = 500

T = TypeVar("T")
A = TypeVar("A")


class _Waiting(NamedTuple):
    task: Any
    future: "Future[Any] | asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop | None


class Outbox(Generic[T, A]):
    """Gathers what many threads and loops submit while a commit is under way.

    There is no timer: a lone submit goes out at once, and while it does the others gather. All
    that wait are woken together, once per loop.
    """

    def __init__(
        self, submit: Callable[[Sequence[T]], Awaitable[list[A]]], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._submit = submit
        self._loop = loop
        self._waiting: deque[_Waiting] = deque()
        self._lock = threading.Lock()
        self._busy = False
        self._run: asyncio.Task[None] | None = None

    def put(self, task: T) -> Future[A]:
        """Add a task from any thread; the future ends after the commit."""
        future: Future[A] = Future()
        self._add(_Waiting(task, future, None))
        return future

    async def aput(self, task: T) -> A:
        """Add a task from any event loop and wait for the commit."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[A] = loop.create_future()
        self._add(_Waiting(task, future, loop))
        return await future

    def _add(self, waiting: _Waiting) -> None:
        with self._lock:
            self._waiting.append(waiting)
            if self._busy:
                return
            self._busy = True
        self._loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        self._run = asyncio.ensure_future(self._flush_all())

    async def _flush_all(self) -> None:
        while batch := self._take():
            tasks = [waiting.task for waiting in batch]
            answers: Sequence[A | BaseException]
            try:
                answers = await self._submit(tasks)
            except (StoreError, Overloaded) as error:
                answers = await self._one_by_one(tasks, error)
            except BaseException as error:
                _answer(batch, [error] * len(batch))
                if not isinstance(error, Exception):
                    raise
                continue
            _answer(batch, answers)

    def _take(self) -> list[_Waiting]:
        with self._lock:
            count = min(len(self._waiting), BATCH)
            self._busy = count > 0
            return [self._waiting.popleft() for _ in range(count)]

    async def _one_by_one(self, tasks: Sequence[T], error: RotaError) -> list[A | BaseException]:
        # What the store refused may be one caller's fault; the others must not pay for it.
        if len(tasks) == 1 or isinstance(error, StoreUnavailable):
            return [error] * len(tasks)
        answers: list[A | BaseException] = []
        for task in tasks:
            try:
                answers += await self._submit([task])
            except RotaError as own:
                answers.append(own)
        return answers


def _answer(batch: Sequence[_Waiting], answers: Sequence[Any]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for waiting, answer in zip(batch, answers, strict=True):
        if isinstance(waiting.future, Future):
            _settle(waiting.future, answer)
        elif waiting.loop is not None:
            by_loop.setdefault(waiting.loop, []).append((waiting.future, answer))
    for loop, pairs in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle_all, pairs)


def _settle_all(pairs: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, answer in pairs:
        _settle(future, answer)


def _settle(future: "Future[Any] | asyncio.Future[Any]", answer: Any) -> None:
    if future.done():  # its caller was cancelled; the task is stored all the same
        return
    if isinstance(answer, BaseException):
        future.set_exception(answer)
    else:
        future.set_result(answer)
