"""Who got how much, by the minute and by the hour: counted by processes, added up (R7.3, R9.1)."""

from rota.config import DAY, HOUR, KEEP_STATISTICS, MINUTE
from rota.service import REST, Got, ServiceFilter
from rota.store.base import Store
from tests.support.factories import NOW, kept

BEGIN = NOW - NOW % HOUR


def got(tenant: str = "board", completed: int = 1, ran: int = 10, minute: int = 0) -> Got:
    """What a process would write."""
    return Got(BEGIN + minute * MINUTE, MINUTE, tenant, completed, ran)


def hour(step: int = MINUTE) -> ServiceFilter:
    """A filter for the hour in which every test begins."""
    return ServiceFilter(since=BEGIN, until=BEGIN + HOUR, step=step)


async def test_what_processes_count_is_added_up(store: Store, other: Store) -> None:
    await store.add_service([got("board", 2, 10), got("college", 1, 5)])
    await other.add_service([got("board", 5, 30), got("", 1, 1)])

    assert await store.service_totals(hour(), 10) == [
        Got(BEGIN, HOUR, "board", 7, 40),
        Got(BEGIN, HOUR, "", 1, 1),
        Got(BEGIN, HOUR, "college", 1, 5),
    ]


async def test_steps_tell_some_apart_and_add_up_the_rest(store: Store) -> None:
    """The beginning of the span is in it, its end is not."""
    rows = [got(tenant, minute=n) for n in (-1, 0, 4, 5, 60) for tenant in ("a", "b", "c", REST)]
    await store.add_service(rows)

    found = await store.service(hour(5 * MINUTE), ["a"], 100)

    assert found == [
        Got(BEGIN, 5 * MINUTE, REST, 6, 60),
        Got(BEGIN, 5 * MINUTE, "a", 2, 20),
        Got(BEGIN + 5 * MINUTE, 5 * MINUTE, REST, 3, 30),
        Got(BEGIN + 5 * MINUTE, 5 * MINUTE, "a", 1, 10),
    ]
    assert len(await store.service(hour(), ["a"], 3)) == 3


async def test_hours_are_read_for_steps_of_hours(store: Store) -> None:
    await store.add_service([Got(BEGIN, HOUR, "board", 9, 90), got("board", 1, 1)])

    assert await store.service(hour(HOUR), ["board"], 10) == [Got(BEGIN, HOUR, "board", 9, 90)]


async def test_what_is_long_past_is_forgotten(store: Store) -> None:
    """R9.5: minutes after a day, hours after a week."""
    await store.add_service([got(), Got(BEGIN, HOUR, "board", 1, 10)])
    after = BEGIN + KEEP_STATISTICS[MINUTE] + HOUR

    await store.prune(after, kept(DAY), 100)

    everything = ServiceFilter(since=BEGIN - DAY, until=BEGIN + DAY)
    assert await store.service_totals(everything, 10) == []
    assert len(await store.service(hour(HOUR), [], 10)) == 1
