"""Each slot once: several nodes, crashes, and changes in between, on both stores (R6.4)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from rota.clock import ManualClock, new_rng
from rota.config import MINUTE, SECOND
from rota.engine import Engine
from rota.engine import fire as firing_steps
from rota.errors import StoreUnavailable
from rota.model import Micros
from rota.schedule import Firing, Rule
from rota.store.base import Store
from tests.engine.recurring import (
    Breaking,
    Hands,
    another,
    fire,
    made,
    now_read,
    runs,
    scheduled,
)
from tests.support.factories import NOW, Make
from tests.support.places import Place
from tests.support.schedules import edited

SECONDLY = Rule(every=SECOND)


class TestSeveralNodes:
    async def test_fire_each_second_of_ten_minutes_once(
        self, place: Place, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Cases B104, B098: 600 slots, 600 distinct instants, although every run is over at once.

        They look five seconds apart, so that each look finds five slots.
        """
        nodes = [engine, await another(place, clock), await another(place, clock)]
        schedule = await scheduled(engine, make, SECONDLY, overlap="allow")
        hands = Hands(engine, make)

        for _ in range(120):
            clock.advance(5)
            await asyncio.gather(*(node.fire() for node in nodes))
            await hands.end(await hands.take())
        for node in nodes[1:]:
            await node.close()

        seconds = [((task.slot or 0) - NOW) // SECOND for task in await runs(engine, schedule)]
        assert seconds == [*range(1, 601)]
        assert (await now_read(engine, schedule)).fired == 600

    async def test_share_many_schedules_of_one_minute(
        self,
        place: Place,
        engine: Engine,
        make: Make,
        clock: ManualClock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """R6.4, R8.3: each is fired by one of them, in pages and batches, and none is left."""
        monkeypatch.setattr(firing_steps, "STEP", 100)
        monkeypatch.setattr(firing_steps, "BATCH", 20)
        other = await another(place, clock)
        schedules = [await scheduled(engine, make) for _ in range(250)]

        clock.advance(60)
        count = 0
        for _ in range(20):
            steps = await asyncio.gather(engine.fire(), other.fire())
            count += sum(step.made for step in steps)
            clock.advance(0.2)
        await other.close()

        assert count == len(schedules)
        assert await made(engine, schedules[0]) == [1]
        assert await made(engine, schedules[-1]) == [1]


class TestACrash:
    @pytest.mark.parametrize("after", [False, True])
    async def test_around_the_commit_makes_neither_none_nor_two(
        self, engine: Engine, make: Make, clock: ManualClock, *, after: bool
    ) -> None:
        """Cases B095, B118: the task and the next time are one transaction."""
        schedule = await scheduled(engine, make)
        store: Any = Breaking(engine.store, after=after)
        dying = Engine(store, clock, new_rng(2))

        clock.advance(60)
        with pytest.raises(StoreUnavailable):
            await dying.fire()
        first = await made(engine, schedule)
        await engine.fire()

        assert first == ([1] if after else [])
        assert await made(engine, schedule) == [1]
        assert (await now_read(engine, schedule)).fired == 1

    async def test_and_five_restarts_leave_one_pending_slot(
        self, place: Place, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B103: a schedule of ten minutes."""
        schedule = await scheduled(engine, make, Rule(every=10 * MINUTE, anchor=NOW))

        pending = []
        for _ in range(5):
            clock.advance(60)
            node = await another(place, clock)
            pending.append((await node.fire()).next_at)
            await node.close()
        await fire(engine, clock, until=NOW + 10 * MINUTE)

        assert pending == [NOW + 10 * MINUTE] * 5
        assert await made(engine, schedule) == [10]


class TestWhatChangesMeanwhile:
    async def test_a_paused_schedule_is_not_fired(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        schedule = await scheduled(engine, make)
        paused = edited(schedule, paused_at=NOW)
        await engine.change_schedule(paused, schedule.version, schedule.cursor)

        clock.advance(60)
        fired = await engine.fire()

        assert (fired.made, fired.next_at) == (0, None)

    @pytest.mark.parametrize("what", ["edited", "paused", "deleted"])
    async def test_what_was_decided_from_an_old_state_changes_nothing(
        self, engine: Engine, make: Make, clock: ManualClock, what: str
    ) -> None:
        """R6.4: it happens between the look and the commit."""
        schedule = await scheduled(engine, make)

        async def meanwhile() -> None:
            if what == "deleted":
                await engine.remove_schedule(schedule.id)
                return
            new = edited(schedule, paused_at=NOW if what == "paused" else None)
            await engine.change_schedule(new, schedule.version, schedule.cursor)

        clock.advance(60)
        store: Any = _Interrupted(engine.store, meanwhile)
        node = Engine(store, clock, new_rng(2))
        fired = await node.fire()

        assert fired.made == 0
        assert await made(engine, schedule) == []
        # One that was edited is still due: it is looked at again, but not in a tight loop.
        assert fired.next_at == (clock.now() + SECOND // 10 if what == "edited" else None)

    async def test_a_node_that_comes_second_everywhere_soon_gives_up(
        self,
        place: Place,
        engine: Engine,
        make: Make,
        clock: ManualClock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """R8.3: what another node has done need not be found out schedule by schedule."""
        monkeypatch.setattr(firing_steps, "BATCH", 2)
        other = await another(place, clock)
        for _ in range(10):
            await scheduled(engine, make)

        async def meanwhile() -> None:
            looks.append((await other.fire()).made)

        looks: list[int] = []
        clock.advance(60)
        store: Any = _Interrupted(engine.store, meanwhile)
        fired = await Engine(store, clock, new_rng(2)).fire()
        await other.close()

        assert (fired.made, looks) == (0, [10])


class _Interrupted:
    """A store on which something happens just before each `fire`."""

    def __init__(self, store: Store, meanwhile: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._meanwhile = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def fire(self, firings: Sequence[Firing], now: Micros) -> list[bool]:
        """Let it happen, then fire."""
        await self._meanwhile()
        return await self._store.fire(firings, now)
