"""Slots become tasks: each once, whatever the nodes and the clock do, on both stores (R6.4)."""

import logging

import pytest
from msgspec import structs

from rota.clock import ManualClock
from rota.config import HOUR, MINUTE, SECOND
from rota.engine import Engine
from rota.model import State, rank_of
from rota.policy.jitter import offset
from rota.schedule import Gap, Rule, SlotState
from rota.store.base import CHANGED
from tests.engine.recurring import (
    MINUTELY,
    Hands,
    Kept,
    another,
    fire,
    heard,
    made,
    now_read,
    runs,
    scheduled,
    skips,
)
from tests.support.factories import NOW, Make
from tests.support.places import Place
from tests.support.schedules import REPORT, edited

MISSED, OVERLAP = SlotState.MISSED, SlotState.OVERLAP
SECONDLY = Rule(every=SECOND)


class TestOneSlot:
    async def test_becomes_the_task_that_the_schedule_describes(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        work = structs.replace(REPORT, tenant="board", priority=2, tags=("daily",), expires_in=HOUR)
        schedule = await scheduled(engine, make, work=work, jitter=30 * SECOND)
        slot = NOW + MINUTE
        late = offset(schedule.id, 30 * SECOND)

        await fire(engine, clock, until=NOW + 100 * SECOND)
        (task,) = await runs(engine, schedule)

        assert (task.kind, task.queue, task.tenant, task.priority) == (
            "report", "default", "board", 2,
        )  # fmt: skip
        assert (task.payload, task.tags) == ({"school": 7}, ("daily",))
        assert (task.schedule, task.slot) == (schedule.id, slot)
        assert (task.run_at, task.expires_at) == (slot + late, slot + late + HOUR)
        assert (task.concurrency_key, task.max_concurrency) == (f"schedule:{schedule.id}", 1)
        assert rank_of(task.run_at, task.priority) == slot + late + 20 * MINUTE

    async def test_is_fired_at_its_instant_and_moves_the_schedule_on(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """R6.5: `last_fired_at` is durable."""
        schedule = await scheduled(engine, make)

        clock.advance(59.999999)
        early = await engine.fire()
        clock.advance(0.000001)
        fired = await engine.fire()
        after = await now_read(engine, schedule)

        assert (early.made, early.next_at) == (0, NOW + MINUTE)
        assert (fired.made, fired.skipped, fired.next_at) == (1, 0, NOW + 2 * MINUTE)
        assert (after.last_slot, after.last_fired_at) == (NOW + MINUTE, NOW + MINUTE)
        assert (after.cursor, after.next_slot, after.fired) == (
            NOW + MINUTE, NOW + 2 * MINUTE, 1,
        )  # fmt: skip

    async def test_is_ready_for_a_worker_at_once(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """R2.2: its gate has room, so it does not wait for the stager."""
        await scheduled(engine, make)

        clock.advance(60)
        await engine.fire()

        assert len(await Hands(engine, make).take()) == 1

    async def test_that_is_1_2_seconds_late_runs_and_the_lateness_is_measured(
        self, place: Place, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B089; the backlog is what is due and not finished."""
        kept = Kept()
        node = await another(place, clock, kept)
        schedule = await scheduled(engine, make, SECONDLY, overlap="allow", cursor=NOW + SECOND)

        clock.advance(3.2)
        await node.fire()
        await node.close()

        ((seen,),) = kept.batches
        assert (seen.schedule, seen.backlog) == (schedule.name, 2)
        assert seen.lateness == pytest.approx((1.2, 0.2))

    async def test_of_a_time_that_does_not_exist_is_on_record(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """R6.3: nothing disappears silently. 2027-03-28 02:30 in Berlin, `NOW` is 2027-01-15."""
        rule = Rule(expression="30 2 28,29 3 *", tz="Europe/Berlin", gap=Gap.SKIP)
        schedule = await scheduled(engine, make, rule)

        await fire(engine, clock, until=(schedule.next_at or 0) + 1)

        assert [state for _, _, state in await skips(engine, schedule)] == [SlotState.GAP]
        assert len(await runs(engine, schedule)) == 1


class TestHints:
    async def test_wake_the_workers_for_what_was_made(
        self, engine: Engine, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """R2.2: and nobody where nothing was."""
        await scheduled(engine, make)
        told = heard(engine, monkeypatch)

        clock.advance(60)
        await engine.fire()
        clock.advance(60)
        await engine.fire()  # the first run is not over, so that the slot is skipped

        assert told == [0]

    async def test_tell_whoever_is_asked_to_stop(
        self, engine: Engine, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await scheduled(engine, make, overlap="cancel_previous")
        await fire(engine, clock, until=NOW + MINUTE)
        told = heard(engine, monkeypatch)

        await fire(engine, clock, until=NOW + 2 * MINUTE)

        assert told == [CHANGED]

    async def test_tell_the_nodes_of_a_schedule_that_is_new_or_another_one(
        self, engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Their next firing may be sooner than they know."""
        told = heard(engine, monkeypatch)

        schedule = await scheduled(engine, make)
        again = await engine.create_schedule(structs.replace(schedule, id=make.id()))
        await engine.change_schedule(edited(schedule), schedule.version, schedule.cursor)

        assert (again, told) == (False, [CHANGED, CHANGED])


class TestAnOutage:
    async def test_of_101_minutes_runs_once_and_the_rest_is_on_record(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B088: then the schedule carries on at the next minute."""
        schedule = await scheduled(engine, make)

        clock.advance(101 * 60 + 30)
        await engine.fire()
        await Hands(engine, make).end(await Hands(engine, make).take())
        await fire(engine, clock, until=NOW + 102 * MINUTE)
        after = await now_read(engine, schedule)

        assert await skips(engine, schedule) == [(1, 100, MISSED), (102, 1, OVERLAP)]
        assert (after.fired, after.skipped, after.last_slot) == (1, 101, NOW + 101 * MINUTE)

    async def test_is_made_good_one_run_after_the_other(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B088 with `run_all`: all are made, and no two of them run at once."""
        schedule = await scheduled(engine, make, missed="run_all", overlap="queue", max_pending=100)
        hands = Hands(engine, make)

        clock.advance(101 * 60 + 30)
        fired = await engine.fire()
        order = []
        for _ in range(10):
            (task,) = await hands.take()
            order.append(((task.slot or 0) - NOW) // MINUTE)
            await hands.end([task])

        assert fired.made == 101
        assert await made(engine, schedule) == [*range(1, 102)]
        assert order == [*range(1, 11)]
        assert await skips(engine, schedule) == []

    async def test_over_a_deploy_costs_no_slot(
        self, place: Place, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B092: the leader stops ten seconds before the slot, the next starts 40 s after."""
        kept = Kept()
        schedule = await scheduled(engine, make, Rule(expression="*/15 * * * *"))
        await fire(engine, clock, until=NOW + 890 * SECOND)

        clock.advance(50)
        node = await another(place, clock, kept)
        await node.fire()
        await node.close()

        assert await made(engine, schedule) == [15]
        assert kept.batches[0][0].lateness == pytest.approx((40.0,))

    async def test_of_three_leaders_in_five_minutes_leaves_no_slot_without_a_record(
        self, place: Place, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B119: schedules every ten seconds; each leader dies a second before a slot."""
        schedule = await scheduled(engine, make, Rule(every=10 * SECOND), overlap="allow")

        for minute in range(1, 6):
            node = await another(place, clock)
            await fire(node, clock, until=NOW + minute * MINUTE - SECOND)
            await node.close()
        await fire(engine, clock, until=NOW + 5 * MINUTE)

        tens = [((task.slot or 0) - NOW) // SECOND for task in await runs(engine, schedule)]
        assert tens == [*range(10, 301, 10)]


class TestTheClock:
    async def test_an_hour_back_for_ten_seconds_repeats_nothing(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B164: the next slot is on time once the clock is right again."""
        schedule = await scheduled(engine, make, overlap="allow")
        await fire(engine, clock, until=NOW + MINUTE)

        clock.step_wall(-3600)
        back = await engine.fire()
        clock.advance(10)
        await engine.fire()
        clock.step_wall(3600)
        await fire(engine, clock, until=NOW + 2 * MINUTE)

        assert (back.made, back.next_at) == (0, NOW + 2 * MINUTE)
        assert await made(engine, schedule) == [1, 2]

    async def test_an_hour_forward_is_no_burst(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B094: every five minutes; one run and not twelve."""
        schedule = await scheduled(engine, make, Rule(every=5 * MINUTE, anchor=NOW))

        clock.step_wall(62 * 60)
        await engine.fire()

        assert await made(engine, schedule) == [60]
        assert await skips(engine, schedule) == [(5, 11, MISSED)]

    async def test_a_slot_26_days_ahead_is_not_fired_before(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B040."""
        far = Rule(every=26 * 24 * HOUR, anchor=NOW)
        schedule = await scheduled(engine, make, far)

        asked = await engine.fire()
        clock.advance(26 * 86_400 - 1)
        early = await engine.fire()
        clock.advance(1)
        await engine.fire()

        assert (asked.next_at, early.made) == (NOW + 26 * 24 * HOUR, 0)
        assert len(await runs(engine, schedule)) == 1


class TestOverlap:
    async def test_a_schedule_does_not_overlap_itself(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """R6.6: the default. The slots are on record, and it goes on when the run is over."""
        schedule = await scheduled(engine, make)
        hands = Hands(engine, make)

        await fire(engine, clock, until=NOW + MINUTE)
        taken = await hands.take()
        await fire(engine, clock, until=NOW + 3 * MINUTE)
        await hands.end(taken)
        await fire(engine, clock, until=NOW + 4 * MINUTE)

        assert await made(engine, schedule) == [1, 4]
        assert await skips(engine, schedule) == [(2, 1, OVERLAP), (3, 1, OVERLAP)]

    async def test_runs_that_are_queued_go_one_after_the_other(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        schedule = await scheduled(engine, make, overlap="queue", max_pending=2)
        hands = Hands(engine, make)

        await fire(engine, clock, until=NOW + 5 * MINUTE)
        inside = await hands.take()
        none = await hands.take()
        await hands.end(inside)
        after = await hands.take()

        assert await made(engine, schedule) == [1, 2, 3]
        assert ([len(inside), len(none), len(after)]) == [1, 0, 1]
        assert (after[0].slot or 0) == NOW + 2 * MINUTE

    async def test_the_previous_run_is_cancelled_and_the_new_one_waits_for_its_end(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        schedule = await scheduled(engine, make, overlap="cancel_previous")
        hands = Hands(engine, make)

        await fire(engine, clock, until=NOW + MINUTE)
        (running,) = await hands.take()
        await fire(engine, clock, until=NOW + 2 * MINUTE)
        old, new = await runs(engine, schedule)
        none = await hands.take()
        await hands.end([running])
        (next_one,) = await hands.take()

        assert old.cancel_requested_at == NOW + 2 * MINUTE
        assert (new.state, new.at_gate, none) == (State.SCHEDULED, True, [])
        assert next_one.slot == NOW + 2 * MINUTE

    async def test_runs_side_by_side_where_that_is_allowed(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        await scheduled(engine, make, overlap="allow")

        await fire(engine, clock, until=NOW + 3 * MINUTE)

        assert len(await Hands(engine, make).take()) == 3

    async def test_a_schedule_is_over_after_its_last_run(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        schedule = await scheduled(engine, make, overlap="allow", max_runs=2)

        await fire(engine, clock, until=NOW + 10 * MINUTE)
        after = await now_read(engine, schedule)

        assert await made(engine, schedule) == [1, 2]
        assert (after.next_slot, after.next_at, after.fired) == (None, None, 2)


async def test_telemetry_that_fails_stops_no_schedule(
    place: Place, engine: Engine, make: Make, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Kept):
        def fired(self, batch: object) -> None:
            raise RuntimeError("no room in the register")

    caplog.set_level(logging.CRITICAL)
    node = await another(place, clock, Failing())
    schedule = await scheduled(engine, make, MINUTELY)

    clock.advance(60)
    fired = await node.fire()
    await node.close()

    assert (fired.made, await made(engine, schedule)) == (1, [1])
