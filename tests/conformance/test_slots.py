"""What became of each slot can be read, until it is old: a task, or why there is none (R6.5)."""

import pytest

from rota.config import DAY, KEEP_SLOTS, MINUTE
from rota.model import State
from rota.schedule import Schedule, Skip, Slot, SlotState
from rota.store.base import Store
from tests.conformance.steps import counts
from tests.support.factories import NOW, Make, kept
from tests.support.places import Place
from tests.support.schedules import (
    NO_GATE,
    edited,
    firing,
    missed,
    read,
    runs_of,
    slot,
    stored,
)


async def fire(
    store: Store, make: Make, schedule: Schedule, *at: int, skips: tuple[Skip, ...] = (), now: int
) -> None:
    """Fire from whatever state the schedule is in."""
    seen = await read(store, schedule)
    upto = max(*at, *(skip.last for skip in skips), seen.cursor, seen.cursor)
    wanted = firing(make, seen, *at, skips=skips, upto=upto, **NO_GATE)
    assert await store.fire([wanted], now) == [True]


async def test_runs_and_skips_are_one_list_the_newest_first(store: Store, make: Make) -> None:
    """R6.5: nothing disappears silently."""
    schedule, other = await stored(store, make), await stored(store, make, "other")
    await fire(store, make, other, slot(3), now=slot(3))
    await fire(store, make, schedule, slot(0), now=slot(0))
    await fire(store, make, schedule, skips=(missed(slot(1), slot(1), SlotState.GAP),), now=slot(1))
    overlap = Skip(slot(3), slot(4), 2, SlotState.OVERLAP)
    await fire(store, make, schedule, slot(2), slot(5), skips=(overlap,), now=slot(5))
    many = Skip(slot(6), slot(20_006), None, SlotState.MISSED)
    await fire(store, make, schedule, slot(20_007), skips=(many,), now=slot(20_007))

    found = await store.slots(schedule.id, None, 100)

    assert [(one.slot, one.state, one.at, one.last, one.count) for one in found] == [
        (slot(20_007), SlotState.FIRED, slot(20_007), None, 1),
        (slot(6), SlotState.MISSED, slot(20_007), slot(20_006), None),
        (slot(5), SlotState.FIRED, slot(5), None, 1),
        (slot(3), SlotState.OVERLAP, slot(5), slot(4), 2),
        (slot(2), SlotState.FIRED, slot(5), None, 1),
        (slot(1), SlotState.GAP, slot(1), None, 1),
        (slot(0), SlotState.FIRED, slot(0), None, 1),
    ]
    tasks = await store.get([one.task_id for one in found if one.task_id is not None])
    assert [task and task.slot for task in tasks] == [slot(20_007), slot(5), slot(2), slot(0)]


async def test_slots_are_read_page_by_page(store: Store, make: Make) -> None:
    """R6.8: keyset, so that a page costs the same however far back it lies."""
    schedule = await stored(store, make)
    for n in range(0, 40, 4):
        skips = (missed(slot(n + 1), slot(n + 3)),)
        await fire(store, make, schedule, slot(n), skips=skips, now=slot(n + 3))

    pages: list[list[Slot]] = []
    before = None
    while page := await store.slots(schedule.id, before, 7):
        pages.append(page)
        before = page[-1].slot

    assert [len(page) for page in pages] == [7, 7, 6]
    whole = await store.slots(schedule.id, None, 100)
    assert [one for page in pages for one in page] == whole
    assert [one.slot for one in whole] == [slot(n + k) for n in range(36, -1, -4) for k in (1, 0)]
    assert [one.slot for one in await store.slots(schedule.id, slot(8), 2)] == [slot(5), slot(4)]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
