"""Statistics by the minute, and what the figures are read from (R9.3, R9.4)."""

import asyncio

from rota.config import DAY, HOUR, KEEP_STATISTICS, LEASE, MINUTE, SECOND
from rota.figures import By, Counted, Ended, Holding, Measure, StatisticsFilter
from rota.model import State
from rota.store.base import Store
from tests.conformance.steps import bring, open_worker, take
from tests.support.factories import (
    LATER,
    NOW,
    Make,
    cancelled,
    completed,
    error,
    failed,
    kept,
    lane_of,
)
from tests.support.places import Place

BEGIN = NOW - NOW % HOUR
SUBMITTED, STARTED, RAN = Measure.SUBMITTED, Measure.STARTED, Measure.RAN
APART = 3 * SECOND


def counted(
    at: int = BEGIN, queue: str = "sms", kind: str = "send", span: int = MINUTE, **counts: int
) -> Counted:
    """What a process would write."""
    return Counted(at, span, queue, kind, {Measure[name.upper()]: n for name, n in counts.items()})


def hour(**more: object) -> StatisticsFilter:
    """A filter for the hour in which every test begins."""
    values: dict[str, object] = {"since": BEGIN, "until": BEGIN + HOUR}
    return StatisticsFilter(**values | more)  # type: ignore[arg-type]


async def test_what_processes_count_is_added_up(store: Store, other: Store) -> None:
    """R9.3: whoever writes first, and whatever each has that the other has not."""
    await store.add_statistics([counted(submitted=2, ran=10)])
    await other.add_statistics([counted(submitted=5, started=1)])

    assert await store.statistics(hour(), 10) == [
        Counted(BEGIN, MINUTE, None, None, {SUBMITTED: 7, STARTED: 1, RAN: 10})
    ]


async def test_those_who_write_at_once_lose_nothing(store: Store, other: Store) -> None:
    """R9.3: eight times, many rows each, in opposite orders."""
    rows = [counted(queue=f"queue-{n}", submitted=1) for n in range(20)]

    orders = [rows, rows[::-1]] * 4
    writes = [(at.add_statistics(o)) for at, o in zip([store, other] * 4, orders, strict=True)]
    await asyncio.gather(*writes)

    (found,) = await store.statistics(hour(), 10)
    assert found.counts == {SUBMITTED: 160}


