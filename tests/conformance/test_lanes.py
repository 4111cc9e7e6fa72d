"""Lanes with work are found in tenant order from the claimer's own cursor (R7.3)."""

import pytest

from rota.model import Claimed, Lane, Look, NewTask, PriorityClass, Share, State
from rota.store.base import Store
from tests.conformance.steps import bring, open_worker, take, take_shares
from tests.support.factories import LANE, LATER, NOW, Make, again, failed, handed_back, lane_of

NORMAL = PriorityClass.NORMAL


def lanes(*tenants: str, queue: str = "default", cls: PriorityClass = NORMAL) -> list[Lane]:
    return [Lane(queue, cls, tenant) for tenant in tenants]


def look(after: str | None = None, *, inclusive: bool = False) -> Look:
    return Look("default", NORMAL, after, inclusive)


async def submit_for(store: Store, make: Make, *tenants: str) -> None:
    await store.submit([make.task(tenant=tenant) for tenant in tenants], NOW)


@pytest.mark.parametrize(
    ("where", "limit", "expected"),
    [
        (look(), 10, "abcd"),
        (look(), 2, "ab"),
        (look(None, inclusive=True), 3, "abc"),
        (look("a"), 10, "bcda"),
        (look("b"), 10, "cdab"),
        (look("b"), 1, "c"),
        (look("b"), 3, "cda"),
        (look("b", inclusive=True), 10, "bcda"),
        (look("b", inclusive=True), 1, "b"),
        (look("d"), 2, "ab"),
        (look("d", inclusive=True), 2, "da"),
        (look("bb"), 10, "cdab"),
        (look("bb", inclusive=True), 2, "cd"),
        (look("z"), 10, "abcd"),
        (look(""), 10, "abcd"),
    ],
)
async def test_lanes_follow_the_cursor_and_wrap_round_once(
    store: Store, make: Make, where: Look, limit: int, expected: str
) -> None:
    """R7.3: round robin straight from the index; nobody is met twice, nobody is left out."""
    await submit_for(store, make, *"dbcaab")

    assert (await store.lanes([where], limit)).lanes == lanes(*expected)


async def test_the_only_tenant_comes_after_itself(store: Store, make: Make) -> None:
    """R7.3: a cursor on the only lane with work must not hide it."""
    await submit_for(store, make, "board")

    assert (await store.lanes([look("board")], 5)).lanes == lanes("board")


async def test_the_tenant_without_a_name_is_a_tenant(store: Store, make: Make) -> None:
    """R7.3: `""` comes first, and comes round again."""
    await submit_for(store, make, "", "a")

    assert (await store.lanes([look()], 5)).lanes == lanes("", "a")
    assert (await store.lanes([look("")], 5)).lanes == lanes("a", "")
    assert (await store.lanes([look("", inclusive=True)], 1)).lanes == lanes("")


async def test_each_class_and_each_queue_has_its_own_lanes(store: Store, make: Make) -> None:
    """R7.1: priorities 0, 1-3, 4-6 and 7-10; answers come look by look."""
    for queue in ("mail", "sms"):
        tasks = [
            make.task(queue=queue, priority=priority, tenant=f"{queue}-{priority}")
            for priority in range(11)
        ]
        await store.submit(tasks, NOW)
    looks = [Look(queue, cls) for queue in ("sms", "mail") for cls in reversed(PriorityClass)]

    found = (await store.lanes(looks, 20)).lanes

    expected = [
        Lane(queue, cls, tenant)
        for queue in ("sms", "mail")
        for cls in reversed(PriorityClass)
        for tenant in sorted(f"{queue}-{n}" for n in range(11) if PriorityClass.of(n) is cls)
    ]
    assert found == expected


async def test_every_look_has_a_cursor_and_the_limit_to_itself(store: Store, make: Make) -> None:
    """R7.3: one round trip asks for all queues and classes."""
    await submit_for(store, make, *"abc")
    await store.submit([make.task(queue="sms", tenant=tenant) for tenant in "xyz"], NOW)
    looks = [
        Look("sms", NORMAL, "y"),
        Look("fax", NORMAL),
        Look("default", NORMAL, "a"),
        Look("default", PriorityClass.LOW),
    ]

    found = (await store.lanes(looks, 2)).lanes

    assert found == [*lanes("z", "x", queue="sms"), *lanes("b", "c")]


async def test_nothing_to_look_for_finds_nothing(store: Store, make: Make) -> None:
    """R7.3."""
    await submit_for(store, make, "a")

    assert (await store.lanes([], 5)).lanes == []
    assert (await store.lanes([Look("other", NORMAL)], 5)).lanes == []


