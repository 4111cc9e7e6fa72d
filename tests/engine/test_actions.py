"""The engine amends tasks by their queue's aging, and carries actions on (R5.3, R5.4)."""

from typing import Any

import pytest
from msgspec import structs

from rota.actions import Action, ActionState, AmendOutcome, Changes, Do, On
from rota.config import HOUR, MINUTE, SECOND
from rota.engine import Engine
from rota.engine.actions import HELD
from rota.engine.deeds import USUAL
from rota.errors import StoreUnavailable
from rota.model import NewTask, State, TaskFilter
from rota.shares import QueueSettings
from tests.conformance.steps import bring, one
from tests.support.factories import LATER, NOW, Make
from tests.support.places import Place


@pytest.fixture
def make() -> Make:
    """Makes tasks."""
    return Make()


def action(make: Make, do: Do = Do.CANCEL, on: On = On.TASKS, **fields: Any) -> Action:
    """An action on everything that it usually means."""
    defaults: dict[str, Any] = {
        "id": make.id(),
        "do": do,
        "on": on,
        "where": TaskFilter(states=USUAL[do, on]),
        "created_at": NOW,
        "next_at": NOW,
    }
    return Action(**defaults | fields)


async def through(engine: Engine, begun: Action) -> Action:
    """Carry an action on to its end, and return it then."""
    await engine.begin_action(begun)
    for _ in range(100):
        if (await engine.carry_on()).next_at is None:
            break
    ended = await engine.action(begun.id)
    assert ended is not None
    assert ended.over
    return ended


async def stored(engine: Engine, make: Make, count: int, **fields: Any) -> list[NewTask]:
    """So many tasks."""
    tasks = make.tasks(count, **fields)
    await engine.store.submit(tasks, NOW)
    return tasks


async def states(engine: Engine, tasks: list[NewTask]) -> set[State]:
    """In which states the tasks are."""
    return {task.state for task in await engine.get([t.id for t in tasks]) if task is not None}


async def test_a_place_in_line_follows_from_the_queue_a_task_moves_to(
    engine: Engine, place: Place, make: Make
) -> None:
    """R7.2: with the aging of that queue, and in the class of its priority."""
    await engine.put_settings(QueueSettings(name="slow", aging=HOUR), 0)
    (task,) = await stored(engine, make, 1, priority=2)
    read = "select queue, class, rank from ready"

    answers = await engine.amend([task.id, make.id(), "x"], Changes(queue="slow"))
    assert answers == [AmendOutcome.DONE, AmendOutcome.NOT_FOUND, AmendOutcome.NOT_FOUND]
    assert await place.rows(read) == [("slow", 1, NOW + 2 * HOUR)]

    await engine.amend([task.id], Changes(priority=7))
    assert await place.rows(read) == [("slow", 3, NOW + 7 * HOUR)]


