"""Tasks over HTTP: found, read, waited for, changed, cancelled, retried, deleted (R5, R9.1)."""

import asyncio
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from rota import explanations, views
from rota.access import Role
from rota.config import PRIORITY_DEFAULT
from rota.facts import gathered
from rota.insights import PAGE
from rota.model import State, Task
from rota.orders import Order
from rota.policy.explain import explain
from rota.server import filters
from rota.server.paging import CURSOR_CODES, Limit
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.routes.backend import within_reach
from rota.server.shapes import tasks as shapes
from rota.server.shapes.page import Page
from rota.server.task_pages import (
    COUNT_CAP,
    COUNT_LOOK,
    LOOK_INTO,
    Paged,
    page_of,
    shown,
)
from rota.times import show_instant

TAG = "tasks"
WAIT_MOST = 30.0
QUEUE_DEFAULT = "default"

View = Literal["summary", "full"]


class TaskList(filters.TaskQuery, frozen=True):
    """Which tasks to list, how much of each, and where the page begins."""

    view: View = "summary"
    order: Order = Order.CREATED
    limit: Limit = PAGE
    cursor: str | None = None


class TaskRead(In, frozen=True):
    """How much of a task to read; with `wait_s` once it is over, or as it stands then."""

    view: View = "full"
    wait_s: Annotated[float, Meta(ge=0, le=WAIT_MOST)] = 0.0


class TaskChange(In, frozen=True):
    """What to change of a task that waits: what is absent stays, null is the default."""

    priority: int | UnsetType | None = UNSET
    queue: str | UnsetType | None = UNSET
    run_at: str | UnsetType | None = UNSET
    timeout: float | str | UnsetType | None = UNSET
    tags: list[str] | UnsetType | None = UNSET


class CancelBody(In, frozen=True):
    """By when a handler that does not stop loses the task: seconds from now, or an instant."""

    deadline: float | str | None = None


async def list_tasks(call: Call) -> Answer:
    query = call.query
    where = filters.of_query(query)
    paged = Paged(query.order, query.limit, query.cursor, query.view == "full")
    return await page_of(call, where, paged, about=filters.asked(query))


async def count_tasks(call: Call) -> Answer:
    where = filters.of_query(call.query)
    most = LOOK_INTO if where.payload else COUNT_LOOK
    counted = await call.backend.count_among(where, COUNT_CAP, most)
    states = {state.value: number for state, number in counted.counts.items()}
    return Answer(
        {
            "count": sum(states.values()),
            "capped": not counted.whole,
            "states": states,
            "as_of": show_instant(call.place.clock.now()),
        }
    )


async def get_task(call: Call) -> Answer:
    task = await call.faces.tasks.aget(call.path["id"])
    if call.query.wait_s and not _over(task):
        await _wait(call, task.id, call.query.wait_s)
        task = await call.faces.tasks.aget(task.id)
    return Answer(shown(call, task, full=call.query.view == "full"))


async def get_timeline(call: Call) -> Answer:
    moments = await call.faces.tasks.atimeline(call.path["id"])
    return Answer({"items": [views.moment(one) for one in moments], "as_of": _now(call)})


async def get_attempts(call: Call) -> Answer:
    task = await call.faces.tasks.aget(call.path["id"])
    return Answer(
        {
            "attempt": task.attempt,
            "lost_leases": task.lost,
            "snoozes": task.snoozes,
            "items": [views.attempt_error(error) for error in task.errors],
            "as_of": _now(call),
        }
    )


async def explain_task(call: Call) -> Answer:
    if not call.caller.scope.bound:
        return Answer(explanations.view(await call.faces.tasks.aexplain(call.path["id"])))
    # A bound key sees no workers and limits of others, but what they make its own task wait for.
    task = await call.faces.tasks.aget(call.path["id"])
    facts = await gathered(call.place.engine, call.place.app.registry, task)
    return Answer(explanations.view(explain(within_reach(facts))))


async def update_task(call: Call) -> Answer:
    face = call.faces.tasks
    before = await face.aget(call.path["id"])
    changes = _changes(call, before)
    await face.aamend(before.id, **changes)
    after = await face.aget(before.id)
    was, now = views.full(before), views.full(after)
    call.audit["change"] = {name: [was[name], now[name]] for name in changes}
    return Answer(shown(call, after, full=True))


async def cancel_task(call: Call) -> Answer:
    task_id = call.path["id"]
    deadline = call.body.deadline
    outcome = await call.faces.tasks.acancel(task_id, deadline=deadline)
    return Answer({"id": task_id, "outcome": outcome.value})


async def retry_task(call: Call) -> Answer:
    await call.faces.tasks.aretry(call.path["id"])
    task = await call.faces.tasks.aget(call.path["id"])
    return Answer(shown(call, task, full=True))


