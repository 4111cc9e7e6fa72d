"""A session lives as long as its lease is renewed; what it held comes back when it is over."""

import asyncio
from threading import Thread

import msgspec

from rota.config import LEASE, SECOND
from rota.model import State
from rota.store.base import Store
from tests.conformance.steps import beat, counts, one, open_worker, reap, take
from tests.support.factories import NOW, Make, completed, handed_back

ENDED = NOW + LEASE + 1


async def test_a_session_is_read_back_as_it_was_opened(store: Store, make: Make) -> None:
    """R9.1: newest first."""
    first = make.session(queues=(), kinds=(), host="Knoten ö")
    second = make.session(started_at=NOW + 1, queues=("sms", "mail"), kinds=("a", "b"), slots=1)
    for session in (first, second):
        await store.open_session(session)

    assert await store.sessions() == [second, first]
    assert await store.sessions(live_at=NOW + 2) == [second, first]


async def test_opening_a_session_again_changes_nothing(store: Store, make: Make) -> None:
    """F5: the first answer may have been lost."""
    session = make.session()
    await store.open_session(session)
    await store.open_session(msgspec.structs.replace(session, slots=99, lease_until=NOW))

    assert await store.sessions() == [session]

    await store.close_session(session.id, NOW)
    await store.open_session(session)
    assert await store.sessions(live_at=NOW) == []


