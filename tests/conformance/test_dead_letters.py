"""Dead letters: replayed once, edited, set aside and taken back (R4.4)."""

import asyncio
from typing import Any

import msgspec
import pytest

from rota.config import LEVEL, MINUTE
from rota.model import Accepted, CancelOutcome, Note, RetryOutcome, State, TaskFilter
from rota.store.base import Store
from tests.conformance.steps import EVERY_TASK, bring, counts, one, open_worker, take
from tests.support.factories import LATER, NOW, Make, completed, error, failed

THEN = LATER + 7
FAILED = TaskFilter(states=(State.FAILED,))
DISCARDED = TaskFilter(states=(State.FAILED,), discarded=True)


async def dead(store: Store, make: Make, count: int = 1, **fields: Any) -> list[str]:
    """Dead letters; their ids rise."""
    return [(await bring(store, make, State.FAILED, make.task(**fields))).id for _ in range(count)]


# -- replay -------------------------------------------------------------------------------------


async def test_a_replay_makes_a_new_task_of_a_dead_letter(store: Store, make: Make) -> None:
    """R4.4: with payload, options, headers and tags of the original; each knows of the other."""
    original = make.task(
        payload='{"student_id":7}',
        priority=3,
        tenant="board",
        queue="sms",
        timeout=30 * MINUTE,
        retry='{"max_attempts":9}',
        tags=("results", "a"),
        headers='{"trace":"1"}',
        key="hold-17",
        key_until=LATER,
    )
    await bring(store, make, State.FAILED, original)
    before = await one(store, original.id)
    copy = make.id()

    assert await store.replay([original.id], [copy], THEN) == [Accepted(copy)]

    made = await one(store, copy)
    assert made == msgspec.structs.replace(
        before,
        id=copy,
        state=State.READY,
        created_at=THEN,
        run_at=THEN,
        started_at=None,
        finished_at=None,
        key=None,
        attempt=0,
        fence=0,
        session=None,
        errors=(),
        reason=None,
        group=None,
        replay_of=original.id,
    )
    assert await one(store, original.id) == msgspec.structs.replace(before, replayed_as=copy)


async def test_a_copy_runs_in_its_turn_and_counts_anew(store: Store, make: Make) -> None:
    """R4.4, R7.2: its rank is that of a task submitted now."""
    (original,) = await dead(store, make, priority=4)
    behind = make.task(run_at=THEN, rank=THEN + 4 * LEVEL + 1, priority=4)
    copy, _ = make.id(), await store.submit([behind], THEN)
    await store.replay([original], [copy], THEN)
    session = await open_worker(store, make, at=THEN)

    claimed = await take(store, session, now=THEN)

    assert [task.id for task in claimed] == [copy, behind.id]
    assert (claimed[0].attempt, claimed[0].fence, claimed[0].lost) == (1, 1, 0)
    assert msgspec.json.decode(claimed[0].payload) == {"student_id": 1}
    await store.finish(session, [completed(claimed[0])], THEN)
    assert (await one(store, copy)).replay_of == original


async def test_a_dead_letter_is_replayed_once(store: Store, make: Make) -> None:
    """F58: a repeat, in the same call or after a kill, is told of the first copy."""
    first, second = await dead(store, make, 2)
    copies = [make.id() for _ in range(3)]

    answers = await store.replay([first, second, first], copies, THEN)
    assert answers == [Accepted(copies[0]), Accepted(copies[1]), Accepted(copies[0], created=False)]
    assert await store.replay([second, first], [make.id(), make.id()], THEN) == [
        Accepted(copies[1], created=False),
        Accepted(copies[0], created=False),
    ]
    # The very call whose answer was lost.
    assert await store.replay([first, second], copies[:2], THEN) == [
        Accepted(copies[0], created=False),
        Accepted(copies[1], created=False),
    ]

    assert await counts(store) == {State.READY: 2, State.FAILED: 2}


async def test_two_who_replay_at_once_make_one_copy(store: Store, other: Store, make: Make) -> None:
    """F58: each dead letter once, whoever comes first; both are told of it."""
    ids = await dead(store, make, 20)
    mine, theirs = [make.id() for _ in ids], [make.id() for _ in ids]

    answers = await asyncio.gather(
        store.replay(ids, mine, THEN), other.replay(ids[::-1], theirs[::-1], THEN)
    )

    told = [answer for answer in answers[0] if answer], [a for a in answers[1][::-1] if a]
    assert [answer.id for answer in told[0]] == [answer.id for answer in told[1]]
    assert sum(answer.created for answer in [*told[0], *told[1]]) == 20
    assert await counts(store) == {State.READY: 20, State.FAILED: 20}


@pytest.mark.parametrize("state", [state for state in State if state is not State.FAILED])
async def test_only_dead_letters_are_replayed(store: Store, make: Make, state: State) -> None:
    """R4.4: anything else is None, and nothing is made of it; neither of an unknown id."""
    task = await bring(store, make, state)
    (letter,) = await dead(store, make, queue="other")
    copies = [make.id() for _ in range(3)]

    answers = await store.replay([task.id, letter, make.id()], copies, THEN)

    assert answers == [None, Accepted(copies[1]), None]
    assert await store.get([copies[0], copies[2]]) == [None, None]
    assert await store.replay([], [], THEN) == []


