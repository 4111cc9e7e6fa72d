"""Schedules are found by what they are, by when they are due, and by what became of them."""

from typing import Any

from msgspec import structs

from rota.config import DAY, MINUTE
from rota.schedule import (
    Due,
    Schedule,
    ScheduleFilter,
)
from rota.store.base import Store
from tests.support.factories import LATER, NOW, Make
from tests.support.places import Place
from tests.support.schedules import (
    a_schedule,
    edited,
    read,
    slot,
    stored,
    task_of,
)

EVERY_SCHEDULE = ScheduleFilter()


async def names(store: Store, **where: Any) -> list[str]:
    """The names of the schedules that match, in the order found."""
    return [schedule.name for schedule in await store.find_schedules(ScheduleFilter(**where))]


# -- finding ------------------------------------------------------------------------------------


async def test_schedules_are_read_in_the_order_asked_for(store: Store, make: Make) -> None:
    a, b = await stored(store, make, "a"), await stored(store, make, "b")

    found = await store.get_schedules(["b", make.id(), a.id, "c", "b", b.id])

    assert found == [b, None, a, None, b, b]


async def test_schedules_are_found_by_name_page_by_page(store: Store, make: Make) -> None:
    """In one order in every database, whatever its locale is."""
    given = ["b", "B", "a-2", "a.1", "A1", "a_", "10", "9", "aa"]
    for name in given:
        await stored(store, make, name)

    pages: list[list[Schedule]] = []
    while page := await store.find_schedules(
        EVERY_SCHEDULE, after_name=pages[-1][-1].name if pages else "", limit=4
    ):
        pages.append(page)

    assert [schedule.name for page in pages for schedule in page] == sorted(given)
    assert [len(page) for page in pages] == [4, 4, 1]


async def test_schedules_are_found_by_what_they_are(store: Store, make: Make) -> None:
    work = a_schedule(make).work
    await stored(store, make, "a", source="code:school")
    await stored(store, make, "b", source="code:school", paused_at=NOW)
    await stored(store, make, "c", work=structs.replace(work, kind="audit"))
    await stored(store, make, "d", work=structs.replace(work, tenant="board"), paused_at=NOW)

    wanted: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["a", "b", "c", "d"]),
        ({"source": "code:school"}, ["a", "b"]),
        ({"source": ""}, ["c", "d"]),
        ({"source": "code:school", "paused": True}, ["b"]),
        ({"paused": True}, ["b", "d"]),
        ({"paused": False}, ["a", "c"]),
        ({"kind": "audit"}, ["c"]),
        ({"kind": "report", "tenant": "board"}, ["d"]),
        ({"tenant": ""}, ["a", "b", "c"]),
        ({"kind": "audit", "tenant": "board"}, []),
    ]
    assert [(where, await names(store, **where)) for where, _ in wanted] == wanted


# -- due ----------------------------------------------------------------------------------------


async def test_schedules_are_due_by_their_stored_time_the_earliest_first(
    store: Store, make: Make
) -> None:
    """B091: however long ago that was; jitter counts, not the slot."""
    times = {"c": NOW, "a": NOW - 400 * DAY, "b": NOW - 1, "later": NOW + 1, "over": None}
    for name, at in times.items():
        await stored(store, make, name, next_at=at, next_slot=None if at is None else at - MINUTE)

    due = await store.due_schedules(NOW, 10)

    assert [one.schedule.name for one in due] == ["a", "b", "c"]
    assert [one.schedule.name for one in await store.due_schedules(NOW, 2)] == ["a", "b"]
    assert due[2] == Due((await store.get_schedules(["c"]))[0] or due[0].schedule, 0)
    assert await store.next_firing() == NOW - 400 * DAY
    assert [await store.schedules_behind(NOW, cap) for cap in (10, 3, 2)] == [3, 3, 2]


async def test_a_paused_schedule_is_never_due(store: Store, make: Make) -> None:
    """R6.8."""
    schedule = await stored(store, make)
    paused = edited(schedule, paused_at=NOW)
    assert await store.change_schedule(paused, 1, schedule.cursor)

    assert await store.due_schedules(NOW + 400 * DAY, 10) == []
    assert await store.next_firing() is None
    assert await store.schedules_behind(NOW + 400 * DAY, 10) == 0

    resumed = edited(paused, paused_at=None, next_at=LATER, next_slot=LATER)
    assert await store.change_schedule(resumed, paused.version, schedule.cursor)
    assert await store.next_firing() == LATER
    assert [one.schedule for one in await store.due_schedules(LATER, 10)] == [resumed]


async def test_without_schedules_nothing_is_due(store: Store) -> None:
    assert await store.next_firing() is None
    assert await store.due_schedules(NOW, 10) == []
    assert await store.fire([], NOW) == []


async def test_schedules_of_other_zone_data_are_found(store: Store, make: Make) -> None:
    """B085: older and newer data alike; what has no slot left need not be worked out anew."""
    await stored(store, make, "old", tz_data="2025c")
    await stored(store, make, "current", tz_data="2026a")
    await stored(store, make, "new", tz_data="2026b", paused_at=NOW)
    await stored(store, make, "over", tz_data="2025c", next_slot=None, next_at=None)

    found = await store.outdated_schedules("2026a", 10)

    assert sorted(schedule.name for schedule in found) == ["new", "old"]
    assert len(await store.outdated_schedules("2026a", 1)) == 1


async def test_a_schedule_that_a_newer_version_wrote_is_told_and_holds_up_no_other(
    place: Place, store: Store, make: Make
) -> None:
    """B085, R8.6: this version cannot read its rule."""
    strange = await stored(store, make, "strange")
    plain = await stored(store, make, "plain")
    await place.run(
        """update schedule set rule = '{"expression":"0 9 * * *","gap":"ask_the_moon"}' """
        "where name = 'strange'"
    )

    due = await store.due_schedules(NOW, 10)

    by_name = {one.schedule.name: one.schedule for one in due}
    assert by_name["plain"] == plain
    assert "ask_the_moon" in (by_name["strange"].problem or "")
    assert (await read(store, strange)).id == strange.id


# -- live ---------------------------------------------------------------------------------------


async def test_what_is_not_over_is_live(store: Store, make: Make) -> None:
    """R6.6, F48: it waits, for a retry too, or runs; a run that was started by hand counts."""
    schedule, idle = await stored(store, make), await stored(store, make, "idle")
    tasks = [
        task_of(make, schedule, slot(-n), run_at=run_at, concurrency_key=None, queue=queue)
        for n, (run_at, queue) in enumerate([(LATER, "a"), (NOW, "a"), (NOW, "b"), (NOW, "b")])
    ]
    by_hand = task_of(make, schedule, None, concurrency_key=None)
    await store.submit([*tasks, by_hand, make.task()], NOW)

    assert await store.live([schedule.id, idle.id, make.id(), schedule.id], 100) == [5, 0, 0, 5]
    assert await store.live([schedule.id, idle.id], 3) == [3, 0]
    assert [one.live for one in await store.due_schedules(NOW, 10)] in ([5, 0], [0, 5])

    await store.cancel([tasks[0].id, tasks[2].id], NOW)
    assert await store.live([schedule.id], 100) == [3]
