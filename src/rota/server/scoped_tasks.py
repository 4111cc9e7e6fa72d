"""Tasks as far as a key reaches (S2, cases B174, B181)."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import structs

from rota import alerting
from rota.access import Scope
from rota.actions import Action, AmendOutcome, Changes, Counted, DeleteOutcome, Found
from rota.backend import Backend
from rota.errors import InvalidTask
from rota.filters import within
from rota.model import (
    Accepted,
    CancelOutcome,
    DeadLetterGroup,
    Micros,
    NewTask,
    RetryOutcome,
    State,
    Task,
    TaskFilter,
)
from rota.orders import GroupOrder, Order, Ordered, Spot
from rota.requests import ANYBODY, Submission
from rota.server.masking import mask_group, mask_task
from rota.server.problems import Problem

SERVERS_OWN = alerting.QUEUE
"""Where servers run what is theirs: a tenant's backlog there would hold up alerts for all."""
OWN_GATE = "schedule:"
"""So begin the gates of schedules; what came in there from outside would keep their runs out."""

T = TypeVar("T")


def beyond(what: str) -> Problem:
    """Return the answer to a call that names another tenant or queue: nothing of it is done."""
    return Problem("tenant_mismatch", f"{what} lies beyond what this key reaches; nothing was done")


def reaches(scope: Scope, queue: str, tenant: str) -> bool:
    """Say whether new work of this queue and tenant may be made within a scope."""
    return scope.covers(queue, tenant) and not (scope.bound and queue == SERVERS_OWN)


