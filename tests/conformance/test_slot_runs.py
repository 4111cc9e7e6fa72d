"""What became of the slots of many schedules, and of their tasks, is one read (R6.8)."""

from rota.model import State
from rota.schedule import SlotRun, SlotState
from rota.store.base import Store
from tests.conformance.steps import open_worker, take
from tests.conformance.test_slots import fire
from tests.support.factories import NOW, Make, completed, lane_of
from tests.support.schedules import NO_GATE, missed, runs_of, slot, stored, task_of

NOBODY = "01890a5d-ac96-7b7c-8000-00000000dead"


def told(runs: list[SlotRun]) -> list[tuple[int, SlotState, State | None]]:
    """What is told of each slot."""
    return [(one.slot.slot, one.slot.state, one.state) for one in runs]


async def test_slots_of_many_schedules_come_with_their_tasks(store: Store, make: Make) -> None:
    """R6.8: in the order asked for, the newest first; of one that is not there nothing."""
    first, second = await stored(store, make), await stored(store, make, "other")
    quiet = await stored(store, make, "quiet")
    await fire(store, make, first, slot(0), now=slot(0))
    await fire(store, make, first, skips=(missed(slot(1), slot(3)),), now=slot(3))
    session = await open_worker(store, make, slot(3))
    lane = lane_of(task_of(make, first, slot(0)))
    (claimed,) = await take(store, session, lane=lane, now=slot(3))
    await fire(store, make, second, slot(5), now=slot(5))

    found = await store.slot_runs([second.id, NOBODY, quiet.id, first.id], None, 30)

    assert [told(runs) for runs in found] == [
        [(slot(5), SlotState.FIRED, State.READY)],
        [],
        [],
        [(slot(1), SlotState.MISSED, None), (slot(0), SlotState.FIRED, State.RUNNING)],
    ]
    run = found[3][1]
    assert (run.slot.task_id, run.started_at, run.attempt) == (claimed.id, slot(3), 1)
    assert run.finished_at is None
    assert await store.slot_runs([], None, 30) == []


async def test_each_schedule_shows_no_more_than_asked_for(store: Store, make: Make) -> None:
    """One that fires every second does not push out the others; pages go on as those of one do."""
    busy, rare = await stored(store, make), await stored(store, make, "rare")
    await fire(store, make, busy, *(slot(n) for n in range(9)), now=slot(9))
    await fire(store, make, rare, slot(1), now=slot(9))

    found = await store.slot_runs([busy.id, rare.id], None, 3)
    assert [[one.slot.slot for one in runs] for runs in found] == [
        [slot(8), slot(7), slot(6)],
        [slot(1)],
    ]
    (older,) = await store.slot_runs([busy.id], slot(6), 2)
    assert [one.slot.slot for one in older] == [slot(5), slot(4)]


async def test_it_tells_of_slots_what_is_told_of_one_schedule(store: Store, make: Make) -> None:
    """Also where several share an instant: no page ends between them."""
    schedule = await stored(store, make)
    skips = (missed(slot(0), slot(2)), missed(slot(3), slot(5)))
    await fire(store, make, schedule, skips=skips, now=slot(5))
    by_hand = runs_of(make, schedule, slot(0), slot(3), **NO_GATE)
    assert await store.fire_extra(schedule.id, by_hand, slot(6), slots=True) == [True, True]

    for limit in (1, 2, 3, 30):
        (runs,) = await store.slot_runs([schedule.id], None, limit)
        assert [one.slot for one in runs] == await store.slots(schedule.id, None, limit)


async def test_a_task_that_is_kept_no_more_leaves_its_slot(store: Store, make: Make) -> None:
    schedule = await stored(store, make)
    await fire(store, make, schedule, slot(0), now=NOW)
    session = await open_worker(store, make, slot(1))
    lane = lane_of(task_of(make, schedule, slot(0)))
    (claimed,) = await take(store, session, lane=lane, now=slot(1))
    assert await store.finish(session, [completed(claimed)], slot(2)) == [True]
    ((run,),) = await store.slot_runs([schedule.id], None, 1)
    assert (run.state, run.started_at, run.finished_at) == (State.COMPLETED, slot(1), slot(2))

    await store.delete([claimed.id])

    ((run,),) = await store.slot_runs([schedule.id], None, 1)
    assert (run.state, run.finished_at, run.slot.task_id) == (None, None, claimed.id)