async def test_a_page_does_not_end_between_two_that_share_an_instant(
    store: Store, make: Make, limit: int
) -> None:
    """R6.8: a slot that was skipped and made later, by hand, is told of twice."""
    schedule = await stored(store, make)
    skips = (missed(slot(0), slot(2)), missed(slot(3), slot(5)))
    await fire(store, make, schedule, skips=skips, now=slot(5))
    by_hand = runs_of(make, schedule, slot(0), slot(3), **NO_GATE)
    assert await store.fire_extra(schedule.id, by_hand, slot(6), slots=True) == [True, True]

    found: list[Slot] = []
    while page := await store.slots(schedule.id, found[-1].slot if found else None, limit):
        found += page

    assert [(one.slot, one.state, one.backfilled) for one in found] == [
        (slot(3), SlotState.FIRED, True),
        (slot(3), SlotState.MISSED, False),
        (slot(0), SlotState.FIRED, True),
        (slot(0), SlotState.MISSED, False),
    ]


async def test_what_a_schedule_has_skipped_is_the_sum_of_what_is_listed(
    store: Store, make: Make
) -> None:
    """R6.5: by firings and by changes alike."""
    schedule = await stored(store, make)
    await fire(store, make, schedule, slot(0), skips=(missed(slot(1), slot(4)),), now=slot(4))
    seen = await read(store, schedule)
    pause = missed(slot(5), slot(9), SlotState.PAUSED)
    resumed = edited(seen, cursor=slot(9))
    assert await store.change_schedule(resumed, seen.version, seen.cursor, [pause])
    await fire(store, make, schedule, slot(11), skips=(missed(slot(10), slot(10)),), now=slot(11))

    after = await read(store, schedule)

    listed = await store.slots(schedule.id, None, 100)
    assert after.skipped == sum(one.count or 0 for one in listed if one.task_id is None) == 10
    assert after.fired == sum(one.task_id is not None for one in listed) == 2


# -- pruning ------------------------------------------------------------------------------------


async def test_what_became_of_slots_goes_when_it_is_old(store: Store, make: Make) -> None:
    """B148: by when it was decided; an old slot that was backfilled of late is still known."""
    schedule = await stored(store, make)
    await fire(store, make, schedule, slot(0), skips=(missed(slot(1), slot(2)),), now=slot(2))
    late = NOW + KEEP_SLOTS
    await fire(store, make, schedule, slot(3), skips=(missed(slot(4), slot(5)),), now=late)
    old = runs_of(make, schedule, slot(-9), **NO_GATE)
    assert await store.fire_extra(schedule.id, old, late, slots=True) == [True]
    before = await read(store, schedule)

    await store.prune(slot(2) + KEEP_SLOTS, kept(DAY), 100)
    assert len(await store.slots(schedule.id, None, 100)) == 5
    pruned = await store.prune(slot(2) + KEEP_SLOTS + 1, kept(DAY), 100)

    assert pruned == 0
    listed = await store.slots(schedule.id, None, 100)
    assert [one.slot for one in listed] == [slot(4), slot(3), slot(-9)]
    assert await read(store, schedule) == before
    assert await counts(store) == {State.READY: 3}
    again = runs_of(make, schedule, slot(-9), **NO_GATE)
    assert await store.fire_extra(schedule.id, again, late, slots=True) == [False]


async def test_slots_go_in_small_steps(place: Place, store: Store, make: Make) -> None:
    """F56: no step holds up the live tasks for long; the steps come to an end."""
    schedule = await stored(store, make)
    skips = tuple(missed(slot(n), slot(n)) for n in range(200, 400))
    await fire(store, make, schedule, *(slot(n) for n in range(200)), skips=skips, now=slot(400))
    at = slot(400) + KEEP_SLOTS + MINUTE

    left = []
    for _ in range(5):
        await store.prune(at, kept(DAY), 60)
        rows = await place.rows("select count(*) from slot union all select count(*) from skip")
        left.append([count for (count,) in rows])

    assert left == [[140, 140], [80, 80], [20, 20], [0, 0], [0, 0]]
