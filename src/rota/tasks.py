"""Tasks that exist, as their owner reads and changes them: `app.tasks`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Unpack

from msgspec import structs

from rota.actions import AmendOutcome, DeleteOutcome
from rota.amending import DELETING, OVER, WAITING, amending
from rota.backend import Backend
from rota.bulk import Bulk, Deed, Terms, choose
from rota.bulk_faces import acounted, alisted, counted, listed
from rota.changes import Amendment, check_changes
from rota.client import Client
from rota.clock import parse_id
from rota.errors import NotFinished, NotRetryable, NotWaiting, TaskNotFound
from rota.faces import awaited, blocking
from rota.filters import Filter, check_filter
from rota.insights import COUNT_CAP, PAGE, Insights
from rota.model import CancelOutcome, Micros, RetryOutcome, State, Task, TaskFilter
from rota.policy.reasons import Explanation
from rota.reports import AmendReport, CancelReport, DeleteReport, RetryReport
from rota.sync import Portal
from rota.times import Duration, duration, moment
from rota.views import Moment, timeline

Deadline = Duration | datetime
"""How long from now, or an instant, by which what was asked to stop will be stopped."""

LIVE: Final = (State.SCHEDULED, State.READY, State.RUNNING)
"""What a cancel by filter means unless the filter names states; a retry means what failed."""


class Tasks:
    """Reads and changes tasks that exist: `app.tasks`.

    Every verb has a blocking face and, with an `a` before its name, one to be awaited.
    """

    def __init__(self, client: Client, insights: Insights) -> None:
        self._client = client
        self._insights = insights

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    # -- reading --------------------------------------------------------------------------------

    async def _get(self, task_id: str) -> Task:
        """Return a task wherever it is in its life; `TaskNotFound` if there is none."""
        return await self._insights.get(task_id)

    async def _list(
        self, *, after: str | None = None, limit: int = PAGE, **where: Unpack[Filter]
    ) -> Sequence[Task]:
        """Return matching tasks, newest first; the next page begins `after` the last one's id.

        For the filters see `rota.filters.Filter`: state, queue, kind, tenant, tag, key and others.
        """
        return await self._insights.find(check_filter(where), after=after, limit=limit)

    async def _count(self, *, cap: int = COUNT_CAP, **where: Unpack[Filter]) -> dict[State, int]:
        """Count matching tasks by state, each up to `cap`, so that the cost stays bounded."""
        return await self._insights.count(check_filter(where), cap)

    async def _result(self, task_id: str, timeout: Duration | None = None) -> Any:
        """Wait for a task's result and return it, decoded.

        `TaskFailed` with the last error if it failed or was cancelled, `TimeoutError` if it is
        not over by then, `TaskNotFound` if it is no longer there: some kinds keep no results.
        """
        return await self._insights.result(task_id, _timeout(timeout))

    async def _ended(self, task_id: str, timeout: Duration | None = None) -> Task:
        """Wait until a task is completed, cancelled or failed, and return it; `TimeoutError`."""
        return await self._insights.ended(task_id, _timeout(timeout))

    async def _timeline(self, task_id: str) -> list[Moment]:
        """Return what happened to a task, in order; `TaskNotFound` if there is none (R9.1)."""
        return timeline(await self._insights.get(task_id))

    async def _explain(self, task_id: str) -> Explanation:
        """Say why a task is where it is: every reason, with its numbers (R7.8)."""
        return await self._insights.explain(task_id)

    get, aget = blocking(_get), awaited(_get)
    list, alist = blocking(_list), awaited(_list)
    count, acount = blocking(_count), awaited(_count)
    result, aresult = blocking(_result), awaited(_result)
    ended, aended = blocking(_ended), awaited(_ended)
    timeline, atimeline = blocking(_timeline), awaited(_timeline)
    explain, aexplain = blocking(_explain), awaited(_explain)

    # -- changing one ---------------------------------------------------------------------------

    def cancel(
        self, task_id: str, *, deadline: Deadline | None = None, connection: Any = None
    ) -> CancelOutcome:
        """Cancel a task that has not started, ask a running one to stop; say which (R5.1).

        With a `deadline`, a duration from now or an instant, a handler that does not stop by
        then loses the task, and its report is refused (R5.2). With a `connection` it is done when
        the transaction of that commits, and not if it does not (R1.3).
        """
        if connection is None:
            return self._portal.run(lambda: self._cancel(task_id, deadline))
        inside = self._client.inside(connection)
        return _found(task_id, inside.cancel([_id(task_id)], _instant(deadline, inside.now())))

    async def acancel(
        self, task_id: str, *, deadline: Deadline | None = None, connection: Any = None
    ) -> CancelOutcome:
        """Do what `cancel` does without blocking the event loop."""
        if connection is None:
            return await self._portal.arun(lambda: self._cancel(task_id, deadline))
        inside = self._client.inside(connection)
        asked = inside.acancel([_id(task_id)], _instant(deadline, inside.now()))
        return _found(task_id, await asked)

    async def _cancel(self, task_id: str, deadline: Deadline | None) -> CancelOutcome:
        backend = await self._client.opened()
        until = _instant(deadline, backend.clock.now())
        return _found(task_id, await backend.cancel([_id(task_id)], until))

    async def _retry(self, task_id: str) -> None:
        """Run a failed or scheduled task at once; `NotRetryable` if it is neither."""
        backend = await self._client.opened()
        known = parse_id(task_id)
        outcome = (await backend.retry([known]))[0] if known else RetryOutcome.NOT_FOUND
        if known is None or outcome is RetryOutcome.NOT_FOUND:
            raise TaskNotFound(task_id)
        if outcome is RetryOutcome.NOT_RETRYABLE:
            (task,) = await backend.get([known])
            raise NotRetryable(task_id, task.state if task else "gone")

    async def _amend(self, task_id: str, **to: Unpack[Amendment]) -> None:
        """Change a task that waits: its priority, queue, run_at, timeout or tags (R5.4).

        `NotWaiting` if it runs or is over.
        """
        changes = check_changes(to)
        backend = await self._client.opened()
        (outcome,) = await backend.amend([_id(task_id)], changes)
        if outcome is not AmendOutcome.DONE:
            task = await self._insights.get(task_id)
            raise NotWaiting(task.id, task.state)

    async def _delete(self, task_id: str) -> None:
        """Delete a task that is over, for good; `NotFinished` if it is not."""
        backend = await self._client.opened()
        (outcome,) = await backend.delete([_id(task_id)])
        if outcome is not DeleteOutcome.DONE:
            task = await self._insights.get(task_id)
            raise NotFinished(task.id, task.state)

    retry, aretry = blocking(_retry), awaited(_retry)
    amend, aamend = blocking(_amend), awaited(_amend)
    delete, adelete = blocking(_delete), awaited(_delete)

    # -- changing many --------------------------------------------------------------------------

    def _cancel_each(
        self, ids: Iterable[str], *, deadline: Deadline | None = None
    ) -> Bulk[CancelOutcome, CancelReport]:
        """Cancel tasks by their ids, from any iterable, and yield (id, outcome) of each."""
        return Bulk(self._client, _cancelling(deadline), iter(ids))

    def _cancel_many(
        self,
        ids: Iterable[str] | None = None,
        *,
        deadline: Deadline | None = None,
        dry_run: bool = False,
        expect_at_most: int | None = None,
        all: bool = False,
        on_progress: Callable[[CancelReport], None] | None = None,
        **where: Unpack[Filter],
    ) -> Bulk[CancelOutcome, CancelReport]:
        """Cancel many tasks, by their ids or by a filter, and count what became of them (R5.3).

        In runs of 1,000, each of which holds by itself: called again after a crash it goes on.
        An empty filter is refused; `all=True` says everything. A filter without states means
        what is not over. A dry run changes nothing and counts. `MoreThanExpected` if more match
        than `expect_at_most`; then nothing is changed.
        """
        chosen = choose(ids, where, _among(where, LIVE), everything=all)
        terms = Terms(dry_run=dry_run, expect_at_most=expect_at_most)
        return Bulk(self._client, _cancelling(deadline), chosen, terms, on_progress)

    def _retry_each(self, ids: Iterable[str]) -> Bulk[RetryOutcome, RetryReport]:
        """Run failed and scheduled tasks at once, by their ids; yield (id, outcome) of each."""
        return Bulk(self._client, _RETRYING, iter(ids))

    def _retry_many(
        self,
        ids: Iterable[str] | None = None,
        *,
        dry_run: bool = False,
        expect_at_most: int | None = None,
        all: bool = False,
        on_progress: Callable[[RetryReport], None] | None = None,
        **where: Unpack[Filter],
    ) -> Bulk[RetryOutcome, RetryReport]:
        """Run many tasks at once, by their ids or by a filter, and count what became of them.

        As `cancel_many`; but a filter without states means what failed.
        """
        chosen = choose(ids, where, _among(where, (State.FAILED,)), everything=all)
        terms = Terms(dry_run=dry_run, expect_at_most=expect_at_most)
        return Bulk(self._client, _RETRYING, chosen, terms, on_progress)

    def _amend_many(
        self,
        ids: Iterable[str] | None = None,
        *,
        to: Mapping[str, Any],
        dry_run: bool = False,
        expect_at_most: int | None = None,
        all: bool = False,
        on_progress: Callable[[AmendReport], None] | None = None,
        **where: Unpack[Filter],
    ) -> Bulk[AmendOutcome, AmendReport]:
        """Change many tasks that wait to what is in `to`, and count what became of them.

        `to` takes priority, queue, run_at, timeout and tags. As `cancel_many`; but a filter without
        states means what waits.
        """
        chosen = choose(ids, where, _among(where, WAITING), everything=all)
        terms = Terms(dry_run=dry_run, expect_at_most=expect_at_most)
        return Bulk(self._client, amending(check_changes(to)), chosen, terms, on_progress)

    def _delete_many(
        self,
        ids: Iterable[str] | None = None,
        *,
        dry_run: bool = False,
        expect_at_most: int | None = None,
        all: bool = False,
        on_progress: Callable[[DeleteReport], None] | None = None,
        **where: Unpack[Filter],
    ) -> Bulk[DeleteOutcome, DeleteReport]:
        """Delete many tasks that are over, for good, and count what became of them.

        As `cancel_many`; but a filter without states means what is completed or cancelled.
        """
        chosen = choose(ids, where, _among(where, OVER), everything=all)
        terms = Terms(dry_run=dry_run, expect_at_most=expect_at_most)
        return Bulk(self._client, DELETING, chosen, terms, on_progress)

    amend_many, aamend_many = counted(_amend_many), acounted(_amend_many)
    delete_many, adelete_many = counted(_delete_many), acounted(_delete_many)
    cancel_each, acancel_each = listed(_cancel_each), alisted(_cancel_each)
    cancel_many, acancel_many = counted(_cancel_many), acounted(_cancel_many)
    retry_each, aretry_each = listed(_retry_each), alisted(_retry_each)
    retry_many, aretry_many = counted(_retry_many), acounted(_retry_many)


def _cancelling(deadline: Deadline | None) -> Deed[CancelOutcome, CancelReport]:
    _instant(deadline, 0)  # refused here rather than when the first run is under way

    async def act(backend: Backend, ids: Sequence[str]) -> Sequence[CancelOutcome]:
        return await backend.cancel(ids, _instant(deadline, backend.clock.now()))

    completed, accepted = CancelOutcome.COMPLETED, CancelOutcome.ACCEPTED
    foreseen = dict.fromkeys(State, CancelOutcome.TOO_LATE)
    foreseen |= {State.SCHEDULED: completed, State.READY: completed, State.RUNNING: accepted}
    return Deed(act=act, missing=CancelOutcome.NOT_FOUND, foreseen=foreseen, nothing=CancelReport())


async def _retry_some(backend: Backend, ids: Sequence[str]) -> Sequence[RetryOutcome]:
    return await backend.retry(ids)


_RETRYING = Deed(
    act=_retry_some,
    missing=RetryOutcome.NOT_FOUND,
    foreseen=dict.fromkeys(State, RetryOutcome.NOT_RETRYABLE)
    | dict.fromkeys((State.FAILED, State.SCHEDULED), RetryOutcome.COMPLETED),
    nothing=RetryReport(),
)


def _among(where: Filter, usual: tuple[State, ...]) -> TaskFilter:
    checked = check_filter(where)
    return checked if checked.states else structs.replace(checked, states=usual)


def _id(task_id: str) -> str:
    known = parse_id(task_id)
    if known is None:
        raise TaskNotFound(task_id)
    return known


def _found(task_id: str, outcomes: Sequence[CancelOutcome]) -> CancelOutcome:
    (outcome,) = outcomes
    if outcome is CancelOutcome.NOT_FOUND:
        raise TaskNotFound(task_id)
    return outcome


def _timeout(given: Duration | None) -> Micros | None:
    return None if given is None else duration(given, "timeout")


def _instant(deadline: Deadline | None, now: Micros) -> Micros | None:
    if deadline is None:
        return None
    if isinstance(deadline, datetime):
        return moment(deadline, "deadline")
    return now + duration(deadline, "deadline")
