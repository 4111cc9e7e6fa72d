"""Schedules, edits and firings in any order, beside a plain model of what must come of them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec import structs

from rota.config import MINUTE
from rota.model import Micros, TaskFilter
from rota.schedule import Schedule, ScheduleFilter, Skip, SlotState
from rota.store.base import Store
from tests.support.factories import NOW, Make
from tests.support.places import Place
from tests.support.schedules import NO_GATE, a_schedule, firing, missed, runs_of

Run = Callable[[Coroutine[Any, Any, Any]], Any]
EXAMPLES = {"sqlite": 30, "postgres": 12}
NAMES = ("report", "audit", "backup")

which = st.sampled_from(NAMES)
steps = st.integers(1, 3)


class ScheduleMachine(RuleBasedStateMachine):
    """Every verb that changes a schedule, decided from its present state or from an older one."""

    def __init__(self, place: Place, store: Store, run: Run) -> None:
        super().__init__()
        run(place.wipe())
        self.store, self.run = store, run
        self.make = Make()
        self.now = NOW
        self.known: dict[str, Schedule] = {}
        self.seen: dict[str, list[Schedule]] = {name: [] for name in NAMES}
        """Earlier states, from which a slow node may still decide."""
        self.slots: dict[str, dict[Micros, tuple[str, bool]]] = {}
        self.skips: dict[str, list[Skip]] = {}
        self.live: dict[str, set[str]] = {}
        """The tasks of each schedule that there ever was, by its id."""

    def has(self) -> bool:
        return bool(self.known)

    def one(self, name: str) -> Schedule:
        """A schedule that there is, that of this name if it is among them."""
        return self.known.get(name) or next(iter(self.known.values()))

    def decided_from(self, name: str, ago: int) -> Schedule:
        """A state that somebody may decide from: the present one, or one of some steps ago."""
        present = self.one(name)
        return ([present, *reversed(self.seen[present.name])][: ago + 1])[-1]

    def became(self, schedule: Schedule) -> None:
        self.seen[schedule.name].append(self.known[schedule.name])
        self.known[schedule.name] = schedule

    # -- what schedules say ---------------------------------------------------------------------

    @rule(name=which)
    def create(self, name: str) -> None:
        schedule = a_schedule(self.make, name, cursor=self.now, next_slot=self.now + MINUTE)
        schedule = structs.replace(schedule, next_at=self.now + MINUTE)
        assert self.run(self.store.create_schedule(schedule)) == (name not in self.known)
        if name not in self.known:
            self.known[name] = schedule
            self.slots[schedule.id], self.skips[schedule.id] = {}, []
            self.live[schedule.id] = set()

    @precondition(has)
    @rule(name=which)
    def create_again(self, name: str) -> None:
        assert self.run(self.store.create_schedule(self.one(name)))

    @precondition(has)
    @rule(name=which)
    def remove(self, name: str) -> None:
        schedule = self.one(name)
        assert self.run(self.store.remove_schedule(schedule.id))
        del self.known[schedule.name]
        self.seen[schedule.name].append(schedule)
        del self.slots[schedule.id], self.skips[schedule.id]
        assert not self.run(self.store.remove_schedule(schedule.id))

    @precondition(has)
    @rule(name=which, ago=st.integers(0, 2), pause=st.booleans(), passed=st.integers(0, 2))
    def change(self, name: str, ago: int, pause: bool, passed: int) -> None:
        """Pause, or go on and record what that has cost."""
        seen = self.decided_from(name, ago)
        cursor = seen.cursor + passed * MINUTE
        wanted = structs.replace(
            seen,
            version=seen.version + 1,
            paused_at=self.now if pause else None,
            updated_at=self.now,
            cursor=cursor,
            next_slot=cursor + MINUTE,
            next_at=cursor + MINUTE,
        )
        skips = [missed(seen.cursor + MINUTE, cursor, SlotState.PAUSED)] if passed else []
        right = self.right(seen)
        change = self.store.change_schedule(wanted, seen.version, seen.cursor, skips)
        assert self.run(change) == right
        if right:
            present = self.known[seen.name]
            self.skips[seen.id] += skips
            self.became(
                structs.replace(
                    wanted,
                    skipped=present.skipped + passed,
                    fired=present.fired,
                    last_slot=present.last_slot,
                    last_fired_at=present.last_fired_at,
                )
            )

    def right(self, seen: Schedule) -> bool:
        """Whether what was decided from a state still applies."""
        present = self.known.get(seen.name)
        return present is not None and (present.id, present.version, present.cursor) == (
            seen.id,
            seen.version,
            seen.cursor,
        )

    # -- what becomes of slots ------------------------------------------------------------------

    @rule(minutes=steps)
    def advance(self, minutes: int) -> None:
        self.now += minutes * MINUTE

    @precondition(has)
    @rule(
        wanted=st.lists(
            st.tuples(which, st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
            min_size=1,
            max_size=3,
        )
    )
    def fire(self, wanted: list[tuple[str, int, int, int]]) -> None:
        """Several schedules in a batch, some of them twice, some decided from what is past."""
        firings, expected, done = [], [], set()
        for name, ago, runs, passed in wanted:
            seen = self.decided_from(name, ago)
            first = seen.cursor + MINUTE
            at = [first + n * MINUTE for n in range(runs)]
            upto = seen.cursor + (runs + passed) * MINUTE
            skips = [missed(first + runs * MINUTE, upto)] if passed else []
            firings.append(firing(self.make, seen, *at, upto=upto, skips=skips, **NO_GATE))
            present = self.known.get(seen.name)
            right = self.right(seen) and present is not None and present.paused_at is None
            right = right and seen.id not in done
            expected.append(right)
            done |= {seen.id} if right else set()
        assert self.run(self.store.fire(firings, self.now)) == expected
        for each, right in zip(firings, expected, strict=True):
            if right:
                self.fired(each)

    def fired(self, each: Any) -> None:
        (schedule,) = (one for one in self.known.values() if one.id == each.schedule_id)
        taken = self.slots[schedule.id]
        made = [run for run in each.runs if run.slot not in taken]
        for run in made:
            taken[run.slot] = (run.task.id, False)
            self.live[schedule.id].add(run.task.id)
        self.skips[schedule.id] += each.skips
        last = max((run.slot for run in made), default=0)
        self.became(
            structs.replace(
                schedule,
                cursor=each.new_cursor,
                next_slot=each.next_slot,
                next_at=each.next_at,
                fired=schedule.fired + len(made),
                skipped=schedule.skipped + sum(skip.count or 0 for skip in each.skips),
                last_slot=max(schedule.last_slot or 0, last) or None,
                last_fired_at=self.now if made else schedule.last_fired_at,
            )
        )

    @precondition(has)
    @rule(name=which, back=st.integers(-2, 4), count=st.integers(1, 3))
    def backfill(self, name: str, back: int, count: int) -> None:
        """Of what was skipped, of what has fired, of what is still to come."""
        schedule = self.one(name)
        at = [schedule.cursor - back * MINUTE + n * MINUTE for n in range(count)]
        runs = runs_of(self.make, schedule, *at, **NO_GATE)
        taken = self.slots[schedule.id]
        expected = [run.slot not in taken for run in runs]
        extra = self.store.fire_extra(schedule.id, runs, self.now, slots=True)
        assert self.run(extra) == expected
        for run, made in zip(runs, expected, strict=True):
            if made:
                taken[run.slot] = (run.task.id, True)
                self.live[schedule.id].add(run.task.id)

    @rule(name=which, n=st.integers(0, 9))
    def cancel_a_task(self, name: str, n: int) -> None:
        """One is over: its slot stays taken."""
        every = [(id_, task) for id_, tasks in self.live.items() for task in sorted(tasks)]
        if every:
            schedule_id, task_id = every[n % len(every)]
            self.run(self.store.cancel([task_id], self.now))
            self.live[schedule_id].discard(task_id)

    # -- what must hold -------------------------------------------------------------------------

    @invariant()
    def store_and_model_agree(self) -> None:
        found = self.run(self.store.find_schedules(ScheduleFilter()))
        assert found == [self.known[name] for name in sorted(self.known)]
        due = self.run(self.store.due_schedules(self.now, 100))
        assert {one.schedule.name: one.live for one in due} == {
            schedule.name: len(self.live[schedule.id])
            for schedule in self.known.values()
            if schedule.paused_at is None and (schedule.next_at or 0) <= self.now
        }

    @invariant()
    def nothing_disappears_silently(self) -> None:
        for schedule in self.known.values():
            listed = self.run(self.store.slots(schedule.id, None, 10_000))
            runs = {one.slot: (one.task_id, one.backfilled) for one in listed if one.task_id}
            assert runs == self.slots[schedule.id]
            skips = [(one.slot, one.count, one.state) for one in listed if not one.task_id]
            assert sorted(skips) == sorted(
                (skip.first, skip.count, skip.state) for skip in self.skips[schedule.id]
            )
            assert [one.slot for one in listed] == sorted(
                (one.slot for one in listed), reverse=True
            )

    @invariant()
    def each_slot_has_one_task(self) -> None:
        for schedule_id, tasks in self.live.items():
            assert self.run(self.store.live([schedule_id], 1000)) == [len(tasks)]
            found = self.run(self.store.find(TaskFilter(schedule=schedule_id), limit=1000))
            assert len({task.slot for task in found}) == len(found)


@pytest.mark.slow
def test_the_store_does_what_a_plain_model_of_schedules_does(
    place: Place, store: Store, runner: asyncio.Runner
) -> None:
    """F49, invariant 6."""

    class Machine(ScheduleMachine):
        def __init__(self) -> None:
            super().__init__(place, store, runner.run)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES[place.dialect],
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            # What fails is told as it was found: to shrink it takes minutes on real stores.
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
