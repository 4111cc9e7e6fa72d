"""Dead letters that failed alike are found together and counted together (R4.4)."""

from typing import Any

import msgspec
import pytest

from rota.config import HOUR, MINUTE
from rota.model import DeadLetterGroup, NewTask, State, TaskFilter
from rota.orders import GroupOrder
from rota.store.base import Store
from tests.conformance.steps import bring, one, open_worker, take
from tests.support.factories import LATER, NOW, Make, error, failed, lane_of

THEN = LATER + 7
HOUR_OF = NOW - NOW % HOUR
DAWN = HOUR_OF - 23 * HOUR
"""Where the last day of `NOW` begins."""
FAILED = TaskFilter(states=(State.FAILED,))
TIMEOUT = {"group": "aaaa", "error_type": "Timeout", "error_shape": "after <n> s"}
REFUSED = {"group": "bbbb", "error_type": "Refused", "error_shape": "no <text>"}
WHY = "5 of 5 attempts"
BROKEN = {"group": "cccc", "error_type": "Timeout", "error_shape": ""}


async def fail(store: Store, make: Make, task: NewTask, at: int, **alike: str) -> str:
    """Bring a task among the dead letters at an instant, in a group."""
    await store.submit([task], NOW)
    session = await open_worker(store, make, at=at)
    (claimed,) = await take(store, session, lane=lane_of(task), now=at)
    await store.finish(session, [failed(claimed, error(), **alike)], at)
    return task.id


async def some_groups(store: Store, make: Make) -> list[str]:
    """Three dead letters that timed out, two that were refused, one that broke."""
    plan: list[tuple[dict[str, str], dict[str, Any]]] = [
        (TIMEOUT, {}),
        (REFUSED, {"tenant": "board"}),
        (TIMEOUT, {"queue": "sms", "tags": ("results",)}),
        (BROKEN, {"kind": "send_otp"}),
        (REFUSED, {}),
        (TIMEOUT, {"created_at": NOW - HOUR}),
    ]
    return [
        await fail(store, make, make.task(**fields), NOW + n * MINUTE, **alike)
        for n, (alike, fields) in enumerate(plan)
    ]


async def test_dead_letters_are_grouped_by_how_they_failed(store: Store, make: Make) -> None:
    """R4.4: the largest group first; each with its first, its last and its newest."""
    ids = await some_groups(store, make)

    assert await store.groups(TaskFilter(), 10, since=DAWN) == [
        DeadLetterGroup(
            "aaaa",
            "send_result",
            "Timeout",
            "after <n> s",
            3,
            NOW,
            NOW + 5 * MINUTE,
            ids[5],
            WHY,
            {"": 3},
            {HOUR_OF: 3},
        ),
        DeadLetterGroup(
            "bbbb",
            "send_result",
            "Refused",
            "no <text>",
            2,
            NOW + MINUTE,
            NOW + 4 * MINUTE,
            ids[4],
            WHY,
            {"": 1, "board": 1},
            {HOUR_OF: 2},
        ),
        DeadLetterGroup(
            "cccc",
            "send_otp",
            "Timeout",
            "",
            1,
            NOW + 3 * MINUTE,
            NOW + 3 * MINUTE,
            ids[3],
            WHY,
            {"": 1},
            {HOUR_OF: 1},
        ),
    ]
    assert [group.id for group in await store.groups(TaskFilter(), 2, since=DAWN)] == [
        "aaaa",
        "bbbb",
    ]
    latest = await store.groups(TaskFilter(created_from=NOW), 2, GroupOrder.LAST_AT, since=DAWN)
    assert [group.id for group in latest] == ["bbbb", "cccc"]
    board = await store.groups(TaskFilter(tenant="board"), 2, GroupOrder.LAST_AT, since=DAWN)
    assert [(group.id, group.by_tenant) for group in board] == [("bbbb", {"board": 1})]