async def test_counts_are_read_in_steps(store: Store) -> None:
    """R9.1: the beginning of the span is in it, its end is not; empty steps are left out."""
    minutes = [-1, 0, 1, 4, 5, 59, 60]
    await store.add_statistics([counted(BEGIN + n * MINUTE, submitted=1) for n in minutes])

    found = await store.statistics(hour(step=5 * MINUTE), 100)

    steps = [((row.at - BEGIN) // MINUTE, row.counts[SUBMITTED]) for row in found]
    assert steps == [(0, 3), (5, 1), (55, 1)]
    assert len(await store.statistics(hour(step=5 * MINUTE), 2)) == 2


async def test_counts_are_split_and_chosen_by_queue_and_kind(store: Store) -> None:
    """R9.1."""
    await store.add_statistics(
        [
            counted(queue="sms", kind="send", submitted=1),
            counted(queue="sms", kind="ask", submitted=2),
            counted(queue="mail", kind="send", submitted=4),
        ]
    )

    async def read(**more: object) -> dict[tuple[str | None, str | None], int]:
        rows = await store.statistics(hour(**more), 10)
        return {(row.queue, row.kind): row.counts[SUBMITTED] for row in rows}

    assert await read() == {(None, None): 7}
    assert await read(by=(By.QUEUE,)) == {("mail", None): 4, ("sms", None): 3}
    assert await read(by=(By.KIND,)) == {(None, "ask"): 2, (None, "send"): 5}
    assert await read(queue="sms", by=(By.QUEUE, By.KIND)) == {
        ("sms", "ask"): 2,
        ("sms", "send"): 1,
    }
    assert await read(kind="send") == {(None, None): 5}
    assert await read(queue="nothing") == {}


async def test_whole_hours_are_read_from_what_is_kept_by_the_hour(store: Store) -> None:
    """Minutes of last week are gone, hours are not."""
    await store.add_statistics(
        [counted(submitted=1), counted(BEGIN - 2 * HOUR, span=HOUR, submitted=9)]
    )

    found = await store.statistics(hour(since=BEGIN - DAY, step=2 * HOUR), 10)

    assert [row.counts[SUBMITTED] for row in found] == [9]


async def test_what_ended_is_read_in_the_same_steps(store: Store, make: Make) -> None:
    """R9.1: exactly, and as soon as it has ended."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(4), NOW)
    first, second, third, fourth = await take(store, session)
    await store.finish(session, [completed(first), failed(second, error())], BEGIN)
    await store.finish(session, [cancelled(third), completed(fourth)], BEGIN + 3 * MINUTE)

    assert await store.ended(hour(step=MINUTE), 10) == [
        Ended(BEGIN, None, None, completed=1, failed=1),
        Ended(BEGIN + 3 * MINUTE, None, None, completed=1, cancelled=1),
    ]
    assert await store.ended(hour(step=HOUR, by=(By.QUEUE, By.KIND)), 10) == [
        Ended(BEGIN, "default", "send_result", completed=2, failed=1, cancelled=1)
    ]
    assert await store.ended(hour(kind="other"), 10) == []


async def test_what_was_done_is_counted_by_tenant(store: Store, make: Make) -> None:
    """R7.3: since an instant, in all queues, and no more than so many; only what was completed."""
    session = await open_worker(store, make)
    tenants = ["board", "board", "college", "", "board"]
    await store.submit([make.task(tenant=tenant) for tenant in tenants], NOW)
    lanes = [lane_of(make.task(tenant=tenant)) for tenant in ("board", "college", "")]
    tasks = [task for lane in lanes for task in await take(store, session, lane=lane)]
    early, *late, lost, nobody = tasks
    await store.finish(session, [completed(early)], BEGIN)
    ends = [*map(completed, late), failed(lost, error()), completed(nobody)]
    await store.finish(session, ends, BEGIN + MINUTE)

    assert await store.served(BEGIN, 100) == {"board": 3, "": 1}
    assert await store.served(BEGIN + 1, 100) == {"board": 2, "": 1}
    assert await store.served(BEGIN + MINUTE + 1, 100) == {}
    assert sum((await store.served(BEGIN, 2)).values()) == 2


async def test_old_statistics_are_forgotten(place: Place, store: Store) -> None:
    """B148: minutes before hours."""
    rows = [counted(submitted=1), counted(span=HOUR, submitted=1)]
    await store.add_statistics(rows)

    left = []
    for at in (MINUTE, HOUR):
        await store.prune(BEGIN + KEEP_STATISTICS[at], kept(DAY), 100)
        left.append(await place.value("select count(*) from statistic"))
        await store.prune(BEGIN + KEEP_STATISTICS[at] + 1, kept(DAY), 100)
        left.append(await place.value("select count(*) from statistic"))

    assert left == [2, 1, 1, 0]


async def test_duties_are_written_down_once_by_many_nodes(store: Store, other: Store) -> None:
    """R9.4: what another node wrote just before is left as it is; a later instant counts."""
    assert await store.ticks() == {}
    await store.tick(["stage", "fire"], NOW, APART)
    await other.tick(["stage"], NOW + APART, APART)
    assert await store.ticks() == {"stage": NOW, "fire": NOW}
    await other.tick(["stage"], NOW + APART + 1, APART)
    await store.tick(["stage"], NOW, APART)
    assert await store.ticks() == {"stage": NOW + APART + 1, "fire": NOW}


async def test_the_oldest_of_each_queue_is_found_over_all_lanes(store: Store, make: Make) -> None:
    """R9.4: since it was due, or made if that was later; what is due later or runs is not ready."""
    tasks = [
        make.task(queue="sms", tenant="board", run_at=NOW - 50, created_at=NOW - 90),
        make.task(queue="sms", tenant="a", priority=0, run_at=NOW - 70, created_at=NOW - 90),
        make.task(queue="sms", run_at=NOW - 60, created_at=NOW - 90),
        make.task(queue="mail", run_at=NOW - 1000, created_at=NOW - 30),
        make.task(queue="later", run_at=LATER),
    ]
    await store.submit(tasks, NOW)

    assert await store.oldest_ready([], [], 100) == {"sms": NOW - 70, "mail": NOW - 30}
    assert await store.oldest_ready(["a"], [], 100) == {"sms": NOW - 60, "mail": NOW - 30}
    assert await store.oldest_ready([], ["send_result"], 100) == {}
    assert await store.oldest_ready([], [], 1) == {"mail": NOW - 30}


async def test_nothing_is_old_where_nothing_waits(store: Store, make: Make) -> None:
    """R9.4: an empty store, and one where all runs."""
    assert await store.oldest_ready([], [], 100) == {}
    await bring(store, make, State.RUNNING)
    assert await store.oldest_ready([], [], 100) == {}


async def test_open_dead_letters_are_counted_by_queue(store: Store, make: Make) -> None:
    """R9.4: what was replayed or discarded is dealt with; so many are looked at, no more."""
    dead = [await bring(store, make, State.FAILED) for _ in range(5)]
    await store.discard([dead[0].id], "no longer wanted", NOW)
    await store.replay([dead[1].id], [make.id()], NOW)

    assert await store.open_dead_letters(100) == {"default": 3}
    assert await store.open_dead_letters(2) == {"default": 2}


async def test_what_sessions_hold_is_counted_by_queue(store: Store, make: Make) -> None:
    """R9.4."""
    first = await open_worker(store, make)
    second = await open_worker(store, make)
    assert await store.holdings() == []
    await store.submit(make.tasks(5), NOW)
    await take(store, first, 3)
    await take(store, second, 1)

    found = await store.holdings()

    held = [Holding(first, "default", 3), Holding(second, "default", 1)]
    assert sorted(found, key=lambda one: one.held) == held[::-1]
    assert len(await store.sessions(live_at=NOW + LEASE // 2)) == 2
