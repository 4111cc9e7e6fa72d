"""What a store keeps of workers that come through a server: owners, numbers, drains (R8.4)."""

import asyncio

import pytest

from rota.config import LEASE
from rota.model import Beat, Claimed, Lane, PriorityClass, Share
from rota.remote import Standing
from rota.shares import Limit
from rota.store.base import Store
from tests.conformance.steps import heard, open_worker
from tests.support.factories import LANE, NOW, Make


async def take(
    store: Store, session: str, number: int, count: int = 10, limits: tuple[str, ...] = ()
) -> list[Claimed]:
    """Take under a number."""
    lane = Lane(LANE.queue, PriorityClass.NORMAL, LANE.tenant)
    version = (await store.settings()).version
    taken = await store.take(session, [Share(lane, count, limits)], (), NOW, version, number=number)
    return taken.tasks


async def test_a_session_stands_as_it_was_opened(store: Store, make: Make) -> None:
    """S13: whose it is."""
    session = make.session(owner="k7Q2")
    await store.open_session(session)

    assert await store.standing(session.id) == Standing(session.id, "k7Q2", 0, False, NOW + LEASE)
    assert await store.standing(make.id()) is None
    assert await store.standing("no id") is None


async def test_a_number_begins_once_and_never_a_lower_one(store: Store, make: Make) -> None:
    """http-and-cli.md §5: lower and equal take nothing."""
    session = await open_worker(store, make)

    began = [await store.begin_claim(session, number, NOW) for number in (3, 3, 2, 4)]

    assert began == [True, False, False, True]
    standing = await store.standing(session)
    assert standing is not None
    assert (standing.claimed, standing.claim_open) == (4, True)


@pytest.mark.parametrize("over", ["closed", "expired"])
async def test_a_session_that_is_over_begins_no_claim(store: Store, make: Make, over: str) -> None:
    """R3.1."""
    session = await open_worker(store, make)
    if over == "closed":
        await store.close_session(session, NOW)

    assert not await store.begin_claim(session, 1, NOW if over == "closed" else NOW + LEASE)


@pytest.mark.parametrize("limited", [False, True], ids=["plain", "limited"])
async def test_a_claim_takes_between_its_begin_and_its_end(
    store: Store, make: Make, limited: bool
) -> None:
    """S13: looked at in the transaction that takes."""
    limits: tuple[str, ...] = ()
    if limited:
        limit = Limit(id=make.id(), queue=LANE.queue, max_running=50)
        await store.put_limit(limit, 0)
        limits = (limit.id,)
    session = await open_worker(store, make)
    await store.submit(make.tasks(10), NOW)

    before = await take(store, session, 1, 2, limits)
    await store.begin_claim(session, 1, NOW)
    during = [len(await take(store, session, 1, 2, limits)) for _ in range(2)]
    other = await take(store, session, 2, 2, limits)
    await store.end_claim(session, 1)
    after = await take(store, session, 1, 2, limits)
    await store.begin_claim(session, 2, NOW)
    next_ = await take(store, session, 2, 2, limits)

    assert (len(before), during, len(other), len(after), len(next_)) == (0, [2, 2], 0, 0, 2)
    assert len(await store.held(session, 100)) == 6


async def test_who_ends_a_claim_sees_all_that_it_has_taken(store: Store, make: Make) -> None:
    """S13: a take that is under way is waited for, so a repeat misses nothing."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(200), NOW)
    for number in range(1, 21):
        await store.begin_claim(session, number, NOW)
        taking = [asyncio.ensure_future(take(store, session, number, 2)) for _ in range(3)]
        await asyncio.sleep(0)
        await store.end_claim(session, number)
        at_the_end = len(await store.held(session, 1000))
        await asyncio.gather(*taking)

        assert len(await store.held(session, 1000)) == at_the_end


async def test_a_drain_is_heard_at_each_beat_and_kept(store: Store, make: Make) -> None:
    """R3.6: by a worker's own line, and by that of a server."""
    session = await open_worker(store, make)
    before = await store.renew(session, NOW, NOW + LEASE)

    drained = [await store.drain_session(id_, NOW) for id_ in (session, make.id(), "no id")]

    assert (before, drained) == (Beat(True), [True, False, False])
    assert await heard(store, session, NOW) == Beat(True, drain=True)
    assert await store.renew(session, NOW, NOW + LEASE) == Beat(True, drain=True)
    (shown,) = await store.sessions()
    assert shown.drain_at == NOW


async def test_a_renewal_through_a_server_is_a_beat(store: Store, make: Make) -> None:
    """R3.1, R5.2: the same statement, the same answer."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(2), NOW)
    await store.begin_claim(session, 1, NOW)
    task, _ = await take(store, session, 1)
    await store.cancel([task.id], NOW, NOW + 5)

    beat = await store.renew(session, NOW + 1, NOW + 1 + LEASE)

    assert [(one.id, one.fence, one.deadline) for one in beat.cancels] == [(task.id, 1, NOW + 5)]
    assert await store.renew(session, NOW + 2 + LEASE, NOW + 9 * LEASE) == Beat(alive=False)
    assert await store.renew(make.id(), NOW, NOW + LEASE) == Beat(alive=False)