async def test_a_group_tells_when_its_dead_letters_failed(store: Store, make: Make) -> None:
    """R4.4: by the hour since an instant; what failed before is counted and has no hour."""
    for minutes in (-200, -61, -60, -1, 0, 1, 59, 60):
        await fail(store, make, make.task(), HOUR_OF + minutes * MINUTE, **TIMEOUT)

    (group,) = await store.groups(TaskFilter(), 10, since=HOUR_OF - HOUR)

    assert (group.count, group.by_tenant) == (8, {"": 8})
    assert group.by_hour == {HOUR_OF - HOUR: 2, HOUR_OF: 3, HOUR_OF + HOUR: 1}
    (lately,) = await store.groups(TaskFilter(finished_from=HOUR_OF), 10, since=HOUR_OF - HOUR)
    assert (lately.count, lately.by_hour) == (4, {HOUR_OF: 3, HOUR_OF + HOUR: 1})


async def test_a_group_names_the_tenants_with_the_most_of_it(store: Store, make: Make) -> None:
    """R4.4: twenty of them, however many there are."""
    for n in range(24):
        await fail(store, make, make.task(tenant=f"t{n % 22:02}"), NOW + n * MINUTE, **TIMEOUT)

    (group,) = await store.groups(TaskFilter(), 10, since=DAWN)

    assert group.count == 24
    named = {"t00": 2, "t01": 2} | {f"t{n:02}": 1 for n in range(2, 20)}
    assert group.by_tenant == named


@pytest.mark.parametrize(
    ("where", "sizes"),
    [
        (TaskFilter(tenant="board"), {"bbbb": 1}),
        (TaskFilter(queue="sms"), {"aaaa": 1}),
        (TaskFilter(tag="results"), {"aaaa": 1}),
        (TaskFilter(kind="send_otp"), {"cccc": 1}),
        (TaskFilter(error_type="Timeout"), {"aaaa": 3, "cccc": 1}),
        (TaskFilter(group="bbbb"), {"bbbb": 2}),
        (TaskFilter(created_from=NOW), {"aaaa": 2, "bbbb": 2, "cccc": 1}),
        (TaskFilter(created_to=NOW), {"aaaa": 1}),
        (FAILED, {"aaaa": 3, "bbbb": 2, "cccc": 1}),
        (TaskFilter(states=(State.READY,)), {}),
        (TaskFilter(queue="sms", kind="send_otp"), {}),
    ],
)
async def test_groups_and_search_go_by_the_same_filter(
    store: Store, make: Make, where: TaskFilter, sizes: dict[str, int]
) -> None:
    """R4.4, invariant 8: a group's count is what a search for it finds."""
    await some_groups(store, make)

    found = await store.groups(where, 10, since=DAWN)

    assert {group.id: group.count for group in found} == sizes
    for group, size in sizes.items():
        narrowed = msgspec.structs.replace(where, group=group)
        tasks = await store.find(narrowed)
        assert [task.group for task in tasks] == [group] * size
        assert await store.count(narrowed, 10) == {State.FAILED: size}
        assert await store.find_ids(narrowed) == [task.id for task in tasks]


async def test_a_group_counts_what_is_still_to_be_dealt_with(store: Store, make: Make) -> None:
    """R4.4: replayed, retried and discarded ones are not; the newest that is left is shown."""
    ids = await some_groups(store, make)

    await store.replay([ids[5]], [make.id()], THEN)
    await store.retry([ids[3]], THEN)
    await store.discard([ids[1], ids[4]], "old", THEN)

    (group,) = await store.groups(TaskFilter(), 10, since=DAWN)
    assert (group.id, group.count, group.sample) == ("aaaa", 2, ids[2])
    assert (group.first_at, group.last_at) == (NOW, NOW + 2 * MINUTE)
    await store.restore([ids[1]])
    assert [group.count for group in await store.groups(TaskFilter(), 10, since=DAWN)] == [2, 1]


async def test_only_dead_letters_have_a_group(store: Store, make: Make) -> None:
    """R4.4: nothing else is found by how it failed, and a copy has failed at nothing yet."""
    letter = (await bring(store, make, State.FAILED)).id
    group = (await one(store, letter)).group
    await store.replay([letter], [make.id()], NOW)
    for state in (State.COMPLETED, State.CANCELLED):
        await bring(store, make, state, make.task(queue="other", run_at=NOW))

    assert await store.find_ids(TaskFilter(group=group)) == [letter]
    assert await store.find_ids(TaskFilter(error_type="ConnectionError")) == [letter]
    assert await store.count(TaskFilter(group=group), 10) == {State.FAILED: 1}