async def delete_task(call: Call) -> Answer:
    await call.faces.tasks.adelete(call.path["id"])
    return Answer(status=204)


async def _wait(call: Call, task_id: str, seconds: float) -> None:
    """Wait for the task's end, and no longer than the caller stays."""
    waiting = asyncio.ensure_future(call.place.endings.wait(task_id, seconds, call.caller.key_id))
    gone = asyncio.ensure_future(call.gone()) if call.gone is not None else None
    try:
        await asyncio.wait(
            {waiting} if gone is None else {waiting, gone}, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        for one in (waiting, gone):
            if one is not None:
                one.cancel()


def _over(task: Task) -> bool:
    return task.state.final or task.state is State.FAILED


def _changes(call: Call, task: Task) -> dict[str, Any]:
    """Return what is to be changed; null is what a task of its kind has if nothing is said."""
    kind = call.place.app.registry.get(task.kind)
    usual = {
        "priority": PRIORITY_DEFAULT if kind is None else kind.priority,
        "queue": QUEUE_DEFAULT if kind is None else kind.queue,
        "run_at": show_instant(call.place.clock.now()),
        "tags": [],
    }
    return {
        name: usual.get(name) if value is None else value
        for name in TaskChange.__struct_fields__
        if (value := getattr(call.body, name)) is not UNSET
    }


def _now(call: Call) -> str:
    return show_instant(call.place.clock.now())


_READ = roles(Role.READ, Role.SUBMIT)
_OPERATE = roles(Role.OPERATE)

ROUTES = (
    Route(
        method="GET",
        path="/v1/tasks",
        name="tasks_list",
        summary="List tasks, newest first or in another order that has an index",
        run=list_tasks,
        roles=roles(Role.READ),
        tag=TAG,
        query=TaskList,
        answers=Page[shapes.Task] | Page[shapes.TaskSummary],
        codes=CURSOR_CODES,
    ),
    Route(
        method="GET",
        path="/v1/tasks/count",
        name="tasks_count",
        summary="Count tasks by state, up to a cap",
        run=count_tasks,
        roles=roles(Role.READ),
        tag=TAG,
        query=filters.TaskQuery,
        answers=shapes.StateCount,
    ),
    Route(
        method="GET",
        path="/v1/tasks/{id}",
        name="tasks_get",
        summary="Read a task, or wait until it is over",
        run=get_task,
        roles=_READ,
        tag=TAG,
        query=TaskRead,
        answers=shapes.Task | shapes.TaskSummary,
    ),
    Route(
        method="GET",
        path="/v1/tasks/{id}/timeline",
        name="tasks_timeline",
        summary="Tell what happened to a task, in order",
        run=get_timeline,
        roles=_READ,
        tag=TAG,
        answers=shapes.Timeline,
    ),
    Route(
        method="GET",
        path="/v1/tasks/{id}/attempts",
        name="tasks_attempts",
        summary="Tell which attempts of a task failed, and how",
        run=get_attempts,
        roles=_READ,
        tag=TAG,
        answers=shapes.Attempts,
    ),
    Route(
        method="GET",
        path="/v1/tasks/{id}/explain",
        name="tasks_explain",
        summary="Say why a task is where it is",
        run=explain_task,
        roles=_READ,
        tag=TAG,
        answers=shapes.Explanation,
    ),
    Route(
        method="PATCH",
        path="/v1/tasks/{id}",
        name="tasks_update",
        summary="Change a task that waits",
        run=update_task,
        roles=_OPERATE,
        tag=TAG,
        takes=TaskChange,
        answers=shapes.Task,
        codes=((409, "not_waiting"),),
        audit="task.update",
        example={"priority": 0, "tags": ["urgent"]},
    ),
    Route(
        method="POST",
        path="/v1/tasks/{id}/cancel",
        name="tasks_cancel",
        summary="Cancel a task, or ask it to stop if it runs",
        run=cancel_task,
        roles=roles(Role.SUBMIT, Role.OPERATE),
        tag=TAG,
        takes=CancelBody,
        answers=shapes.Cancelled,
        audit="task.cancel",
        example={"deadline": 60},
    ),
    Route(
        method="POST",
        path="/v1/tasks/{id}/retry",
        name="tasks_retry",
        summary="Run a failed or scheduled task at once",
        run=retry_task,
        roles=_OPERATE,
        tag=TAG,
        answers=shapes.Task,
        codes=((409, "not_retryable"),),
        audit="task.retry",
    ),
    Route(
        method="DELETE",
        path="/v1/tasks/{id}",
        name="tasks_delete",
        summary="Delete a task that is over, for good",
        run=delete_task,
        roles=roles(Role.ADMIN),
        tag=TAG,
        status=204,
        codes=((409, "not_finished"),),
        audit="task.delete",
    ),
)
