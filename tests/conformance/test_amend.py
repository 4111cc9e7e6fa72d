"""What waits can be changed: its priority, queue, time, time limit and tags (R5.4)."""

import asyncio
from typing import Any

import pytest

from rota.actions import AmendOutcome, Changes, DeleteOutcome, Moved, Placed
from rota.config import HOUR, MINUTE
from rota.model import Micros, NewTask, State, rank_of
from rota.store.base import Store
from tests.conformance.steps import EVERY_TASK, bring, one, open_worker, take
from tests.support.factories import LATER, NOW, Make

DONE, NOT_WAITING, NOT_FOUND = AmendOutcome.DONE, AmendOutcome.NOT_WAITING, AmendOutcome.NOT_FOUND
NOTHING = Changes()


def seen(task: NewTask) -> Placed:
    """The place at which a task was seen."""
    return Placed(task.id, task.queue, task.priority, task.run_at)


def moved(task: NewTask, **fields: Any) -> Moved:
    """A task's new place: where it is, but for what is given."""
    run_at: Micros = fields.get("run_at", task.run_at)
    priority: int = fields.get("priority", task.priority)
    queue: str = fields.get("queue", task.queue)
    return Moved(seen(task), queue, priority, run_at, rank_of(run_at, priority))


async def test_a_task_that_waits_says_where(store: Store, make: Make) -> None:
    """R5.4: running ones and what is over do not wait."""
    tasks = {state: await bring(store, make, state) for state in (State.SCHEDULED, State.COMPLETED)}
    running = await bring(store, make, State.RUNNING)
    failed = await bring(store, make, State.FAILED)
    ready = await bring(store, make, State.READY)
    ids = [*(task.id for task in tasks.values()), running.id, failed.id, ready.id, make.id(), "x"]

    assert await store.placed(ids) == [
        seen(tasks[State.SCHEDULED]),
        *[NOT_WAITING] * 3,
        seen(ready),
        NOT_FOUND,
        NOT_FOUND,
    ]


@pytest.mark.parametrize("state", [State.SCHEDULED, State.READY])
async def test_what_waits_takes_on_every_change(store: Store, make: Make, state: State) -> None:
    """R5.4, R7.2: its rank and class go with its priority."""
    task = await bring(store, make, state)
    changes = Changes(timeout=MINUTE, tags=("urgent", "vip"))

    assert await store.amend([moved(task, queue="sms", priority=0)], changes, NOW) == [DONE]

    now = await one(store, task.id)
    assert (now.state, now.queue, now.priority) == (state, "sms", 0)
    assert (now.timeout, now.tags, now.run_at) == (MINUTE, ("urgent", "vip"), task.run_at)
    assert (await store.placed([task.id])) == [Placed(task.id, "sms", 0, task.run_at)]
    assert await store.amend([moved(task, queue="sms")], NOTHING, NOW) == [None]


async def test_a_new_time_decides_where_a_task_waits(store: Store, make: Make) -> None:
    """R5.4: both ways, and it is handed out under its new place."""
    now_due = await bring(store, make, State.SCHEDULED)
    put_off = await bring(store, make, State.READY)
    moves = [moved(now_due, run_at=NOW, queue="default"), moved(put_off, run_at=LATER)]

    assert await store.amend(moves, NOTHING, NOW) == [DONE, DONE]

    assert (await one(store, now_due.id)).state is State.READY
    later = await one(store, put_off.id)
    assert (later.state, later.run_at) == (State.SCHEDULED, LATER)
    session = await open_worker(store, make)
    assert [task.id for task in await take(store, session)] == [now_due.id]


async def test_tags_and_the_time_limit_can_be_taken_away(store: Store, make: Make) -> None:
    """R5.4: null is a change, absence is none."""
    task = await bring(store, make, State.READY, make.task(tags=("a",), timeout=MINUTE))

    await store.amend([moved(task)], NOTHING, NOW)
    assert (await one(store, task.id)).tags == ("a",)
    await store.amend([moved(task)], Changes(tags=(), timeout=None), NOW)

    now = await one(store, task.id)
    assert (now.tags, now.timeout) == ((), None)