@pytest.mark.parametrize("state", [state for state in State if state is not State.READY])
async def test_only_ready_tasks_make_a_lane(store: Store, make: Make, state: State) -> None:
    """R7.3: a claim is not sent where nothing can be taken."""
    await bring(store, make, state)

    assert (await store.lanes([look()], 5)).lanes == []


async def test_a_lane_is_there_as_long_as_it_has_a_ready_task(store: Store, make: Make) -> None:
    """R7.3: it goes with the last one and comes back with one that is handed back."""
    session = await open_worker(store, make)
    await submit_for(store, make, "", "")

    (first,) = await take(store, session, 1)
    assert (await store.lanes([look()], 5)).lanes == [LANE]

    await take(store, session, 1)
    assert (await store.lanes([look()], 5)).lanes == []

    await store.finish(session, [handed_back(first)], NOW)
    assert (await store.lanes([look()], 5)).lanes == [LANE]


async def test_a_task_stands_in_the_lane_of_its_class_however_it_became_ready(
    store: Store, make: Make
) -> None:
    """R7.1: staged, handed back, tried again, replayed."""
    tasks = [make.task(priority=n, tenant=f"{n}", run_at=LATER) for n in range(11)]
    await store.submit(tasks, NOW)
    session = await open_worker(store, make, at=LATER)
    everywhere = [Look("default", cls) for cls in PriorityClass]
    expected = [
        lane_of(task) for task in sorted(tasks, key=lambda task: (lane_of(task).cls, task.tenant))
    ]

    async def found_and_taken() -> list[Claimed]:
        found = (await store.lanes(everywhere, 20)).lanes
        assert found == expected
        return await take_shares(store, session, [Share(lane, 1) for lane in found], now=LATER)

    await store.stage(LATER, 100)
    held = await found_and_taken()
    await store.finish(session, [handed_back(task, LATER) for task in held], LATER)
    held = await found_and_taken()
    await store.finish(session, [again(task, LATER) for task in held], LATER)
    await store.stage(LATER, 100)
    held = await found_and_taken()
    await store.finish(session, [failed(task) for task in held], LATER)
    await store.retry([task.id for task in tasks], LATER)
    held = await found_and_taken()
    await store.finish(session, [again(task, LATER * 2) for task in held], LATER)
    await store.retry([task.id for task in tasks], LATER)
    assert len(await found_and_taken()) == 11


async def test_a_walk_with_the_cursor_meets_every_tenant_once_a_round(
    store: Store, make: Make
) -> None:
    """R7.3: whatever the tenants' names, and whatever order the store keeps them in."""
    names = [
        *(f"school-{n}" for n in range(300)),
        *(
            "",
            " ",
            "A",
            "a",
            "B",
            "b",
            "ä",
            "z",
            "Z",
            "学生",
            "a b",
            "a-b",
            "a_b",
            "%",
            "\U0001f600",
        ),
    ]
    await submit_for(store, make, *names)
    await store.submit([make.task(run_at=LATER, tenant="not due")], NOW)

    met: list[str] = []
    after: str | None = None
    while len(met) < len(names):
        found = (await store.lanes([look(after)], 7)).lanes
        met += [lane.tenant for lane in found]
        after = met[-1]

    assert sorted(met[: len(names)]) == sorted(names)
    assert met[: len(names)] == [lane.tenant for lane in (await store.lanes([look()], 1000)).lanes]


async def test_what_stands_before_a_task_in_its_lane_is_counted(store: Store, make: Make) -> None:
    """R7.8: in rank order, then by id; up to a cap; 0 for what stands in no lane."""
    first, *same = make.task(run_at=NOW - 1), *make.tasks(4)
    late = make.task(run_at=LATER)
    strangers = [make.task(tenant="a"), make.task(queue="sms"), make.task(priority=0)]
    await store.submit([first, *same, late, *strangers], NOW)

    async def ahead(*tasks: NewTask, cap: int = 100) -> list[int]:
        return [await store.ahead(task.id, cap) for task in tasks]

    assert await ahead(first, *same, *strangers) == [0, 1, 2, 3, 4, 0, 0, 0]
    assert await ahead(*same, cap=2) == [1, 2, 2, 2]
    assert await ahead(late) == [0]
    assert await store.ahead(make.id(), 10) == 0
    session = await open_worker(store, make)
    running, asked = await take(store, session, 2)
    await store.cancel([asked.id], NOW)
    await store.finish(session, [handed_back(asked)], NOW)
    assert await ahead(first, *same) == [0, 0, 0, 1, 2]
    assert running.id == first.id
