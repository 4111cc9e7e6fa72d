"""Tasks are found by what they are, newest first, page by page (R9.1, B170)."""

from typing import Any

import pytest

from rota.config import HOUR
from rota.model import NewTask, State, Task, TaskFilter
from rota.store.base import Store
from tests.conformance.steps import EVERY_TASK, bring
from tests.support.factories import LATER, NOW, Make

SCHEDULED, READY, RUNNING = State.SCHEDULED, State.READY, State.RUNNING
COMPLETED, CANCELLED, FAILED = State.COMPLETED, State.CANCELLED, State.FAILED

Stored = list[tuple[State, NewTask]]


async def one_of_each(store: Store, make: Make) -> Stored:
    """Two tasks in every state, in turn; every second one differs in all that can be filtered."""
    stored: Stored = []
    for n in range(2 * len(State)):
        state = list(State)[n % len(State)]
        run_at = LATER if state is SCHEDULED else NOW
        fields: dict[str, Any] = {"run_at": run_at}
        if n % 2:
            fields |= {"queue": "sms", "kind": "send_otp", "tenant": "board", "tags": ("a", "b")}
        if n % 4 >= 2:
            fields["created_at"] = NOW - HOUR
        if n % 4 == 3:
            fields |= {"tags": ("b",), "key": f"hold-{n}", "key_until": LATER}
        stored.append((state, make.task(**fields)))
    # Ready ones last: they would be taken for those that are made to run.
    for state, task in sorted(stored, key=lambda pair: pair[0] is READY):
        await bring(store, make, state, task)
    return stored


def expected(stored: Stored, where: TaskFilter) -> list[tuple[State, NewTask]]:
    """The filter as plain Python, newest first."""
    return [
        (state, task)
        for state, task in sorted(stored, key=lambda pair: pair[1].id, reverse=True)
        if (not where.states or state in where.states)
        and where.queue in (None, task.queue)
        and where.kind in (None, task.kind)
        and where.tenant in (None, task.tenant)
        and (where.tag is None or where.tag in task.tags)
        and where.key in (None, task.key)
        and (where.id_prefix is None or task.id.startswith(where.id_prefix))
        and (where.created_from is None or task.created_at >= where.created_from)
        and (where.created_to is None or task.created_at < where.created_to)
    ]


FILTERS = [
    EVERY_TASK,
    *(TaskFilter(states=(state,)) for state in State),
    TaskFilter(states=(READY, FAILED, COMPLETED)),
    TaskFilter(states=(RUNNING, SCHEDULED)),
    TaskFilter(queue="sms"),
    TaskFilter(queue="s"),
    TaskFilter(kind="send_otp"),
    TaskFilter(tenant="board"),
    TaskFilter(tenant=""),
    TaskFilter(tag="b"),
    TaskFilter(tag="a"),
    TaskFilter(tag="c"),
    TaskFilter(key="hold-3"),
    TaskFilter(key="hold-2"),
    TaskFilter(queue="sms", states=(READY,), tag="a"),
    TaskFilter(queue="default", kind="send_otp"),
    TaskFilter(created_from=NOW),
    TaskFilter(created_to=NOW),
    TaskFilter(created_from=NOW - HOUR, created_to=NOW + 1),
    TaskFilter(created_from=NOW - HOUR + 1, created_to=NOW),
    TaskFilter(created_from=NOW, queue="sms", states=(READY, FAILED)),
    TaskFilter(
        states=tuple(State), queue="sms", kind="send_otp", tenant="board", tag="b", key="hold-7"
    ),
]


def short(where: TaskFilter) -> str:
    """The fields that are set and their values, as the id of a test."""
    fields = {name: getattr(where, name) for name in where.__struct_fields__}
    wanted = {name: value for name, value in fields.items() if value not in (None, (), False)}
    return "-".join(
        f"{name}-{'-'.join(value) if isinstance(value, tuple) else value or 'none'}"
        for name, value in wanted.items()
    )