class ScopedTasks:
    """The verbs on tasks: what belongs to others is as if it were not."""

    _inner: Backend
    _scope: Scope

    # -- submitting -----------------------------------------------------------------------------

    async def submit(self, tasks: Sequence[NewTask]) -> list[Accepted]:
        self._check_new(tasks)
        return await self._inner.submit(tasks)

    async def submit_once(
        self, tasks: Sequence[NewTask], submission: Submission
    ) -> list[Accepted] | Submission:
        self._check_new(tasks)
        if submission.scope != self._own_name:
            raise beyond("the request")
        return await self._inner.submit_once(tasks, submission)

    async def submit_each(
        self, tasks: Sequence[NewTask], submissions: Sequence[Submission]
    ) -> list[bool]:
        self._check_new(tasks)
        if any(one.scope != self._own_name for one in submissions):
            raise beyond("the request")
        return await self._inner.submit_each(tasks, submissions)

    async def find_submission(self, scope: str, operation: str, key: str) -> Submission | None:
        if scope != self._own_name:
            return None
        return await self._inner.find_submission(scope, operation, key)

    async def get_submission(self, submission_id: str) -> Submission | None:
        found = await self._inner.get_submission(submission_id)
        if found is None or self._scope.tenant not in (None, found.scope):
            return None
        return found

    async def states(self, ids: Sequence[str]) -> dict[str, State]:
        if not self._scope.bound:
            return await self._inner.states(ids)
        return {task.id: task.state for task in await self.get(ids) if task is not None}

    @property
    def _own_name(self) -> str:
        return ANYBODY if self._scope.tenant is None else self._scope.tenant

    def _check_new(self, tasks: Sequence[NewTask]) -> None:
        """Refuse all if one lies beyond: nothing of the call is stored (case B181)."""
        for index, task in enumerate(tasks):
            if not reaches(self._scope, task.queue, task.tenant):
                raise beyond(f"item {index}: tenant {task.tenant!r}, queue {task.queue!r}")
            gate = task.concurrency_key or ""
            if self._scope.bound and (task.schedule is not None or gate.startswith(OWN_GATE)):
                raise beyond(f"item {index}: the run of a schedule")

    # -- by id ----------------------------------------------------------------------------------

    async def get(self, ids: Sequence[str]) -> list[Task | None]:
        found = await self._inner.get(ids)
        return [self._shown(task) for task in found]

    def _shown(self, task: Task | None) -> Task | None:
        if task is None or not self._scope.covers(task.queue, task.tenant):
            return None
        return task if self._scope.payloads else mask_task(task)

    async def cancel(
        self, ids: Sequence[str], deadline: Micros | None = None
    ) -> list[CancelOutcome]:
        async def cancel(own: Sequence[str]) -> list[CancelOutcome]:
            return await self._inner.cancel(own, deadline)

        return await self._own(ids, cancel, CancelOutcome.NOT_FOUND)

    async def retry(self, ids: Sequence[str]) -> list[RetryOutcome]:
        return await self._own(ids, self._inner.retry, RetryOutcome.NOT_FOUND)

    async def replay(self, ids: Sequence[str]) -> list[Accepted | None]:
        return await self._own(ids, self._inner.replay, None)

    async def discard(self, ids: Sequence[str], reason: str) -> list[bool]:
        async def discard(own: Sequence[str]) -> list[bool]:
            return await self._inner.discard(own, reason)

        return await self._own(ids, discard, False)

    async def restore(self, ids: Sequence[str]) -> list[bool]:
        return await self._own(ids, self._inner.restore, False)

    async def amend(self, ids: Sequence[str], changes: Changes) -> list[AmendOutcome]:
        self._check_changes(changes)

        async def amend(own: Sequence[str]) -> list[AmendOutcome]:
            return await self._inner.amend(own, changes)

        return await self._own(ids, amend, AmendOutcome.NOT_FOUND)

    async def delete(self, ids: Sequence[str]) -> list[DeleteOutcome]:
        return await self._own(ids, self._inner.delete, DeleteOutcome.NOT_FOUND)

    async def edit_payload(self, task_id: str, payload: str) -> bool:
        return bool(await self._mine([task_id])) and await self._inner.edit_payload(
            task_id, payload
        )

    async def ahead(self, task_id: str, cap: int) -> int:
        return await self._inner.ahead(task_id, cap) if await self._mine([task_id]) else 0

    async def _own(
        self, ids: Sequence[str], do: Callable[[Sequence[str]], Any], foreign: T
    ) -> list[T]:
        """Do it to what is within reach; of the rest say what is said of what is not there."""
        mine = await self._mine(ids)
        chosen = [id_ for id_ in ids if id_ in mine]
        done = iter(await do(chosen) if chosen else ())
        return [next(done) if id_ in mine else foreign for id_ in ids]

    async def _mine(self, ids: Sequence[str]) -> frozenset[str]:
        if not self._scope.bound:
            return frozenset(ids)
        found = await self._inner.get(list(dict.fromkeys(ids)))
        return frozenset(
            id_
            for id_, task in zip(dict.fromkeys(ids), found, strict=True)
            if task is not None and self._scope.covers(task.queue, task.tenant)
        )

    # -- by filter ------------------------------------------------------------------------------

    async def find(self, where: TaskFilter, *, before_id: str | None, limit: int) -> list[Task]:
        found = await self._inner.find(self._within(where), before_id=before_id, limit=limit)
        return found if self._scope.payloads else [mask_task(task) for task in found]

    async def find_ids(self, where: TaskFilter, *, before_id: str | None, limit: int) -> list[str]:
        return await self._inner.find_ids(self._within(where), before_id=before_id, limit=limit)

    async def count(self, where: TaskFilter, cap: int) -> dict[State, int]:
        return await self._inner.count(self._within(where), cap)

    async def groups(
        self, where: TaskFilter, limit: int, order: GroupOrder = GroupOrder.COUNT
    ) -> list[DeadLetterGroup]:
        found = await self._inner.groups(self._within(where), limit, order)
        return found if self._scope.payloads else [mask_group(group) for group in found]

    async def search(
        self, where: TaskFilter, *, before_id: str | None, limit: int, most: int
    ) -> Found:
        return await self._inner.search(
            self._within(where), before_id=before_id, limit=limit, most=most
        )

    async def ordered(
        self, where: TaskFilter, *, order: Order, after: Spot | None, limit: int, most: int
    ) -> Ordered:
        return await self._inner.ordered(
            self._within(where), order=order, after=after, limit=limit, most=most
        )

    async def count_among(self, where: TaskFilter, cap: int, most: int) -> Counted:
        return await self._inner.count_among(self._within(where), cap, most)

    def _within(self, where: TaskFilter) -> TaskFilter:
        """Narrow a filter to what is within reach; one that names another tenant is refused."""
        scope = self._scope
        for named in (where.tenant, *(where.tenants or ())):
            if named is not None and scope.tenant not in (None, named):
                raise beyond(f"tenant {named!r}")
        if where.payload and not scope.payloads:
            raise Problem("forbidden", "this key reads no payloads, so it cannot search in them")
        return within(where, scope.tenant, scope.queues)

    # -- actions --------------------------------------------------------------------------------

    async def begin_action(self, action: Action) -> bool:
        if self._scope.bound:
            action = structs.replace(action, tenant=self._scope.tenant, queues=self._scope.queues)
        self._within(action.where)
        self._check_changes(action.set)
        return await self._inner.begin_action(action)

    async def action(self, action_id: str) -> Action | None:
        found = await self._inner.action(action_id)
        return found if found is not None and self._reaches(found) else None

    async def actions(
        self,
        *,
        tenant: str | None,
        queues: Sequence[str] | None,
        before_id: str | None,
        limit: int,
    ) -> list[Action]:
        scope = self._scope
        if scope.tenant is not None:
            if tenant not in (None, scope.tenant):
                return []
            tenant = scope.tenant
        if scope.queues is not None:
            asked = scope.queues if queues is None else queues
            queues = [queue for queue in asked if queue in scope.queues]
        return await self._inner.actions(
            tenant=tenant, queues=queues, before_id=before_id, limit=limit
        )

    async def stop_action(self, action_id: str) -> bool:
        return await self.action(action_id) is not None and await self._inner.stop_action(action_id)

    def _reaches(self, action: Action) -> bool:
        scope = self._scope
        if scope.tenant not in (None, action.tenant):
            return False
        return scope.queues is None or (
            action.queues is not None and set(action.queues) <= set(scope.queues)
        )

    def _check_changes(self, changes: Changes) -> None:
        queue, queues = changes.queue, self._scope.queues
        own = self._scope.bound and queue == SERVERS_OWN
        if own or (isinstance(queue, str) and queues is not None and queue not in queues):
            raise InvalidTask("queue", f"{queue!r} lies beyond what this key reaches")