async def test_a_copy_that_fails_can_be_replayed_itself(store: Store, make: Make) -> None:
    """R4.4: a chain of which each link knows its neighbours."""
    (first,) = await dead(store, make)
    second, third = make.id(), make.id()
    await store.replay([first], [second], NOW)
    session = await open_worker(store, make)
    (claimed,) = await take(store, session)
    await store.finish(session, [failed(claimed, error())], NOW)

    assert await store.replay([second], [third], THEN) == [Accepted(third)]

    read = await one(store, second)
    assert (read.replay_of, read.replayed_as) == (first, third)
    assert (await one(store, third)).replay_of == second


async def test_a_copy_keeps_the_checkpoint_and_drops_an_old_expiry(
    store: Store, make: Make
) -> None:
    """R3.5: effects up to there are not repeated; a person wants it to run although it is late."""
    session = await open_worker(store, make)
    tasks = [make.task(expires_at=THEN), make.task(expires_at=THEN + 1)]
    await store.submit(tasks, NOW)
    claimed = await take(store, session)
    await store.note(session, [Note(task.id, 1, 3, 9, "[3]") for task in claimed])
    await store.finish(session, [failed(task, error()) for task in claimed], NOW)
    copies = [make.id(), make.id()]

    await store.replay([task.id for task in tasks], copies, THEN)

    read = [await one(store, copy) for copy in copies]
    assert [task.expires_at for task in read] == [None, THEN + 1]
    assert [(task.checkpoint, task.progress) for task in read] == [([3], None)] * 2


async def test_the_key_of_a_dead_letter_stays_with_it(store: Store, make: Make) -> None:
    """R1.4: the first task under a key is the one that a repeat is told of."""
    original = await bring(store, make, State.FAILED, make.keyed("hold-17"))
    await store.replay([original.id], [make.id()], NOW)

    again = await store.submit([make.keyed("hold-17")], NOW)

    assert again == [Accepted(original.id, created=False)]


# -- edit, discard, restore ---------------------------------------------------------------------


async def test_a_payload_can_be_mended_before_a_replay(store: Store, make: Make) -> None:
    """R4.4: the copy gets what is there now, and so does a retry."""
    first, second = await dead(store, make, 2)

    assert await store.edit_payload(first, '{"student_id":2,"note":"ü"}')
    assert await store.edit_payload(second, '{"student_id":3}')

    copy = make.id()
    await store.replay([first], [copy], THEN)
    await store.retry([second], THEN)
    payloads = [(await one(store, task_id)).payload for task_id in (first, copy, second)]
    assert payloads == [{"student_id": 2, "note": "ü"}] * 2 + [{"student_id": 3}]


async def test_what_is_dealt_with_is_not_edited(store: Store, make: Make) -> None:
    """R4.4: nor is what lives or is over."""
    replayed, discarded = await dead(store, make, 2)
    await store.replay([replayed], [make.id()], NOW)
    await store.discard([discarded], "wrong number", NOW)
    ready = await bring(store, make, State.READY, make.task(queue="other"))

    for task_id in (replayed, discarded, ready.id, make.id()):
        assert not await store.edit_payload(task_id, '{"student_id":9}')

    kept = await store.get([replayed, discarded, ready.id])
    assert [task and task.payload for task in kept] == [{"student_id": 1}] * 3


async def test_a_discarded_dead_letter_is_set_aside_and_can_be_taken_back(
    store: Store, make: Make
) -> None:
    """R4.4: it is not found among the others, not replayed, not retried, until it is restored."""
    first, second = await dead(store, make, 2)
    before = await one(store, first)

    assert await store.discard([first], "wrong number", THEN) == [True]

    aside = {"discarded_at": THEN, "discard_reason": "wrong number"}
    assert await one(store, first) == msgspec.structs.replace(before, **aside)
    assert [task.id for task in await store.find(FAILED)] == [second]
    assert [task.id for task in await store.find(DISCARDED)] == [first]
    assert await store.count(EVERY_TASK, 10) == {State.FAILED: 1}
    assert await store.count(DISCARDED, 10) == {State.FAILED: 1}
    assert await store.replay([first], [make.id()], THEN) == [None]
    assert await store.retry([first], THEN) == [RetryOutcome.NOT_RETRYABLE]

    assert await store.restore([first]) == [True]

    assert await one(store, first) == before
    assert await store.count(DISCARDED, 10) == {}
    copy = make.id()
    assert await store.replay([first], [copy], THEN) == [Accepted(copy)]


async def test_a_discard_and_its_undo_say_what_they_did(store: Store, make: Make) -> None:
    """R4.4: in the order asked for; what is done already, is no dead letter or unknown is False."""
    first, second, replayed = await dead(store, make, 3)
    ready = await bring(store, make, State.READY, make.task(queue="other"))
    await store.replay([replayed], [make.id()], NOW)
    nothing = [ready.id, make.id(), replayed]

    assert await store.discard([*nothing, first, first], "old", THEN) == [False] * 3 + [True, False]
    assert await store.discard([second, first], "older", THEN + 1) == [True, False]
    assert (await one(store, first)).discarded_at == THEN
    assert await store.restore([*nothing, second, second]) == [False] * 3 + [True, False]
    assert await store.restore([second, first]) == [False, True]
    assert await store.discard([], "old", THEN) == await store.restore([]) == []


async def test_a_dead_letter_that_was_replayed_is_not_run_again_by_itself(
    store: Store, make: Make
) -> None:
    """F58: not by a retry either; it stays to be read."""
    (original,) = await dead(store, make)
    await store.replay([original], [make.id()], NOW)

    assert await store.retry([original], NOW) == [RetryOutcome.NOT_RETRYABLE]
    assert await store.cancel([original], NOW) == [CancelOutcome.TOO_LATE]

    assert await counts(store) == {State.READY: 1, State.FAILED: 1}