async def test_an_amendment_that_meets_another_one_is_done_anew(
    engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R5.4: neither of two changes is lost."""
    (task,) = await stored(engine, make, 1)
    placed = engine.store.placed
    looks = 0

    async def late(ids: Any) -> Any:
        nonlocal looks
        looks += 1
        found = await placed(ids)
        if looks == 1:
            monkeypatch.setattr(engine.store, "placed", placed)
            await engine.amend([task.id], Changes(queue="sms"))
            monkeypatch.setattr(engine.store, "placed", late)
        return found

    monkeypatch.setattr(engine.store, "placed", late)
    assert await engine.amend([task.id], Changes(priority=0)) == [AmendOutcome.DONE]

    read = await one(engine.store, task.id)
    assert looks > 1
    assert (read.queue, read.priority) == ("sms", 0)


async def test_an_action_goes_on_in_runs_until_nothing_is_left(engine: Engine, make: Make) -> None:
    """R5.3: runs of 1,000; what is made after it is left alone."""
    old = await stored(engine, make, 2_300)
    begun = action(make)
    new = await stored(engine, make, 3)

    await engine.begin_action(begun)
    steps = []
    while (carried := await engine.carry_on()).next_at is not None or carried.changed:
        steps.append(carried.changed)

    ended = await engine.action(begun.id)
    assert ended is not None
    assert (ended.state, ended.done, ended.changed) == (ActionState.COMPLETED, 2_300, 2_300)
    assert steps == [1_000, 1_000, 300]
    assert await states(engine, old[:10] + old[-10:]) == {State.CANCELLED}
    assert await states(engine, new) == {State.READY}


async def test_a_run_that_a_crash_cut_off_is_done_again_without_harm(
    engine: Engine, make: Make, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R5.3: a dead letter is replayed once, whoever carries on."""
    for _ in range(3):
        await bring(engine.store, make, State.FAILED)
    begun = action(make, Do.REPLAY, On.DEAD_LETTERS)
    await engine.begin_action(begun)

    async def dies(_: Action) -> bool:
        raise StoreUnavailable("the node dies here")

    with monkeypatch.context() as patched:
        patched.setattr(engine.store, "note_run", dies)
        with pytest.raises(StoreUnavailable):
            await engine.carry_on()
    assert (await engine.carry_on()).next_at == NOW + HELD  # still in the hands of the dead one
    clock.advance(HELD / SECOND)
    await engine.carry_on()

    ended = await engine.action(begun.id)
    assert ended is not None
    assert (ended.done, ended.changed, ended.skipped) == (3, 0, {"replayed_before": 3})
    assert (await engine.count(TaskFilter(), 100))[State.READY] == 3


async def test_a_throttled_action_keeps_to_its_rate(engine: Engine, make: Make, clock: Any) -> None:
    """R5.3: so many a second, on average and from the start."""
    await stored(engine, make, 25)
    await engine.begin_action(action(make, rate=10.0))
    began, done = clock.now(), 0
    while (carried := await engine.carry_on()).next_at is not None:
        done += carried.changed
        assert done <= 10 + 10 * (clock.now() - began) / SECOND
        clock.advance(max(0.0, (carried.next_at - clock.now()) / SECOND))
    assert done + carried.changed == 25
    assert clock.now() - began >= 2 * SECOND


async def test_a_stopped_action_changes_nothing_more(engine: Engine, make: Make) -> None:
    """R5.3."""
    tasks = await stored(engine, make, 1_500)
    begun = action(make)
    await engine.begin_action(begun)
    await engine.carry_on()

    assert await engine.stop_action(begun.id)
    assert (await engine.carry_on()).next_at is None

    ended = await engine.action(begun.id)
    assert ended is not None
    assert (ended.state, ended.changed) == (ActionState.STOPPED, 1_000)
    assert await states(engine, tasks[:500]) == {State.READY}


async def test_an_action_reaches_no_further_than_whoever_began_it(
    engine: Engine, make: Make
) -> None:
    """S2, B182: the tenant and the queues of its key are kept with it."""
    own = await stored(engine, make, 2, tenant="board", queue="sms")
    other_queue = await stored(engine, make, 2, tenant="board", queue="mail")
    foreign = await stored(engine, make, 2, tenant="other", queue="sms")

    ended = await through(engine, action(make, tenant="board", queues=("sms",)))

    assert ended.changed == 2
    assert await states(engine, own) == {State.CANCELLED}
    assert await states(engine, other_queue + foreign) == {State.READY}


DEEDS: list[tuple[Do, On, State, State | None, dict[str, Any]]] = [
    (Do.CANCEL, On.TASKS, State.RUNNING, State.RUNNING, {"deadline": MINUTE}),
    (Do.RETRY, On.TASKS, State.FAILED, State.READY, {}),
    (Do.AMEND, On.TASKS, State.READY, State.SCHEDULED, {"set": Changes(run_at=LATER)}),
    (Do.DELETE, On.TASKS, State.COMPLETED, None, {}),
    (Do.DELETE, On.DEAD_LETTERS, State.FAILED, None, {}),
    (Do.RETRY, On.DEAD_LETTERS, State.FAILED, State.READY, {}),
    (Do.REPLAY, On.DEAD_LETTERS, State.FAILED, State.FAILED, {}),
    (Do.DISCARD, On.DEAD_LETTERS, State.FAILED, State.FAILED, {"reason": "left"}),
]


@pytest.mark.parametrize("deed", DEEDS, ids=[f"{do}-{on}-{state}" for do, on, state, _, _ in DEEDS])
async def test_every_deed_is_carried_out(
    engine: Engine, make: Make, deed: tuple[Do, On, State, State | None, dict[str, Any]]
) -> None:
    """R5.3, R4.4."""
    do, on, before, after, fields = deed
    task = await bring(engine.store, make, before)

    ended = await through(engine, action(make, do, on, **fields))

    assert (ended.state, ended.done, ended.changed) == (ActionState.COMPLETED, 1, 1)
    (read,) = await engine.get([task.id])
    assert (read and read.state) == after


async def test_what_was_discarded_is_restored(engine: Engine, make: Make) -> None:
    """R4.4."""
    task = await bring(engine.store, make, State.FAILED)
    await engine.discard([task.id], "left")
    where = TaskFilter(states=(State.FAILED,), discarded=True)

    ended = await through(engine, action(make, Do.RESTORE, On.DEAD_LETTERS, where=where))

    assert ended.changed == 1
    assert (await one(engine.store, task.id)).discarded_at is None


async def test_old_actions_are_pruned(engine: Engine, make: Make, clock: Any) -> None:
    """R5.3: thirty days after their end."""
    ended = await through(engine, action(make))
    clock.advance(30 * 86_400 - 1)
    await engine.prune()
    assert await engine.action(ended.id) is not None
    clock.advance(2)
    await engine.prune()
    assert await engine.action(ended.id) is None


async def test_an_idle_node_asks_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """R2.4: one statement a look while no action runs."""
    asked = []
    hold = engine.store.hold_action

    async def counted(*given: Any) -> Any:
        asked.append(given)
        return await hold(*given)

    monkeypatch.setattr(engine.store, "hold_action", counted)
    assert (await engine.carry_on()).next_at is None
    assert asked == []
    assert structs.asdict(await engine.carry_on())["changed"] == 0


async def test_an_id_leads_to_its_task_however_old_it_is(engine: Engine, make: Make) -> None:
    """B170, R9.1: what somebody pastes is found at once, also beyond a look."""
    (old,) = await stored(engine, make, 1, key="cafe0001-hold", key_until=LATER)
    await stored(engine, make, 50)
    for length in (35, 36):
        where = TaskFilter(id_or_key=old.id[:length].upper())
        found = await engine.search(where, before_id=None, limit=5, most=5)
        assert (found.ids, found.next_id) == ([old.id], None)
    by_key = TaskFilter(id_or_key="cafe0001")
    assert (await engine.search(by_key, before_id=None, limit=5, most=100)).ids == [old.id]
