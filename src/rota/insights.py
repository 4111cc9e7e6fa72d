"""Every read of tasks: the one source for Python, the CLI and all that comes to show them."""

import asyncio
from collections.abc import Awaitable, Callable

from rota.backend import Backend
from rota.clock import parse_id
from rota.config import SECOND
from rota.errors import InvalidTask, StoreUnavailable, TaskFailed, TaskNotFound
from rota.facts import gathered
from rota.model import DeadLetterGroup, Micros, Session, State, Task, TaskFilter
from rota.orders import GroupOrder
from rota.policy.explain import explain
from rota.policy.reasons import Explanation
from rota.registry import Registry

PAGE = 50
PAGE_MOST = 500
"""No page of anything that is listed is longer."""
COUNT_CAP = 10_000
POLL_FIRST = 0.02
POLL_LONGEST = 1.0
"""Seconds between two looks at a task whose result is waited for: growing from one to the other."""


class Insights:
    """Reads tasks through a backend; runs on the loop to which the backend belongs."""

    def __init__(self, opened: Callable[[], Awaitable[Backend]], registry: Registry) -> None:
        self._opened = opened
        self._registry = registry

    async def get(self, task_id: str) -> Task:
        """Return a task wherever it is in its life; `TaskNotFound` if there is none."""
        backend = await self._opened()
        known = parse_id(task_id)
        (task,) = await backend.get([known]) if known else (None,)
        if task is None:
            raise TaskNotFound(task_id)
        return task

    async def find(
        self, where: TaskFilter, *, after: str | None = None, limit: int = PAGE
    ) -> list[Task]:
        """Return a page of matching tasks, newest first, that begins after the id `after`."""
        check_limit(limit)
        before = check_after(after, "a task")
        backend = await self._opened()
        return await backend.find(where, before_id=before, limit=limit)

    async def count(self, where: TaskFilter, cap: int = COUNT_CAP) -> dict[State, int]:
        """Count matching tasks by state, each up to `cap`, so that the cost stays bounded."""
        if cap < 1:
            raise InvalidTask("cap", f"must be at least 1, not {cap}")
        backend = await self._opened()
        return await backend.count(where, cap)

    async def groups(
        self, where: TaskFilter, limit: int = PAGE, order: GroupOrder = GroupOrder.COUNT
    ) -> list[DeadLetterGroup]:
        """Return the first groups of dead letters that are to be dealt with (R4.4)."""
        check_limit(limit)
        backend = await self._opened()
        return await backend.groups(where, limit, order)

    async def sessions(self, *, live: bool = True) -> list[Session]:
        """Return the workers' sessions, newest first; all of them unless only the live ones."""
        backend = await self._opened()
        return await backend.sessions(live=live)

    async def ended(self, task_id: str, timeout: Micros | None = None) -> Task:
        """Wait until a task is over and return it; `TimeoutError` tells its state.

        Failed is over: what runs it again is a person's decision. A store that is away meanwhile
        is waited for as well.
        """
        seconds = None if timeout is None else timeout / SECOND
        try:
            clock = (await asyncio.wait_for(self._opened(), seconds)).clock
        except TimeoutError:
            raise TimeoutError(f"task {task_id}: its store did not answer in time") from None
        until = None if seconds is None else clock.monotonic() + seconds
        pause = POLL_FIRST
        while True:
            away: StoreUnavailable | None = None
            try:
                task = await self.get(task_id)
            except StoreUnavailable as error:
                away = error
            else:
                if task.state.final or task.state is State.FAILED:
                    return task
            left = pause if until is None else until - clock.monotonic()
            if left <= 0:
                if away is not None:
                    raise away
                raise TimeoutError(f"task {task_id} is {task.state} still")
            await clock.sleep(min(pause, left))
            pause = min(pause * 1.5, POLL_LONGEST)

    async def result(self, task_id: str, timeout: Micros | None = None) -> object:
        """Wait for a task's result and return it; `TaskFailed` if there will be none."""
        task = await self.ended(task_id, timeout)
        if task.state is State.COMPLETED:
            return task.result
        if task.errors and task.state is State.FAILED:
            last = task.errors[-1]
            raise TaskFailed(task.id, task.state, last.type, last.message, last.traceback)
        raise TaskFailed(task.id, task.state, error=task.reason or "")

    async def explain(self, task_id: str) -> Explanation:
        """Say why a task is where it is: every reason, with its numbers (R7.8)."""
        task = await self.get(task_id)
        return explain(await gathered(await self._opened(), self._registry, task))


def check_limit(limit: int, field: str = "limit") -> int:
    """Return how long a page may be; `InvalidTask` if that is no number from 1 to `PAGE_MOST`."""
    if type(limit) is not int or not 1 <= limit <= PAGE_MOST:
        raise InvalidTask(field, f"must be a whole number from 1 to {PAGE_MOST}, not {limit!r:.80}")
    return limit


def check_after(after: str | None, of: str) -> str | None:
    """Return the id that a page begins after; `InvalidTask` if it is no id `of` what is listed."""
    known = None if after is None else parse_id(after)
    if known is None and after is not None:
        raise InvalidTask("after", f"{after!r:.80} is not the id of {of}")
    return known
