"""Actions are held by one node at a time, and what a run did is written down once (R5.3)."""

import asyncio
from typing import Any

from msgspec import structs

from rota.actions import Action, ActionState, Changes, Do, On
from rota.config import DAY, MINUTE
from rota.model import State, TaskFilter
from rota.store.base import Store
from tests.support.factories import NOW, Make


def action(make: Make, **fields: Any) -> Action:
    """An action that cancels what is in a queue."""
    defaults: dict[str, Any] = {
        "id": make.id(),
        "do": Do.CANCEL,
        "on": On.TASKS,
        "where": TaskFilter(states=(State.READY,), queue="sms"),
        "asked": {"queue": "sms"},
        "created_at": NOW,
        "created_by": "k7Q2M4XA9Z1B",
        "next_at": NOW,
    }
    return Action(**defaults | fields)


async def test_an_action_is_read_back_as_it_was_begun(store: Store, make: Make) -> None:
    """R5.3: with the reach of whoever began it."""
    begun = action(
        make,
        do=Do.AMEND,
        tenant="board",
        queues=("sms", "mail"),
        set=Changes(priority=0, tags=("a",), timeout=None),
        rate=12.5,
        reason="it's late",
        matched=7,
        capped=True,
        sample=(make.id(),),
        where=TaskFilter(kinds=("a", "b"), payload=(("student.id", '"17"'),), kind="a"),
    )

    assert await store.begin_action(begun)
    assert not await store.begin_action(begun)

    assert await store.action(begun.id) == begun
    assert await store.action(make.id()) is None
    assert await store.action("none") is None


async def test_actions_are_listed_as_far_as_a_key_reaches(store: Store, make: Make) -> None:
    """S2: the newest first; those that reach further are not shown."""
    reaches: list[tuple[str | None, tuple[str, ...] | None]] = [
        (None, None), ("board", None), ("board", ("sms",)), ("other", ("sms",)), (None, ("sms",))
    ]  # fmt: skip
    made = [action(make, tenant=tenant, queues=queues) for tenant, queues in reaches]
    for one in made:
        await store.begin_action(one)

    async def seen(tenant: str | None, queues: tuple[str, ...] | None = None) -> list[int]:
        found = await store.actions(tenant=tenant, queues=queues)
        return [made.index(one) for one in found]

    assert await seen(None) == [4, 3, 2, 1, 0]
    assert await seen("board") == [2, 1]
    assert await seen("board", ("sms", "mail")) == [2]
    assert await seen("board", ("mail",)) == []
    assert await seen(None, ("sms",)) == [4, 3, 2]
    page = await store.actions(before_id=made[3].id, limit=2)
    assert [made.index(one) for one in page] == [2, 1]


async def test_one_node_at_a_time_has_an_action_in_hand(
    store: Store, other: Store, make: Make
) -> None:
    """R5.3: racing nodes do not do the same run."""
    begun = action(make)
    await store.begin_action(begun)
    assert await store.next_action() == NOW

    held = await asyncio.gather(*(one.hold_action(NOW, NOW + MINUTE) for one in [store, other] * 4))

    (got,) = [one for one in held if one is not None]
    assert (got.id, got.hold) == (begun.id, 1)
    assert await store.next_action() == NOW + MINUTE
    again = await other.hold_action(NOW + MINUTE, NOW + 2 * MINUTE)
    assert again is not None
    assert again.hold == 2
    assert not await store.note_run(structs.replace(got, done=1000))
    assert await other.note_run(structs.replace(again, done=5, next_at=NOW))
    read = await store.action(begun.id)
    assert read is not None
    assert (read.done, await store.next_action()) == (5, NOW)


async def test_the_longest_due_goes_first_and_what_is_later_waits(store: Store, make: Make) -> None:
    """R5.3: throttled ones do not hold up the others."""
    later, first, second = (action(make, next_at=NOW + n) for n in (100, 1, 2))
    for one in (later, second, first):
        await store.begin_action(one)

    taken = [await store.hold_action(NOW + 50, NOW + MINUTE) for _ in range(3)]

    assert [one and one.id for one in taken] == [first.id, second.id, None]


async def test_what_was_stopped_stays_so_and_its_last_run_counts(store: Store, make: Make) -> None:
    """R5.3: a run that is under way ends, and is told."""
    begun = action(make)
    await store.begin_action(begun)
    held = await store.hold_action(NOW, NOW + MINUTE)
    assert held is not None

    assert await store.stop_action(begun.id, NOW + 1)
    assert not await store.stop_action(begun.id, NOW + 2)
    assert await store.note_run(
        structs.replace(
            held, done=10, changed=8, skipped={"too_late": 2}, after=make.id(), next_at=NOW
        )
    )

    read = await store.action(begun.id)
    assert read is not None
    assert (read.state, read.ended_at) == (ActionState.STOPPED, NOW + 1)
    assert (read.done, read.changed, read.skipped) == (10, 8, {"too_late": 2})
    assert await store.next_action() is None
    assert await store.hold_action(NOW + DAY, NOW + DAY) is None


async def test_actions_that_ended_are_forgotten_by_their_age(store: Store, make: Make) -> None:
    """R5.3: those that run never are."""
    runs, ended = action(make), action(make)
    for one in (runs, ended):
        await store.begin_action(one)
    await store.stop_action(ended.id, NOW)

    assert await store.prune_actions(NOW, 10) == 0
    assert await store.prune_actions(NOW + 1, 10) == 1
    assert [one.id for one in await store.actions()] == [runs.id]
