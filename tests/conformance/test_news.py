"""A hint that there is work wakes who listens; nothing depends on it (F14, B154)."""

import asyncio
from contextlib import suppress

import pytest

from rota.errors import StoreUnavailable
from rota.store.base import Store
from rota.store.sqlite.watch import APART
from tests.support.factories import LATER, NOW, Make
from tests.support.places import Place


async def heard(listener: Store, speaker: Store, make: Make, at: int) -> list[int | None]:
    """What the listener hears of work with its hint; repeated, for a hint may be lost."""
    news: list[int | None] = []
    woken = asyncio.Event()

    def wake(instant: int | None) -> None:
        news.append(instant)
        woken.set()

    listening = asyncio.create_task(listener.listen(wake))
    async with asyncio.timeout(60):
        while not woken.is_set():
            await speaker.submit([make.task(run_at=at or NOW)], NOW)
            await speaker.notify(at)
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), 0.05)
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    return news


@pytest.mark.parametrize("at", [0, LATER])
async def test_a_hint_reaches_whoever_listens(store: Store, make: Make, at: int) -> None:
    """Contract: with the instant that there is work from; an earlier one is no harm."""
    assert set(await heard(store, store, make, at)) <= {0, None, at}


@pytest.mark.parametrize("at", [0, LATER])
async def test_work_is_heard_of_on_other_nodes(
    store: Store, other: Store, make: Make, at: int
) -> None:
    """R2.2: a submit on one node wakes a worker on another."""
    assert set(await heard(other, store, make, at)) <= {0, None, at}


async def test_a_hint_without_listeners_is_no_fault(store: Store) -> None:
    """Contract."""
    await store.notify(0)
    await store.notify(LATER)


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_no_submit_carries_a_notify_in_its_transaction(
    place: Place, store: Store, make: Make
) -> None:
    """B154: NOTIFY takes a lock of the whole server at commit."""
    heard: list[str] = []
    async with place.connection() as listener:
        await listener.add_listener("rota", lambda *news: heard.append(news[-1]))

        await store.submit(make.tasks(10), NOW)

        await listener.fetch("select 1")
    assert heard == []


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_a_listener_whose_line_breaks_says_so(place: Place, store: Store) -> None:
    """F18: its loop connects again; until then it polls."""
    listening = asyncio.create_task(store.listen(lambda _: None))
    query = """
        select pid from pg_stat_activity
        where query ilike 'listen%' and datname = current_database()
    """
    async with asyncio.timeout(60):
        while not await place.rows(query):
            pass  # each look is a round trip
        await place.rows(f"select pg_terminate_backend(pid) from ({query})")
        with pytest.raises(StoreUnavailable):
            await listening


async def told(follower: Store, speaker: Store, make: Make, text: str) -> list[str | None]:
    """What the follower hears of an announcement; repeated, for one may be lost."""
    news: list[str | None] = []
    following = asyncio.create_task(follower.follow(news.append))
    async with asyncio.timeout(60):
        while len(news) < 2:
            await speaker.submit([make.task()], NOW)
            await speaker.announce(text)
            await follower.clock()
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    return news


async def test_who_follows_is_told_what_was_announced_or_that_something_changed(
    store: Store, other: Store, make: Make
) -> None:
    """R9.2: with None at the start, for what came before."""
    first, *rest = await told(other, store, make, '["a",{}]')
    assert first is None
    assert set(rest) <= ({'["a",{}]'} if store.traits.announces else {None})


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_on_a_file_what_one_did_oneself_is_no_news(
    store: Store, other: Store, make: Make
) -> None:
    """R9.2: it is told by name already; "something changed" is for what others did."""
    heard: asyncio.Queue[None] = asyncio.Queue()
    following = asyncio.create_task(store.follow(lambda _: heard.put_nowait(None)))
    async with asyncio.timeout(60):
        await heard.get()
        for speaker, apart in ((store, APART), (other, 0.0)):
            for _ in range(3):
                await speaker.submit([make.task()], NOW)
                await asyncio.sleep(0.01 + apart / 2)
            if speaker is store:
                assert heard.empty()
        await heard.get()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_no_hint_is_taken_for_an_announcement(store: Store, other: Store, make: Make) -> None:
    """Each has a channel of its own: workers do not wake for what was announced."""
    news: list[int | None] = []
    listening = asyncio.create_task(store.listen(news.append))
    assert "x" in await told(other, store, make, "x")
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    assert set(news) <= {None}