async def test_only_live_sessions_are_alive(store: Store, make: Make) -> None:
    """R9.1: neither those that were closed nor those whose lease ran out."""
    closed, expired, live = [await open_worker(store, make, at=NOW + n) for n in range(3)]
    await store.close_session(closed, NOW)
    await beat(store, live, NOW + LEASE // 2)

    alive = [session.id for session in await store.sessions(live_at=NOW + LEASE + 5)]

    assert alive == [live]
    assert {session.id for session in await store.sessions()} == {closed, expired, live}


async def test_a_renewed_session_is_not_ended(store: Store, make: Make) -> None:
    """R3.1, F6, B109: three renewals carry a task through three leases."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(1), NOW)
    (task,) = await take(store, session)
    for n in range(1, 10):
        at = NOW + n * LEASE // 3
        assert await beat(store, session, at)
        assert await store.end_expired(at, 10) == []

    assert await store.finish(session, [completed(task)], NOW + 3 * LEASE) == [True]


async def test_a_session_whose_lease_ran_out_is_ended(store: Store, make: Make) -> None:
    """R3.1: and returned for as long as it holds a task, so that a reaper may die between."""
    session, idle = await open_worker(store, make), await open_worker(store, make)
    await store.submit(make.tasks(2), NOW)
    first, second = await take(store, session)

    assert await store.end_expired(NOW + LEASE - 1, 10) == []
    assert await store.end_expired(ENDED, 10) == [session]
    assert await store.end_expired(ENDED, 10) == [session]
    await store.finish(session, [handed_back(first)], ENDED)
    assert await store.end_expired(ENDED, 10) == [session]
    await store.finish(session, [handed_back(second)], ENDED)

    assert await store.end_expired(ENDED, 10) == []
    assert await store.sessions(live_at=NOW) == []
    assert {each.id for each in await store.sessions() if each.closed_at == ENDED} == {
        session,
        idle,
    }


async def test_at_the_instant_that_a_lease_ends_it_is_over_for_everybody(
    store: Store, make: Make
) -> None:
    """R3.1: nobody may take, renew or be seen alive at an instant at which another may reap."""
    await store.submit(make.tasks(1), NOW)
    session = await open_worker(store, make)
    end = NOW + LEASE

    assert await take(store, session, now=end) == []
    assert not await beat(store, session, end)
    assert await store.sessions(live_at=end) == []
    await store.end_expired(end, 10)
    assert [each.closed_at for each in await store.sessions()] == [end]


async def test_sessions_that_hold_nothing_do_not_hide_one_that_does(
    store: Store, make: Make
) -> None:
    """R3.1: a limit on the work of a call is no limit on what is found in the end."""
    await store.submit(make.tasks(1), NOW)
    for _ in range(9):
        await open_worker(store, make)
    holder = await open_worker(store, make, at=NOW + 1)
    await take(store, holder, now=NOW + 1)

    found = [await store.end_expired(ENDED, 3) for _ in range(5)]

    assert [holder] in found


async def test_a_closed_session_that_holds_tasks_is_returned_at_once(
    store: Store, make: Make
) -> None:
    """R3.6: nobody waits for the lease of a worker that said goodbye."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(1), NOW)
    await take(store, session)

    await store.close_session(session, NOW + 1)
    await store.close_session(session, NOW + 2)

    assert [each.closed_at for each in await store.sessions()] == [NOW + 1]
    assert await store.end_expired(NOW + 2, 10) == [session]


async def test_closing_a_session_that_nobody_knows_does_nothing(store: Store, make: Make) -> None:
    """R3.6: it may have been pruned."""
    await store.close_session(make.id(), NOW)

    assert await store.sessions() == []


async def test_ended_sessions_are_returned_up_to_a_limit(store: Store, make: Make) -> None:
    """R3.1: after a power cut there are many; each call goes on where the last one stopped."""
    held = {}
    for _ in range(7):
        session = await open_worker(store, make)
        await store.submit(make.tasks(1), NOW)
        (held[session],) = await take(store, session)

    met: list[str] = []
    while ended := await store.end_expired(ENDED, 3):
        assert len(ended) <= 3
        for session in ended:
            await store.finish(session, [handed_back(held[session])], ENDED)
        met += ended

    assert sorted(met) == sorted(held)
    assert await counts(store) == {State.READY: 7}


async def test_a_worker_that_reuses_a_name_does_not_hide_the_orphans_of_the_last(
    store: Store, make: Make
) -> None:
    """B121, F4: same name, same host, same pid; identity is the session's random id."""
    await store.submit(make.tasks(2), NOW)
    old = await open_worker(store, make)
    (orphan,) = await take(store, old, 1)
    new = await open_worker(store, make, at=NOW + SECOND)
    (kept,) = await take(store, new, 1, now=NOW + SECOND)
    await beat(store, new, NOW + 20 * SECOND)

    assert await store.held(new, 10) == [kept]
    assert await reap(store, ENDED) == [orphan.id]
    assert (await one(store, kept.id)).session == new


async def test_the_start_of_a_worker_takes_nothing_from_a_live_one(
    store: Store, other: Store, make: Make
) -> None:
    """B110: an orphan is what an ended session holds, never what is not on somebody's list."""
    first = await open_worker(store, make)
    await store.submit(make.tasks(1), NOW)
    (task,) = await take(store, first)

    at = NOW + 3 * SECOND
    second = await open_worker(other, make, at=at)

    assert await other.end_expired(at, 10) == []
    assert await take(other, second, now=at) == []
    assert await store.finish(first, [completed(task)], at) == [True]


async def test_a_beat_after_the_end_is_refused_and_revives_nothing(
    store: Store, make: Make
) -> None:
    """R3.4: closed, ended by a reaper, or never heard of."""
    await store.submit(make.tasks(1), NOW)
    closed = await open_worker(store, make)
    await store.close_session(closed, NOW)
    ended = await open_worker(store, make)
    assert await store.end_expired(ENDED, 10) == []

    # A beat that was sent before the end, and one that was sent after it.
    for session in (closed, ended, make.id()):
        for sent_at in (NOW + 1, ENDED):
            assert not await beat(store, session, sent_at)
            assert await take(store, session, now=sent_at) == []

    assert await store.sessions(live_at=ENDED) == []


async def test_a_beat_reaches_its_own_session_alone(store: Store, make: Make) -> None:
    """R3.1."""
    renewed, silent = await open_worker(store, make), await open_worker(store, make)

    await beat(store, renewed, NOW + 20 * SECOND)

    leases = {session.id: session.lease_until for session in await store.sessions()}
    assert leases == {renewed: NOW + 20 * SECOND + LEASE, silent: NOW + LEASE}


async def test_a_pulse_beats_on_from_its_thread_while_the_loop_is_blocked(
    store: Store, make: Make
) -> None:
    """B130: it shares neither the event loop nor the connections of the store."""
    session = await open_worker(store, make)
    pulse = store.pulse()

    beats: list[bool] = []

    def renew() -> None:
        beats.extend(pulse.beat(session, NOW + n, NOW + n + LEASE).alive for n in range(5))
        pulse.close()
        pulse.close()

    thread = Thread(target=renew)
    thread.start()
    thread.join(60)  # the loop stands still meanwhile

    assert beats == [True] * 5
    assert (await store.sessions())[0].lease_until == NOW + 4 + LEASE


async def test_pulse_and_store_read_one_clock(store: Store) -> None:
    """Design §4: all nodes share the store's time."""
    pulse = store.pulse()

    before = await store.clock()
    between = await asyncio.to_thread(pulse.clock)
    after = await store.clock()
    await asyncio.to_thread(pulse.close)

    assert before <= between <= after
    assert after - before < 10 * SECOND


async def test_closing_a_store_twice_is_safe(store: Store) -> None:
    """Contract."""
    await store.close()
    await store.close()
