"""What a node cannot read, and what it reads differently: other versions, other zones (R6.2)."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from rota import zones
from rota.clock import ManualClock
from rota.config import HOUR, MINUTE, SECOND
from rota.engine import Engine
from rota.engine import fire as firing_steps
from rota.errors import StoreError
from rota.model import Micros
from rota.policy.firing import Plan, plan
from rota.schedule import Firing, Rule, Schedule
from tests.engine.recurring import (
    Kept,
    another,
    fire,
    made,
    now_read,
    scheduled,
)
from tests.support.factories import NOW, Make
from tests.support.places import Place

Log = pytest.LogCaptureFixture
Patch = pytest.MonkeyPatch


class TestWhatCannotBeRead:
    @pytest.fixture(autouse=True)
    def small_steps(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A page holds less than what cannot be read."""
        monkeypatch.setattr(firing_steps, "STEP", 2)
        caplog.set_level(logging.ERROR, logger="rota.engine")

    async def test_is_left_to_others_and_holds_up_nothing(
        self, place: Place, engine: Engine, make: Make, clock: ManualClock, caplog: Log
    ) -> None:
        """Case B085: said once, counted each time; a page of nothing else does not stop it."""
        kept = Kept()
        node = await another(place, clock, kept)
        for number in range(5):
            await scheduled(engine, make, name=f"kyiv-{number}", cursor=NOW - HOUR)
        await _set_rule(place, '{"expression": "* * * * *", "tz": "Europe/Lunar"}')
        good = await scheduled(engine, make)

        clock.advance(60)
        steps = [await node.fire() for _ in range(5)]
        await node.close()

        assert await made(engine, good) == [1]
        assert len([r for r in caplog.records if "cannot be fired here" in r.message]) == 5
        assert set(kept.left_out) == {f"kyiv-{number}" for number in range(5)}
        # It looks again a second later, not at once and for ever.
        assert steps[-1].next_at == clock.now() + SECOND

    @pytest.mark.parametrize("fault", ["plan", "store"])
    async def test_may_be_a_fault_of_one_schedule_alone(
        self, engine: Engine, make: Make, clock: ManualClock, monkeypatch: Patch, fault: str
    ) -> None:
        """Whatever goes wrong with one does not keep the others from being fired."""
        bad = await scheduled(engine, make)
        good = await scheduled(engine, make)
        store_fire = engine.store.fire

        def planned(schedule: Schedule, *given: Any) -> Plan:
            if schedule.id == bad.id:
                raise OverflowError("date value out of range")
            return plan(schedule, *given)

        async def fired(firings: Sequence[Firing], now: Micros) -> list[bool]:
            if any(firing.schedule_id == bad.id for firing in firings):
                raise StoreError("a value that the store does not take")
            return await store_fire(firings, now)

        if fault == "plan":
            monkeypatch.setattr(firing_steps, "plan", planned)
        else:
            monkeypatch.setattr(engine.store, "fire", fired)
        clock.advance(60)
        await engine.fire()

        assert (await made(engine, bad), await made(engine, good)) == ([], [1])

    async def test_does_not_make_others_late(
        self, place: Place, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """What is due for ever is always the earliest; the next one that can be read counts."""
        await scheduled(engine, make, cursor=NOW - HOUR)
        await _set_rule(place, '{"expression": "* * * * *", "tz": "Europe/Lunar"}')
        soon = NOW + SECOND // 3
        good = await scheduled(engine, make, Rule(every=HOUR, anchor=soon))

        before = await engine.fire()
        clock.advance((soon - clock.now()) / SECOND)
        await engine.fire()

        assert before.next_at == soon == good.next_at
        assert len(await made(engine, good)) == 1

    async def test_is_also_what_a_newer_version_wrote(
        self, place: Place, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B085: a policy of tomorrow."""
        schedule = await scheduled(engine, make)
        await _set_rule(place, '{"expression": "* * * * *", "gap": "of tomorrow"}')
        good = await scheduled(engine, make)

        clock.advance(60)
        await engine.fire()

        assert (await made(engine, schedule), await made(engine, good)) == ([], [1])


async def _set_rule(place: Place, rule: str) -> None:
    cast = "::jsonb" if place.dialect == "postgres" else ""
    await place.run(f"update schedule set rule = '{rule}'{cast}")


class TestTimeZoneData:
    async def test_that_is_new_moves_next_slots_to_where_they_are_now(
        self, engine: Engine, make: Make
    ) -> None:
        """R6.2: the zone is stored, never an offset."""
        wrong = await scheduled(engine, make, Rule(expression="0 9 * * *", tz="Europe/Kyiv"))
        old = structs.replace(wrong, tz_data="2021a", next_slot=NOW + HOUR, next_at=NOW + HOUR)
        await engine.change_schedule(old, wrong.version, wrong.cursor)

        count = await engine.replan()
        after = await now_read(engine, wrong)

        assert count == 1
        assert (after.next_slot, after.tz_data) == (wrong.next_slot, zones.version())
        assert after.version == wrong.version
        assert await engine.replan() == 0

    async def test_of_an_older_node_does_not_undo_what_a_newer_one_did(
        self, engine: Engine, make: Make
    ) -> None:
        schedule = await scheduled(engine, make)
        newer = structs.replace(schedule, tz_data="2199a")
        await engine.change_schedule(newer, schedule.version, schedule.cursor)

        assert await engine.replan() == 0
        assert (await now_read(engine, schedule)).tz_data == "2199a"

    async def test_is_told_with_the_slot_that_it_found(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        schedule = await scheduled(engine, make)
        newer = structs.replace(schedule, tz_data="2199a")
        await engine.change_schedule(newer, schedule.version, schedule.cursor)

        await fire(engine, clock, until=NOW + MINUTE)

        assert (await now_read(engine, schedule)).tz_data == zones.version()
