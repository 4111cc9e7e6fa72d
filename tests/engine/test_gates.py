"""Gates on an engine: room that becomes free is taken at once, and never twice (R7.4, R6.6)."""

from collections.abc import Sequence
from typing import Any

import pytest

from rota.clock import ManualClock, new_rng
from rota.config import LEASE, LOST_LEASES, MINUTE, SECOND
from rota.engine import Engine, gates
from rota.errors import StoreUnavailable
from rota.model import AttemptError, Micros, NewTask
from rota.policy.lifecycle import Failed, Released, Snoozed
from rota.store.base import Store
from tests.engine.recurring import Hands, heard
from tests.support.factories import NOW, Make, completed

KEY = "school-7"


def gated(make: Make, count: int, room: int = 1, key: str = KEY, **fields: Any) -> list[NewTask]:
    """Tasks that share a gate with so much room."""
    return make.tasks(count, concurrency_key=key, max_concurrency=room, **fields)


async def submitted(engine: Engine, tasks: Sequence[NewTask]) -> list[str]:
    """Submit tasks and bring them to their gate; return their ids."""
    await engine.submit(tasks)
    await engine.stage()
    return [task.id for task in tasks]


async def states(engine: Engine, ids: Sequence[str]) -> list[str]:
    """Where the tasks are."""
    return [str(task.state) if task else "gone" for task in await engine.get(ids)]


def failure(clock: ManualClock) -> Failed:
    """A handler raised."""
    return Failed(AttemptError(at=clock.now(), attempt=1, type="E", message="no"))


