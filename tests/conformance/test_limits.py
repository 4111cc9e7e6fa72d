"""However many claimers race, no limit is exceeded, and all it allows is used (R7.4, R7.5)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import asyncpg
import pytest
from msgspec import Struct

from rota.clock import Rng, new_rng
from rota.config import SECOND
from rota.model import Claimed, Look, Micros, Share, State, Transition
from rota.shares import Held
from rota.store.base import Store
from tests.conformance.limits import (
    BOARD,
    SCHOOL,
    limit,
    store_limits,
    take_under,
    under,
)
from tests.conformance.steps import counts, open_worker
from tests.support.factories import LANE, LATER, NOW, Make, again, completed, handed_back, lost
from tests.support.places import Place

RACERS = 8

pytestmark = pytest.mark.slow


@asynccontextmanager
async def racers(place: Place, first: Store, make: Make) -> AsyncIterator[list[tuple[Store, str]]]:
    """Eight claimers, each with connections and a session of its own."""
    async with AsyncExitStack() as stack:
        found = [(first, await open_worker(first, make, at=LATER))]
        for _ in range(RACERS - 1):
            store = place.store()
            await store.open()
            stack.push_async_callback(store.close)
            found.append((store, await open_worker(store, make, at=LATER)))
        yield found


class Count(Struct):
    """How many run, as the handlers themselves count; and what is left to do."""

    left: int
    running: int = 0
    most: int = 0

    def started(self, number: int) -> None:
        self.running += number
        self.most = max(self.most, self.running)


async def work(
    store: Store, session: str, shares: Sequence[Share], count: Count, seed: int
) -> None:
    """Claim, run for a while, and end in every way there is, until all is done."""
    chance = new_rng(seed)
    version = (await store.lanes([], 1)).version
    held: list[Claimed] = []
    while count.left:
        wanted = [share for share in shares if chance.random() < 0.8]
        taken = (await store.take(session, wanted, (), NOW, version)).tasks
        count.started(len(taken))
        held += taken
        chance.shuffle(held)
        ending = [held.pop() for _ in range(chance.randint(0, len(held)))]
        # Whoever has reported may be followed before the answer is here.
        count.running -= len(ending)
        reports = [_ending(task, chance) for task in ending]
        applied = await store.finish(session, reports, NOW)
        assert all(applied)
        assert not any(await store.finish(session, reports, NOW))
        count.left -= sum(report.to is State.COMPLETED for report in reports)
        if any(report.to is State.SCHEDULED for report in reports):
            await store.stage(NOW, 100)


def _ending(task: Claimed, chance: Rng) -> Transition:
    ways = [completed(task), handed_back(task), lost(task), again(task, NOW)]
    return chance.choice(ways) if task.fence < 4 else completed(task)


async def look(place: Place, count: Count, where: str) -> int:
    """Look again and again how many run; return the most."""
    most = 0
    while count.left:
        rows = f"select count(*) from ready where session is not null and {where}"
        most = max(most, await place.value(rows))
        await asyncio.sleep(0)
    return most


@pytest.mark.parametrize(("cap", "tasks"), [(1, 24), (20, 200)])
async def test_a_cap_is_never_exceeded(
    place: Place, store: Store, make: Make, cap: int, tasks: int
) -> None:
    """R7.4, B127: eight claimers with room for 25 each; seen from outside and by the handlers."""
    one = limit("cap", max_running=cap)
    await store.submit(make.tasks(tasks), NOW)
    await store_limits(store, one)
    count = Count(tasks)
    async with (
        racers(place, store, make) as claimers,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        observer = group.create_task(look(place, count, "queue = 'default'"))
        for seed, (node, session) in enumerate(claimers):
            group.create_task(work(node, session, [under(LANE, 25, [one])], count, seed))

    assert observer.result() <= cap
    assert cap // 2 < count.most <= cap
    assert await counts(store) == {State.COMPLETED: tasks}


async def test_several_limits_hold_at_once(place: Place, store: Store, make: Make) -> None:
    """R7.4: a queue, a tenant, a tenant in the queue; asked for in any order, and no deadlock."""
    limits = [
        limit("queue", max_running=7),
        limit("tenant", tenant="board", max_running=5),
        limit("both", queue="default", tenant="school", max_running=4),
    ]
    await store.submit([make.task(tenant=t) for t in ("board", "school") for _ in range(60)], NOW)
    await store_limits(store, *limits)
    lanes = [under(lane, 9, limits) for lane in (BOARD, SCHOOL)]
    counted = Count(120)
    async with (
        racers(place, store, make) as claimers,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        observers = [
            group.create_task(look(place, counted, where))
            for where in ("true", "tenant = 'board'", "tenant = 'school'")
        ]
        for seed, (node, session) in enumerate(claimers):
            shares = lanes if seed % 2 else [_reversed(share) for share in lanes[::-1]]
            group.create_task(work(node, session, shares, counted, seed))

    most = [observer.result() for observer in observers]
    assert all(seen <= cap for seen, cap in zip(most, (7, 5, 4), strict=True))
    assert 5 < counted.most <= 7
    assert await counts(store) == {State.COMPLETED: 120}


def _reversed(share: Share) -> Share:
    return Share(share.lane, share.count, share.limits[::-1])


@pytest.mark.parametrize(("rate", "burst"), [(50.0, 5), (7.0, 30)])
async def test_no_window_sees_more_starts_than_burst_and_rate_allow(
    place: Place, store: Store, make: Make, rate: float, burst: int
) -> None:
    """R7.5: whatever eight clocks do, also backwards; and all that is allowed is used."""
    chance = new_rng(burst)
    one = limit("rate", rate=rate, burst=burst)
    await store.submit(make.tasks(600), NOW)
    await store_limits(store, one)
    share = under(LANE, 10, [one])
    now = farthest = NOW
    tokens, allowed = float(burst), 0
    async with racers(place, store, make) as claimers, asyncio.timeout(60):
        for _ in range(25):
            now += round(chance.choice([0.013, 0.1, 0.35, -0.2, 1.1, -0.07]) * SECOND)
            behind = [now - chance.randint(0, 5_000) for _ in claimers]
            await asyncio.gather(
                *(spend(*who, share, at) for who, at in zip(claimers, behind, strict=True))
            )
            await spend(*claimers[0], share, now)
            tokens = min(tokens + max(now - farthest, 0) * rate / SECOND, burst)
            farthest = max(now, farthest)
            allowed += int(tokens + 1e-6)
            tokens -= int(tokens + 1e-6)
    rows = "select started_at from ready where session is not null order by started_at"
    starts = [at for (at,) in await place.rows(rows)]
    windows_over = [
        (begin, end)
        for begin, at in enumerate(starts)
        for end in range(begin, len(starts))
        if end - begin + 1 > burst + rate * (starts[end] - at) / SECOND + 1e-6
    ]

    assert windows_over == []
    assert allowed <= len(starts) < 600


async def spend(store: Store, session: str, share: Share, now: Micros) -> None:
    """Take until no token is left."""
    while True:
        taken = await take_under(store, session, [share], now)
        if any(each.why is not Held.BUSY for each in taken.blocked):
            return


# -- limits that somebody else has locked -----------------------------------------------------


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_a_locked_limit_is_skipped_and_not_waited_for(
    place: Place, store: Store, make: Make
) -> None:
    """R7.4: the transaction that has it may stay open for long; it holds nobody else up."""
    session = await open_worker(store, make)
    limits = [
        limit("board", tenant="board", max_running=5),
        limit("school", tenant="school", max_running=5),
    ]
    await store.submit([make.task(tenant=t) for t in ("board", "school", "") for _ in "123"], NOW)
    await store_limits(store, *limits)
    shares = [under(lane, 2, limits) for lane in (BOARD, SCHOOL, LANE)]

    async with place.connection() as somebody, asyncio.timeout(60):
        await somebody.execute("begin; select from lane_limit where id = 'board' for update")
        found = await store.lanes([Look(LANE.queue, LANE.cls)], 5)
        skipped = await take_under(store, session, shares)
        assert (await store.limit_use(["board"], NOW))[0].running == 0
        await somebody.execute("rollback")
    after = await take_under(store, session, shares)

    assert [lane.tenant for lane in found.lanes] == ["", "board", "school"]
    assert [task.tenant for task in skipped.tasks] == ["school", "school", "", ""]
    assert [(each.limit, each.why) for each in skipped.blocked] == [("board", Held.BUSY)]
    assert [task.tenant for task in after.tasks] == ["board", "board", "school", ""]


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_at_another_isolation_level_nothing_is_handed_out_under_limits(
    place: Place, store: Store, make: Make
) -> None:
    """R7.4: one snapshot for a whole transaction would hide what others have handed out."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(1), NOW)
    cap = limit("cap", max_running=1)
    await store_limits(store, cap)

    with pytest.raises(asyncpg.FeatureNotSupportedError, match="read committed"):
        await place.run(
            "begin isolation level repeatable read; "
            f"select rota.take('{session}', '{{default}}', '{{2}}', '{{\"\"}}', '{{1}}',"
            f" '{{1}}', '{{cap}}', '{{}}', {NOW}, 1)"
        )

    assert len((await take_under(store, session, [under(LANE, 1, [cap])])).tasks) == 1
