"""What a handler writes is done once, whatever becomes of its worker (R3.5)."""

import asyncio

import pytest

from rota import State, TaskKind
from rota.errors import HandlerError, InvalidTask, LeaseLost
from tests.support.places import Place
from tests.transactions.callers import Caller, Psycopg
from tests.transactions.elsewhere import Elsewhere

Send = TaskKind[[int], None]


async def test_an_effect_is_new_once(caller: Caller) -> None:
    """R3.5: in one transaction and in the next, for each key."""
    await caller.begin()
    assert await caller.once("order-1")
    assert not await caller.once("order-1")
    assert await caller.once("order-2")
    await caller.commit()
    await caller.begin()

    assert not await caller.once("order-1")
    assert await caller.once("order-3")

    await caller.rollback()


async def test_an_effect_that_is_rolled_back_did_not_happen(caller: Caller) -> None:
    """R3.5: nor one whose savepoint is."""
    await caller.begin()
    assert await caller.once("order-1")
    await caller.rollback()

    await caller.begin()
    await caller.order(1)
    async with caller.savepoint(keep=False):
        assert await caller.once("order-1")
    assert await caller.once("order-1")
    await caller.commit()


@pytest.mark.parametrize("key", ["", "x" * 256, "a\0b", 7])
async def test_a_key_that_cannot_be_kept_is_refused(caller: Caller, key: str) -> None:
    """R1.6: before the connection is touched."""
    await caller.close()

    with pytest.raises(InvalidTask, match="key"):
        await caller.once(key)


@pytest.mark.parametrize("ends", ["commit", "rollback"])
@pytest.mark.parametrize("kind", [Psycopg], indirect=True, ids=lambda kind: kind.__name__)
async def test_who_comes_second_waits_for_the_first(
    caller: Caller, place: Place, ends: str
) -> None:
    """R3.5: whether it was done is not known before."""
    other = Psycopg(place)
    await other.open()
    await caller.once("order-1")
    waiting = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(other.once("order-1"))))
    await _until_somebody_waits(place)

    await (caller.commit() if ends == "commit" else caller.rollback())

    assert await waiting is (ends == "rollback")
    await other.close()


async def _until_somebody_waits(place: Place) -> None:
    sql = "select exists (select from pg_locks where not granted)"
    async with asyncio.timeout(60), place.connection() as line:
        while not await line.fetchval(sql):
            pass


async def test_a_worker_that_dies_between_effect_and_report_repeats_nothing(
    caller: Caller, send: Send, elsewhere: Elsewhere
) -> None:
    """R3.1, R3.5: the task runs twice, its effect happens once."""
    await caller.begin()
    await caller.submit(send, 1)
    await caller.commit()
    runs = 0

    for _ in range(2):
        _, (task,) = await elsewhere.claim()
        runs += 1
        await caller.begin()
        if await caller.once(f"{task.id}/1"):
            await caller.order(1)
        await caller.commit()
        assert await elsewhere.leases_over() == 1

    assert runs == 2
    assert await elsewhere.orders() == 1


async def test_a_task_is_completed_with_what_its_handler_wrote(
    caller: Caller, send: Send, elsewhere: Elsewhere
) -> None:
    """R3.5: the worker's own report then finds nothing to do, and nobody runs it again."""
    await caller.begin()
    accepted = await caller.submit(send, 1)
    await caller.commit()
    session_id, (task,) = await elsewhere.claim()

    await caller.begin()
    await caller.order(1)
    await caller.complete(task, session_id, {"sent": 1})
    assert await _finished(elsewhere) == []
    await caller.commit()

    (found,) = await _finished(elsewhere)
    assert found[0] == accepted.id
    assert "sent" in found[1]
    assert await elsewhere.orders() == 1
    assert not await elsewhere.finish(session_id, task)
    assert await elsewhere.leases_over() == 0
    assert len(await _finished(elsewhere)) == 1


async def test_a_task_is_not_completed_if_what_its_handler_wrote_is_rolled_back(
    caller: Caller, send: Send, elsewhere: Elsewhere
) -> None:
    """R3.5: the worker's own report counts then."""
    await caller.begin()
    await caller.submit(send, 1)
    await caller.commit()
    session_id, (task,) = await elsewhere.claim()

    await caller.begin()
    await caller.order(1)
    await caller.complete(task, session_id)
    await caller.rollback()

    assert await _finished(elsewhere) == []
    assert await elsewhere.orders() == 0
    assert await elsewhere.finish(session_id, task)


async def test_a_run_that_lost_its_task_cannot_complete_it(
    caller: Caller, send: Send, elsewhere: Elsewhere
) -> None:
    """R3.2, R3.5: under an old fence, or for another session; what it wrote is rolled back."""
    await caller.begin()
    await caller.submit(send, 1)
    await caller.commit()
    first, (old,) = await elsewhere.claim()
    await elsewhere.leases_over()
    second, (new,) = await elsewhere.claim()

    for session_id, task in ((first, old), (first, new), (second, old)):
        await caller.begin()
        await caller.order(1)
        with pytest.raises(LeaseLost, match=task.id):
            await caller.complete(task, session_id)
        await caller.rollback()

    assert await elsewhere.orders() == 0
    assert await elsewhere.finish(second, new)


async def test_a_result_that_is_not_json_is_refused(
    caller: Caller, send: Send, elsewhere: Elsewhere
) -> None:
    """R3.5: before the connection is touched."""
    await caller.begin()
    await caller.submit(send, 1)
    await caller.commit()
    session_id, (task,) = await elsewhere.claim()

    await caller.begin()
    with pytest.raises(HandlerError, match="JSON"):
        await caller.complete(task, session_id, object())
    await caller.complete(task, session_id, None)
    await caller.commit()

    assert len(await _finished(elsewhere)) == 1


async def _finished(elsewhere: Elsewhere) -> list[tuple[str, str]]:
    sql = f"select id, result from finished where state = '{State.COMPLETED}'"
    return [(str(id_), str(result)) for id_, result in await elsewhere.rows(sql)]