class TestRoom:
    async def test_that_an_end_leaves_is_taken_by_the_next_without_a_stager(
        self, engine: Engine, make: Make
    ) -> None:
        ids = await submitted(engine, gated(make, 5, room=2))
        hands = Hands(engine, make)

        order = []
        while taken := await hands.take():
            order.append([ids.index(task.id) for task in taken])
            assert await hands.end(taken[:1]) == [True]
            await hands.end(taken[1:])

        assert order == [[0, 1], [2, 3], [4]]

    @pytest.mark.parametrize("ending", [failure, lambda clock: Snoozed(clock.now() + MINUTE)])
    async def test_is_left_by_a_run_that_is_to_be_tried_again(
        self, engine: Engine, make: Make, clock: ManualClock, ending: Any
    ) -> None:
        """Case B097: the next one goes in; the first comes back when there is room, no error."""
        ids = await submitted(engine, gated(make, 2))
        hands = Hands(engine, make)

        first = await hands.take()
        await hands.end(first, ending(clock))
        second = await hands.take()
        clock.advance(120)
        await engine.stage()
        full = await hands.take()
        await hands.end(second)
        again = await hands.take()

        assert [task.id for task in (*first, *second, *again)] == [ids[0], ids[1], ids[0]]
        assert full == []

    async def test_is_kept_by_a_run_that_is_handed_back(self, engine: Engine, make: Make) -> None:
        ids = await submitted(engine, gated(make, 2))
        hands = Hands(engine, make)

        await hands.end(await hands.take(), Released())

        assert await states(engine, ids) == ["ready", "scheduled"]

    async def test_is_taken_where_a_handler_completed_its_task_by_itself(
        self, engine: Engine, make: Make
    ) -> None:
        """R3.5: the report of it is refused, but says that the task has left its gate."""
        ids = await submitted(engine, gated(make, 2))
        hands = Hands(engine, make)

        taken = await hands.take()
        await engine.store.finish(hands.session.id, [completed(task) for task in taken], NOW)
        refused = await hands.end(taken)

        assert (refused, await states(engine, ids)) == ([False], ["completed", "ready"])

    async def test_is_not_taken_twice_when_a_lost_worker_reports_after_all(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B127: room is what is not there, never a count that could be given back twice."""
        await submitted(engine, gated(make, 12))
        lost = Hands(engine, make)
        stale = await lost.take()
        await engine.store.close_session(lost.session.id, clock.now())
        await engine.reap()
        hands = Hands(engine, make)

        most = 0
        taken = await hands.take()
        for _ in range(11):
            assert await lost.end(stale) == [False]
            taken += await hands.take()
            most = max(most, len(taken))
            await hands.end([taken.pop()])
            taken += await hands.take()

        assert most == 1

    async def test_is_found_again_after_its_holder_was_killed(
        self, engine: Engine, make: Make, clock: ManualClock
    ) -> None:
        """Case B128: within the lease and a tick; here the task is set aside, so the next runs."""
        ids = await submitted(engine, gated(make, 2))

        for _ in range(LOST_LEASES):
            session = make.session(started_at=clock.now(), lease_until=clock.now() + LEASE)
            await engine.open_session(session)
            assert len((await engine.claim(session.id, ("default",), 1, ())).tasks) == 1
            clock.advance(LEASE / SECOND + 1)
            await engine.reap()

        assert await states(engine, ids) == ["failed", "ready"]


class TestTheDuty:
    async def test_finds_room_that_nobody_told_of(self, engine: Engine, make: Make) -> None:
        """A task that had not started was cancelled at its gate's inner side."""
        ids = await submitted(engine, gated(make, 2))
        await engine.cancel(ids[:1])

        before = await states(engine, ids)
        admitted = await engine.admit()

        assert before == ["cancelled", "scheduled"]
        assert (admitted.moved, admitted.more) == (1, False)
        assert await states(engine, ids) == ["cancelled", "ready"]

    async def test_says_whether_anything_waits(self, engine: Engine, make: Make) -> None:
        """R2.4: it need not look often while nothing does."""
        quiet = await engine.admit()
        await submitted(engine, gated(make, 2))
        busy = await engine.admit()

        assert (quiet.waiting, busy.waiting, busy.moved) == (False, True, 0)

    async def test_gets_past_gates_that_are_full(
        self, engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One look does not begin where the last one began."""
        monkeypatch.setattr(gates, "PAGE", 2)
        for number in range(4):
            ids = await submitted(engine, gated(make, 2, key=f"school-{number}"))
        await engine.cancel(ids[:1])

        steps = [await engine.admit() for _ in range(3)]

        assert [step.moved for step in steps] == [0, 1, 0]

    async def test_goes_round_over_more_gates_than_one_look_holds(
        self, engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(gates, "PAGE", 2)
        inside = []
        for number in range(5):
            ids = await submitted(engine, gated(make, 2, key=f"school-{number}"))
            inside.append(ids[0])
        await engine.cancel(inside)

        steps = [await engine.admit() for _ in range(4)]

        assert [step.moved for step in steps] == [2, 2, 1, 0]
        assert [step.more for step in steps] == [True, True, False, False]
        assert [step.waiting for step in steps] == [True, True, True, False]


class TestHints:
    async def test_wake_the_stager_for_tasks_that_are_due_at_a_gate(
        self, engine: Engine, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """R2.2: they are not ready yet, and a hint of what is ready wakes the claimers alone."""
        told = heard(engine, monkeypatch)

        await engine.submit(gated(make, 1))

        assert [at > 0 for at in told] == [True]
        assert told[0] - clock.now() < SECOND

    async def test_wake_both_for_a_dead_letter_that_is_to_run_again(
        self, engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
    ) -> None:
        """It may have to wait at a gate, or none."""
        (task_id,) = await submitted(engine, gated(make, 1))
        hands = Hands(engine, make)
        await hands.end(await hands.take(), Failed(failure(clock).error, permanent=True))
        told = heard(engine, monkeypatch)

        await engine.retry([task_id])

        assert [at > 0 for at in told] == [False, True]

    async def test_wake_the_claimers_when_an_end_lets_the_next_one_in(
        self, engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await submitted(engine, gated(make, 2))
        hands = Hands(engine, make)
        taken = await hands.take()
        told = heard(engine, monkeypatch)

        await hands.end(taken)

        assert told == [0]


async def test_a_report_counts_although_letting_in_the_next_failed(
    engine: Engine, make: Make, clock: ManualClock
) -> None:
    """What left has left; to answer with an error would have it reported again and refused."""
    ids = await submitted(engine, gated(make, 2))
    store: Any = _Closed(engine.store)
    hands = Hands(Engine(store, clock, new_rng(2)), make)

    applied = await hands.end(await hands.take())
    between = await states(engine, ids)
    await engine.admit()

    assert applied == [True]
    assert between == ["completed", "scheduled"]
    assert await states(engine, ids) == ["completed", "ready"]


class _Closed:
    """A store that is out of reach whenever something is to be let in."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def admit(self, keys: Sequence[str], now: Micros) -> int:
        """Fail."""
        raise StoreUnavailable("away")
