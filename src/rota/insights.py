"""Every read of tasks: the one source for Python, the CLI and all that comes to show them."""

from collections.abc import Sequence
from typing import Any

from rota.client import Client
from rota.clock import parse_id
from rota.errors import InvalidTask, NotRetryable, TaskNotFound
from rota.model import CancelOutcome, RetryOutcome, State, Task, TaskFilter

PAGE = 50
PAGE_MOST = 500
COUNT_CAP = 10_000


def check_filter(
    *,
    state: State | str | Sequence[State | str] | None = None,
    queue: str | None = None,
    kind: str | None = None,
    tenant: str | None = None,
    tag: str | None = None,
    key: str | None = None,
    id_prefix: str | None = None,
) -> TaskFilter:
    """Return a filter; `InvalidTask` names the field that cannot match anything."""
    states = [state] if isinstance(state, str) else list(state or ())
    try:
        known = tuple(State(name) for name in states)
    except ValueError as error:
        names = ", ".join(State)
        raise InvalidTask("state", f"{error}; the states are {names}") from None
    return TaskFilter(
        states=known, queue=queue, kind=kind, tenant=tenant, tag=tag, key=key, id_prefix=id_prefix
    )


class Tasks:
    """Reads and changes tasks that exist: `app.tasks`.

    Every verb has a blocking face and, with an `a` before its name, one to be awaited.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, task_id: str) -> Task:
        """Return a task wherever it is in its life; `TaskNotFound` if there is none."""
        return self._client.portal.run(lambda: self._get(task_id))

    async def aget(self, task_id: str) -> Task:
        """Return a task wherever it is in its life; `TaskNotFound` if there is none."""
        return await self._client.portal.arun(lambda: self._get(task_id))

    def list(self, *, after: str | None = None, limit: int = PAGE, **where: Any) -> Sequence[Task]:
        """Return matching tasks, newest first; the next page begins `after` the last one's id.

        Filters: state, queue, kind, tenant, tag, key, id_prefix.
        """
        return self._client.portal.run(lambda: self._list(after, limit, where))

    async def alist(
        self, *, after: str | None = None, limit: int = PAGE, **where: Any
    ) -> Sequence[Task]:
        """Return matching tasks, newest first; the next page begins `after` the last one's id."""
        return await self._client.portal.arun(lambda: self._list(after, limit, where))

    def count(self, *, cap: int = COUNT_CAP, **where: Any) -> dict[State, int]:
        """Count matching tasks by state, each up to `cap`, so that the cost stays bounded."""
        return self._client.portal.run(lambda: self._count(cap, where))

    async def acount(self, *, cap: int = COUNT_CAP, **where: Any) -> dict[State, int]:
        """Count matching tasks by state, each up to `cap`, so that the cost stays bounded."""
        return await self._client.portal.arun(lambda: self._count(cap, where))

    def cancel(self, task_id: str) -> CancelOutcome:
        """Cancel a task that has not started, and say what became of it (R5.1)."""
        return self._client.portal.run(lambda: self._cancel(task_id))

    async def acancel(self, task_id: str) -> CancelOutcome:
        """Cancel a task that has not started, and say what became of it (R5.1)."""
        return await self._client.portal.arun(lambda: self._cancel(task_id))

    def retry(self, task_id: str) -> None:
        """Run a failed or scheduled task at once; `NotRetryable` if it is neither."""
        self._client.portal.run(lambda: self._retry(task_id))

    async def aretry(self, task_id: str) -> None:
        """Run a failed or scheduled task at once; `NotRetryable` if it is neither."""
        await self._client.portal.arun(lambda: self._retry(task_id))

    # -- on the private loop --------------------------------------------------------------------

    async def _get(self, task_id: str) -> Task:
        backend = await self._client.opened()
        known = parse_id(task_id)
        (task,) = await backend.get([known]) if known else (None,)
        if task is None:
            raise TaskNotFound(task_id)
        return task

    async def _list(self, after: str | None, limit: int, where: dict[str, Any]) -> Sequence[Task]:
        if not 1 <= limit <= PAGE_MOST:
            raise InvalidTask("limit", f"must lie between 1 and {PAGE_MOST}, not {limit}")
        backend = await self._client.opened()
        return await backend.find(check_filter(**where), before_id=after, limit=limit)

    async def _count(self, cap: int, where: dict[str, Any]) -> dict[State, int]:
        backend = await self._client.opened()
        return await backend.count(check_filter(**where), cap)

    async def _cancel(self, task_id: str) -> CancelOutcome:
        backend = await self._client.opened()
        known = parse_id(task_id)
        outcome = (await backend.cancel([known]))[0] if known else CancelOutcome.NOT_FOUND
        if outcome is CancelOutcome.NOT_FOUND:
            raise TaskNotFound(task_id)
        return outcome

    async def _retry(self, task_id: str) -> None:
        backend = await self._client.opened()
        known = parse_id(task_id)
        outcome = (await backend.retry([known]))[0] if known else RetryOutcome.NOT_FOUND
        if known is None or outcome is RetryOutcome.NOT_FOUND:
            raise TaskNotFound(task_id)
        if outcome is RetryOutcome.NOT_RETRYABLE:
            (task,) = await backend.get([known])
            raise NotRetryable(task_id, task.state if task else "gone")