@pytest.mark.parametrize("where", FILTERS, ids=short)
async def test_every_field_of_a_filter_must_match(
    store: Store, make: Make, where: TaskFilter
) -> None:
    """R9.1: and a list and its count agree (invariant 8)."""
    stored = await one_of_each(store, make)
    wanted = expected(stored, where)

    found = await store.find(where)
    counted = await store.count(where, 1000)

    assert [(task.state, task.id) for task in found] == [(state, t.id) for state, t in wanted]
    assert await store.find_ids(where) == [task.id for task in found]
    states = [state for state, _ in wanted]
    assert counted == {state: states.count(state) for state in set(states)}


async def test_tasks_are_found_by_the_beginning_of_their_id(store: Store, make: Make) -> None:
    """R9.1: eight characters are what people type; an id is as good."""
    stored = await one_of_each(store, make)
    for length in (0, 1, 8, 13, 20, 36):
        where = TaskFilter(id_prefix=stored[4][1].id[:length])
        wanted = [task.id for _, task in expected(stored, where)]
        assert [task.id for task in await store.find(where)] == wanted
        assert sum((await store.count(where, 100)).values()) == len(wanted)
    for other in ("ffff", "%", "_"):
        assert await store.find(TaskFilter(id_prefix=other)) == []


async def test_a_found_task_is_the_whole_task(store: Store, make: Make) -> None:
    """R9.1: as `get` reads it."""
    await one_of_each(store, make)

    found = await store.find(EVERY_TASK)

    assert found == await store.get([task.id for task in found])


@pytest.mark.parametrize("limit", [1, 5, 7])
async def test_pages_meet_every_task_once(store: Store, make: Make, limit: int) -> None:
    """B170: keyset paging: a page costs the same however far down it is."""
    stored = await one_of_each(store, make)
    newer = make.id()

    met: list[Task] = []
    page = await store.find(EVERY_TASK, before_id=newer, limit=limit)
    while page:
        assert len(page) <= limit
        met += page
        page = await store.find(EVERY_TASK, before_id=met[-1].id, limit=limit)

    assert [task.id for task in met] == [task.id for _, task in reversed(stored)]


async def test_a_task_that_moves_between_pages_is_not_met_twice(store: Store, make: Make) -> None:
    """B170: pages go by id, and an id never changes."""
    stored = await one_of_each(store, make)
    first = await store.find(EVERY_TASK, limit=6)
    await store.cancel([task.id for task in first], LATER)
    await store.submit(make.tasks(3), NOW)

    rest = await store.find(EVERY_TASK, before_id=first[-1].id, limit=50)

    assert [task.id for task in [*first, *rest]] == [task.id for _, task in reversed(stored)]


async def test_a_filter_and_a_page_go_together(store: Store, make: Make) -> None:
    """B170."""
    stored = await one_of_each(store, make)
    where = TaskFilter(queue="sms")
    wanted = [task.id for _, task in expected(stored, where)]

    page = await store.find(where, before_id=wanted[1], limit=3)

    assert [task.id for task in page] == wanted[2:5]
    assert await store.find_ids(where, before_id=wanted[1], limit=3) == wanted[2:5]


async def test_a_page_is_fifty_tasks_unless_asked_otherwise(store: Store, make: Make) -> None:
    """B170: nobody reads a million by accident."""
    await store.submit(make.tasks(60), NOW)

    assert len(await store.find(EVERY_TASK)) == len(await store.find_ids(EVERY_TASK)) == 50


async def test_counts_stop_at_their_cap_state_by_state(store: Store, make: Make) -> None:
    """B170: a count costs no more than its cap."""
    await store.submit(make.tasks(30), NOW)
    await store.submit(make.tasks(12, run_at=LATER), NOW)
    await bring(store, make, FAILED, make.task(queue="sms"))

    assert await store.count(EVERY_TASK, 20) == {READY: 20, SCHEDULED: 12, FAILED: 1}
    assert await store.count(TaskFilter(states=(SCHEDULED,)), 5) == {SCHEDULED: 5}
    assert await store.count(TaskFilter(queue="sms"), 20) == {FAILED: 1}
    assert await store.count(TaskFilter(queue="none"), 20) == {}