async def test_what_has_a_gate_stays_behind_it(store: Store, make: Make) -> None:
    """R7.4: no change of a time leads past a gate."""
    waits = make.task(run_at=LATER, concurrency_key="student-1", max_concurrency=1)
    inside = make.task(concurrency_key="student-2", max_concurrency=1)
    await store.submit([waits, inside], NOW)
    await store.stage(NOW, 10)
    assert (await one(store, inside.id)).state is State.READY

    moves = [moved(waits, run_at=NOW), moved(inside, run_at=LATER)]
    assert await store.amend(moves, NOTHING, NOW) == [DONE, DONE]

    due = await one(store, waits.id)
    assert (due.state, due.at_gate, due.run_at) == (State.SCHEDULED, False, NOW)
    out = await one(store, inside.id)
    assert (out.state, out.concurrency_key) == (State.SCHEDULED, "student-2")
    assert (await store.stage(NOW, 10)).moved == 1
    assert (await one(store, waits.id)).state is State.READY


async def test_what_waits_at_its_gate_can_be_put_off(store: Store, make: Make) -> None:
    """R7.4: it comes to the gate again when it is due."""
    tasks = make.tasks(2, concurrency_key="student-1", max_concurrency=1)
    await store.submit(tasks, NOW)
    await store.stage(NOW, 10)
    (waits,) = [task for task in tasks if (await one(store, task.id)).at_gate]

    assert await store.amend([moved(waits, run_at=LATER)], NOTHING, NOW) == [DONE]

    assert not (await one(store, waits.id)).at_gate
    await store.stage(LATER, 10)
    assert (await one(store, waits.id)).at_gate


@pytest.mark.parametrize(
    "state", [State.RUNNING, State.COMPLETED, State.CANCELLED, State.FAILED], ids=str
)
async def test_what_does_not_wait_is_left_alone(store: Store, make: Make, state: State) -> None:
    """R5.4: the answer says so."""
    task = await bring(store, make, state)
    before = await one(store, task.id)

    answers = await store.amend([moved(task, queue="sms", run_at=LATER)], NOTHING, NOW)

    assert answers == [NOT_WAITING]
    assert await one(store, task.id) == before
    assert await store.amend([moved(make.task())], NOTHING, NOW) == [NOT_FOUND]


async def test_two_changes_at_once_do_not_undo_each_other(
    store: Store, other: Store, make: Make
) -> None:
    """R5.4: one of them is told to look again."""
    task = await bring(store, make, State.READY)

    answers = await asyncio.gather(
        store.amend([moved(task, queue="sms")], NOTHING, NOW),
        other.amend([moved(task, priority=0)], NOTHING, NOW),
    )

    assert sorted(str(answer) for (answer,) in answers) == ["None", "done"]


async def test_a_thousand_are_changed_at_once(store: Store, make: Make) -> None:
    """R5.3: one run of an action is one call."""
    tasks = [*make.tasks(500), *make.tasks(500, run_at=LATER)]
    await store.submit(tasks, NOW)

    answers = await store.amend([moved(t, run_at=NOW + HOUR) for t in tasks], NOTHING, NOW)

    assert answers == [DONE] * 1000
    assert {task.state for task in await store.find(EVERY_TASK, limit=1000)} == {State.SCHEDULED}


async def test_what_is_over_can_be_deleted_and_nothing_else(store: Store, make: Make) -> None:
    """R5.4: dead letters among it."""
    others = [state for state in State if state is not State.READY]
    made: dict[State, NewTask] = {state: await bring(store, make, state) for state in others}
    made[State.READY] = await bring(store, make, State.READY)
    over = {State.COMPLETED, State.CANCELLED, State.FAILED}
    ids = [task.id for task in made.values()]

    answers = await store.delete([*ids, make.id(), "x"])

    done, refused = DeleteOutcome.DONE, DeleteOutcome.NOT_FINISHED
    assert answers == [
        *(done if state in over else refused for state in made),
        *[DeleteOutcome.NOT_FOUND] * 2,
    ]
    left = [task is not None for task in await store.get(ids)]
    assert left == [state not in over for state in made]
